//! The store on the file system keeps what every store keeps.

mod support;

use isobox_domain::content::{ContentId, ContentRef};
use isobox_domain::record::{TaskArtifacts, TaskRecord};
use isobox_ports::contract::listings::ListingsFixture;
use isobox_ports::contract::measurer::MeasurerFixture;
use isobox_ports::contract::open_attempts::OpenAttemptsFixture;
use isobox_ports::contract::sample::record;
use isobox_ports::contract::store::StoreFixture;
use isobox_ports::contract::verifier::VerifierFixture;
use isobox_ports::contract::views::ViewsFixture;
use isobox_ports::contract::{attempts, listings, measurer, object_store, open_attempts, record_log, verifier, views};
use isobox_ports::{Attempts, Listings, Measurer, ObjectStore, OpenAttempts, RecordLog, Role, Verifier, Views};
use isobox_store::{FsTaskStore, FsViews};
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

impl VerifierFixture for Fixture {
    fn verifier(&self) -> &dyn Verifier {
        &self.store
    }
}

impl ListingsFixture for Fixture {
    fn listings(&self) -> &dyn Listings {
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
        attempts::cases("FsTaskStore", Fixture::default),
        listings::cases("FsTaskStore", Fixture::default),
        measurer::cases("FsTaskStore", Fixture::default),
        object_store::cases("FsTaskStore", Fixture::default),
        open_attempts::cases("FsTaskStore", Fixture::default),
        record_log::cases("FsTaskStore", Fixture::default),
        verifier::cases("FsTaskStore", Fixture::default),
        views::cases("FsViews", Fixture::default),
    ];
    libtest_mimic::run(&libtest_mimic::Arguments::from_args(), suites.into_iter().flatten().collect()).exit();
}
