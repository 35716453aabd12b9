//! An Archive keeps what a store keeps, as far as it is read: what is written goes into a store, what is read comes from an
//! Archive of all of it.

mod support;

use isobox_domain::change::ChangeSetRef;
use isobox_domain::content::ContentId;
use isobox_domain::event::Event;
use isobox_domain::record::{RecordEntry, TaskRecord};
use isobox_domain::verification::{Thoroughness, Verification};
use isobox_ports::contract::archiver::ArchiverFixture;
use isobox_ports::contract::store::StoreFixture;
use isobox_ports::contract::verifier::VerifierFixture;
use isobox_ports::contract::{archiver, object_store, record_log, verifier};
use isobox_ports::{
    AppendError, Archived, Archiver, ArchivingError, Attempt, Attempts, ChangeLines, Content, ObjectStore, RecordLog,
    StoreError, StoreErrorKind, StoredEvent, TellAdvance, Verifier,
};
use isobox_store::{FsArchive, FsTaskStore};
use isobox_store_format::archive::Archive;
use std::fs::{self, File};
use std::io::Write;
use std::path::PathBuf;
use std::sync::Mutex;
use tempfile::TempDir;

struct Through {
    directory: TempDir,
    store: FsTaskStore,
    /// The Archive of everything, until something is written.
    archive: Mutex<Option<&'static FsArchive>>,
}

impl Default for Through {
    fn default() -> Self {
        let directory = tempfile::tempdir().unwrap();
        let store = FsTaskStore::create(directory.path()).unwrap();
        Self { directory, store, archive: Mutex::default() }
    }
}

impl Through {
    fn path(&self) -> PathBuf {
        self.directory.path().join("all.isobox")
    }

    /// `None` where there is no record: such an Archive is none.
    fn archive(&self) -> Result<Option<&'static FsArchive>, StoreError> {
        let mut archive = self.archive.lock().unwrap();
        let records: Vec<ContentId> = self.store.list()?.map(|entry| Ok(entry?.record)).collect::<Result<_, _>>()?;
        if archive.is_none() && !records.is_empty() {
            let mut file = File::create(self.path()).unwrap();
            self.store.archive(&records, &mut file, &|_| {}).unwrap();
            *archive = Some(Box::leak(Box::new(FsArchive::open(&self.path())?)));
        }
        Ok(*archive)
    }

    fn wrote(&self) {
        *self.archive.lock().unwrap() = None;
        // What is read from the one before still has its file.
        fs::remove_file(self.path()).ok();
    }
}

impl RecordLog for Through {
    fn publish_keeping(
        &self,
        attempt: Box<dyn Attempt>,
        record: &TaskRecord,
    ) -> Result<(ContentId, Box<dyn Attempt>), StoreError> {
        let published = self.store.publish_keeping(attempt, record);
        self.wrote();
        published
    }

    fn append(&self, event: &Event) -> Result<ContentId, AppendError> {
        let appended = self.store.append(event);
        self.wrote();
        appended
    }

    fn bytes(&self, id: &ContentId) -> Result<Option<Vec<u8>>, StoreError> {
        self.archive()?.map_or(Ok(None), |archive| archive.bytes(id))
    }

    fn load(&self, id: &ContentId) -> Result<Option<TaskRecord>, StoreError> {
        self.archive()?.map_or(Ok(None), |archive| archive.load(id))
    }

    fn events(&self, subject: &ContentId) -> Result<Vec<StoredEvent>, StoreError> {
        self.archive()?.map_or(Ok(Vec::new()), |archive| archive.events(subject))
    }

    fn list(&self) -> Result<Box<dyn Iterator<Item = Result<RecordEntry, StoreError>> + '_>, StoreError> {
        self.archive()?.map_or(Ok(Box::new(std::iter::empty())), |archive| archive.list())
    }
}

impl ObjectStore for Through {
    fn open(&self, id: &ContentId) -> Result<Option<Content>, StoreError> {
        self.archive()?.map_or(Ok(None), |archive| archive.open(id))
    }

    fn changes(&self, change_set: &ChangeSetRef) -> Result<ChangeLines<'_>, StoreError> {
        let none = || StoreError {
            kind: StoreErrorKind::Missing,
            operation: "open change set in",
            subject: "no archive".into(),
            source: "there is no record".into(),
        };
        self.archive()?.ok_or_else(none)?.changes(change_set)
    }
}

impl Verifier for Through {
    fn verify(&self, how: Thoroughness, tell: TellAdvance<'_>) -> Result<Verification, StoreError> {
        self.archive()?.map_or(Ok(Verification::default()), |archive| archive.verify(how, tell))
    }

    fn verify_record(&self, record: &ContentId) -> Result<Option<Verification>, StoreError> {
        self.archive()?.map_or(Ok(None), |archive| archive.verify_record(record))
    }
}

impl StoreFixture for Through {
    fn attempts(&self) -> &dyn Attempts {
        &self.store
    }

    fn records(&self) -> &dyn RecordLog {
        self
    }

    fn objects(&self) -> &dyn ObjectStore {
        self
    }

    fn damage(&self, id: &ContentId) {
        self.archive().unwrap();
        let archive = Archive::open(File::open(self.path()).unwrap()).unwrap();
        let rows = (0..archive.head().rows()).map(|at| archive.row(at).unwrap());
        let row = rows.into_iter().find(|row| row.id == *id).unwrap();
        support::flip(&self.path(), (row.offset + row.length / 2) as usize);
    }
}

impl Archiver for Through {
    fn archive(
        &self,
        records: &[ContentId],
        to: &mut dyn Write,
        tell: TellAdvance<'_>,
    ) -> Result<Archived, ArchivingError> {
        match self.archive()? {
            Some(archive) => archive.archive(records, to, tell),
            None => self.store.archive(records, to, tell),
        }
    }
}

impl ArchiverFixture for Through {
    fn archiver(&self) -> &dyn Archiver {
        self
    }
}

impl VerifierFixture for Through {
    fn verifier(&self) -> &dyn Verifier {
        self
    }
}

fn main() {
    let suites = [
        archiver::cases("FsArchive", Through::default),
        object_store::cases("FsArchive", Through::default),
        record_log::cases("FsArchive", Through::default),
        verifier::cases("FsArchive", Through::default),
    ];
    // Of which Task a damaged record is, nothing in an Archive says but the record.
    let is_kept = |name: &str| name != "FsArchive::verifier::a_damaged_record_is_named";
    let trials = suites.into_iter().flatten().filter(|trial| is_kept(trial.name())).collect();
    libtest_mimic::run(&libtest_mimic::Arguments::from_args(), trials).exit();
}
