//! The store on the file system keeps what every store keeps.

mod support;

use isobox_domain::compaction::Scope;
use isobox_domain::content::{ContentId, ContentRef};
use isobox_domain::record::{TaskArtifacts, TaskRecord};
use isobox_ports::contract::archiver::ArchiverFixture;
use isobox_ports::contract::collector::CollectorFixture;
use isobox_ports::contract::compactor::CompactorFixture;
use isobox_ports::contract::listings::ListingsFixture;
use isobox_ports::contract::measurer::MeasurerFixture;
use isobox_ports::contract::mender::MenderFixture;
use isobox_ports::contract::open_attempts::OpenAttemptsFixture;
use isobox_ports::contract::sample::record;
use isobox_ports::contract::store::StoreFixture;
use isobox_ports::contract::turns::TurnsFixture;
use isobox_ports::contract::verifier::VerifierFixture;
use isobox_ports::contract::views::ViewsFixture;
use isobox_ports::contract::{
    archiver, attempts, collector, compactor, listings, measurer, mender, object_store, open_attempts, record_log,
    turns, verifier, views,
};
use isobox_ports::{
    Archiver, Attempts, Collector, Compactor, Listings, Measurer, Mender, ObjectStore, OpenAttempts, RecordLog, Role,
    StoreErrorKind, Turns, Verifier, Views,
};
use isobox_store::{FsTaskStore, FsViews};
use libtest_mimic::Trial;
use std::collections::BTreeMap;
use std::fs;
use std::io::Write;
use std::path::Path;
use tempfile::TempDir;

struct Fixture {
    records: TempDir,
    store: FsTaskStore,
    views: FsViews,
}

impl Default for Fixture {
    fn default() -> Self {
        let records = tempfile::tempdir().unwrap();
        let store = FsTaskStore::create(records.path()).unwrap();
        let views = FsViews::new(records.path().canonicalize().unwrap().join("tasks/newest"));
        Self { records, store, views }
    }
}

impl StoreFixture for Fixture {
    fn attempts(&self) -> &dyn Attempts {
        &self.store
    }

    fn records(&self) -> &dyn RecordLog {
        &self.store
    }

    fn objects(&self) -> &dyn ObjectStore {
        &self.store
    }

    fn damage(&self, id: &ContentId) {
        support::damage(self.records.path(), id);
    }
}

impl CollectorFixture for Fixture {
    fn collector(&self) -> &dyn Collector {
        &self.store
    }
}

impl CompactorFixture for Fixture {
    fn compactor(&self) -> &dyn Compactor {
        &self.store
    }
}

/// A store that is compacted before whatever is done with it.
#[derive(Default)]
struct Compacted(Fixture);

impl Compacted {
    fn store(&self) -> &FsTaskStore {
        match self.0.store.compact(Scope::All, &|_| {}) {
            // Another thread does so.
            Err(error) if error.kind == StoreErrorKind::Locked => {}
            compacted => drop(compacted.unwrap()),
        }
        &self.0.store
    }
}

impl StoreFixture for Compacted {
    fn attempts(&self) -> &dyn Attempts {
        self.store()
    }

    fn records(&self) -> &dyn RecordLog {
        self.store()
    }

    fn objects(&self) -> &dyn ObjectStore {
        self.store()
    }

    fn damage(&self, id: &ContentId) {
        self.0.damage(id);
    }
}

impl VerifierFixture for Fixture {
    fn verifier(&self) -> &dyn Verifier {
        &self.store
    }
}

impl ArchiverFixture for Fixture {
    fn archiver(&self) -> &dyn Archiver {
        &self.store
    }
}

impl ListingsFixture for Fixture {
    fn listings(&self) -> &dyn Listings {
        &self.store
    }
}

impl MenderFixture for Fixture {
    fn mender(&self) -> &dyn Mender {
        &self.store
    }
}

impl MeasurerFixture for Fixture {
    fn measurer(&self) -> &dyn Measurer {
        &self.store
    }
}

impl OpenAttemptsFixture for Fixture {
    fn open_attempts(&self) -> &dyn OpenAttempts {
        &self.store
    }
}

impl TurnsFixture for Fixture {
    fn turns(&self) -> &dyn Turns {
        &self.store
    }
}

impl ViewsFixture for Fixture {
    fn views(&self) -> &dyn Views {
        &self.views
    }

    fn objects(&self) -> &dyn ObjectStore {
        &self.store
    }

    fn store(&self, bytes: &[u8]) -> ContentRef {
        let attempt = self.store.begin(&record(1)).unwrap();
        let mut writer = attempt.stage(Role::Stdout).unwrap();
        writer.write_all(bytes).unwrap();
        let content = writer.finish().unwrap();
        let artifacts = TaskArtifacts { stdout: Some(content), ..TaskArtifacts::default() };
        self.store.publish(attempt, &TaskRecord { artifacts, ..record(1) }).unwrap();
        content
    }

    fn files(&self) -> BTreeMap<String, Vec<u8>> {
        let root = self.records.path().join("tasks/newest");
        let mut files = BTreeMap::new();
        collect(&root, &root, &mut files);
        // It keeps the directory out of Git's sight, and is no View.
        files.remove(".gitignore");
        files
    }
}

fn collect(root: &Path, directory: &Path, files: &mut BTreeMap<String, Vec<u8>>) {
    for entry in fs::read_dir(directory).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            collect(root, &path, files);
        } else {
            let name = path.strip_prefix(root).unwrap().to_str().unwrap().to_owned();
            files.insert(name, fs::read(&path).unwrap());
        }
    }
}

fn main() {
    let suites = [
        archiver::cases("FsTaskStore", Fixture::default),
        attempts::cases("FsTaskStore", Fixture::default),
        mender::cases("FsTaskStore", Fixture::default),
        listings::cases("FsTaskStore", Fixture::default),
        measurer::cases("FsTaskStore", Fixture::default),
        object_store::cases("FsTaskStore", Fixture::default),
        open_attempts::cases("FsTaskStore", Fixture::default),
        turns::cases("FsTaskStore", Fixture::default),
        record_log::cases("FsTaskStore", Fixture::default),
        collector::cases("FsTaskStore", Fixture::default),
        compactor::cases("FsTaskStore", Fixture::default),
        attempts::cases("FsTaskStore_compacted", Compacted::default),
        object_store::cases("FsTaskStore_compacted", Compacted::default),
        record_log::cases("FsTaskStore_compacted", Compacted::default),
        verifier::cases("FsTaskStore", Fixture::default),
        views::cases("FsViews", Fixture::default),
    ];
    // Damage to a block costs all that is in it.
    let is_kept = |trial: &Trial| trial.name() != "FsTaskStore_compacted::record_log::a_damaged_record_costs_no_other";
    let trials = suites.into_iter().flatten().filter(is_kept).collect();
    libtest_mimic::run(&libtest_mimic::Arguments::from_args(), trials).exit();
}
