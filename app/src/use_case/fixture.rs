//! The world of the use cases' tests: fakes with state, and switches that make one of their operations fail.

use crate::use_case::{attempt, recover};
use isobox_domain::change::Mode;
use isobox_domain::content::ContentId;
use isobox_domain::event::Event;
use isobox_domain::git_oid::GitOid;
use isobox_domain::record::{RecordEntry, TaskRecord};
use isobox_domain::repo_path::RepoPath;
use isobox_domain::source::WorkspaceSource;
use isobox_domain::task_id::TaskId;
use isobox_domain::timestamp::Timestamp;
use isobox_ports::fake::{
    DirectoryWorkspaces, Files, InMemoryRepository, InMemoryStore, Performance, Scene, ScriptedBackend,
};
use isobox_ports::{
    AppendError, Attempt, Attempts, CaptureSink, Clock, ObjectWriter, RecordLog, Role, RuntimeBackend, StoreError,
    StoreErrorKind, StoredEvent, TaskIds, Workspace, WorkspaceError, WorkspaceMount, WorkspaceRequest, Workspaces,
};
use std::cell::RefCell;
use std::io::{self, Read, Write};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex};
use tempfile::TempDir;

/// An operation that fails while its name is in the set.
pub(crate) type Broken = Arc<Mutex<Vec<&'static str>>>;

/// Everything that the use cases touch.
pub(crate) struct World {
    pub(crate) repository: InMemoryRepository,
    pub(crate) workspaces: FragileWorkspaces,
    pub(crate) store: FragileStore,
    pub(crate) warnings: RefCell<Vec<String>>,
    pub(crate) broken: Broken,
    backend: ScriptedBackend,
    ids: CountingIds,
    directory: TempDir,
}

impl World {
    /// A clean repository with `README.md`, in which workloads do what `play` does.
    pub(crate) fn new(play: impl Fn(&Scene) -> Performance + Send + Sync + 'static) -> Self {
        let directory = tempfile::tempdir().expect("a temporary directory");
        let broken = Broken::default();
        let inner = DirectoryWorkspaces::new(files(), directory.path().to_owned());
        Self {
            repository: InMemoryRepository::new(source(1), files()),
            workspaces: FragileWorkspaces { inner, broken: Arc::clone(&broken) },
            store: FragileStore { inner: InMemoryStore::default(), broken: Arc::clone(&broken) },
            warnings: RefCell::default(),
            broken,
            backend: ScriptedBackend::new(play),
            ids: CountingIds::default(),
            directory,
        }
    }

    /// The same world with a backend that refuses to start anything.
    pub(crate) fn refusing(reason: &str) -> Self {
        let mut world = Self::new(|_| Performance::exiting(0));
        world.backend = ScriptedBackend::new(|_| Performance::exiting(0)).refusing(reason);
        world
    }

    /// Makes an operation fail from now on.
    pub(crate) fn break_down(&self, operation: &'static str) {
        self.broken.lock().expect("no panic").push(operation);
    }

    /// Makes every operation work again.
    pub(crate) fn repair(&self) {
        self.broken.lock().expect("no panic").clear();
    }

    /// Hands the ports of an attempt to `act`.
    pub(crate) fn with_ports<T>(&self, act: impl FnOnce(&attempt::Ports<'_>) -> T) -> T {
        let backends: [&dyn RuntimeBackend; 1] = [&self.backend];
        act(&attempt::Ports {
            repository: &self.repository,
            workspaces: &self.workspaces,
            backends: &backends,
            attempts: &self.store,
            records: &self.store,
            objects: &self.store.inner,
            views: &self.store.inner,
            clock: &FixedClock,
            task_ids: &self.ids,
        })
    }

    /// Starts isobox once more: finishes what was left.
    pub(crate) fn recover(&self) {
        let ports = recover::Ports {
            workspaces: &self.workspaces,
            attempts: &self.store,
            records: &self.store,
            objects: &self.store.inner,
            views: &self.store.inner,
            clock: &FixedClock,
        };
        recover::recover(&ports, isobox_domain::policy::ViewLimit::default(), &|progress| self.hear(progress));
    }

    /// Keeps warnings.
    pub(crate) fn hear(&self, progress: attempt::Progress<'_>) {
        if let attempt::Progress::Warning(sentence) = progress {
            self.warnings.borrow_mut().push(sentence.to_owned());
        }
    }

    /// Every record, newest first.
    pub(crate) fn records(&self) -> Vec<TaskRecord> {
        let entries = self.store.inner.list().expect("the fake lists");
        entries
            .map(|entry| self.store.inner.load(&entry.expect("whole").record).expect("whole").expect("there"))
            .collect()
    }

    /// The digest of the newest record.
    pub(crate) fn newest(&self) -> ContentId {
        self.store.inner.list().expect("the fake lists").next().expect("a record").expect("whole").record
    }

    /// Attempts that nobody finished; they are left as they are.
    pub(crate) fn unfinished(&self) -> usize {
        self.store.inner.abandoned().expect("the fake looks").len()
    }

    /// The bytes of an artifact.
    pub(crate) fn content(&self, id: ContentId) -> Vec<u8> {
        let mut bytes = Vec::new();
        let content = isobox_ports::ObjectStore::open(&self.store.inner, &id).expect("whole");
        content.expect("there").read_to_end(&mut bytes).expect("readable");
        bytes
    }

    /// Directories of Workspaces that are there.
    pub(crate) fn standing(&self) -> Vec<PathBuf> {
        let entries = std::fs::read_dir(self.directory.path()).expect("a directory");
        entries.map(|entry| entry.expect("an entry").path()).collect()
    }
}

/// What the repository holds.
pub(crate) fn files() -> Files {
    Files::from([(path("README.md"), (Mode::File, b"hello\n".to_vec()))])
}

pub(crate) fn path(text: &str) -> RepoPath {
    RepoPath::parse(text).expect("a path")
}

/// A source at a commit of its own per `number`.
pub(crate) fn source(number: u8) -> WorkspaceSource {
    WorkspaceSource {
        host_path: b"/home/ana/app".to_vec(),
        root_commit: Some(GitOid::Sha1([9; 20])),
        commit: GitOid::Sha1([number; 20]),
        branch: Some(b"refs/heads/main".to_vec()),
        working_directory: None,
    }
}

/// Appends a line to the README of a played workload's Workspace.
pub(crate) fn edit(scene: &Scene) -> Performance {
    std::fs::write(Path::new(&scene.host_path).join("README.md"), "hello\nchange\n").expect("write");
    Performance::printing("said\n")
}

/// A clock that stands still.
pub(crate) struct FixedClock;

impl Clock for FixedClock {
    fn now(&self) -> Timestamp {
        Timestamp::nearest(1_800_000_000_000)
    }
}

#[derive(Default)]
struct CountingIds(AtomicU64);

impl TaskIds for CountingIds {
    fn task_id(&self) -> TaskId {
        TaskId::new(self.0.fetch_add(1, Ordering::Relaxed).to_be_bytes())
    }

    fn salt(&self) -> [u8; 16] {
        [7; 16]
    }
}

fn fails(broken: &Broken, operation: &'static str) -> bool {
    broken.lock().expect("no panic").contains(&operation)
}

fn full(operation: &'static str) -> StoreError {
    StoreError { kind: StoreErrorKind::Full, operation, subject: "the store".into(), source: "no space left".into() }
}

/// Workspaces whose operations can be made to fail.
pub(crate) struct FragileWorkspaces {
    inner: DirectoryWorkspaces,
    broken: Broken,
}

impl FragileWorkspaces {
    fn refuse(&self, operation: &'static str) -> Result<(), WorkspaceError> {
        let error = || WorkspaceError::Full { operation: operation.to_owned() };
        if fails(&self.broken, operation) { Err(error()) } else { Ok(()) }
    }
}

impl Workspaces for FragileWorkspaces {
    fn reserve(&self) -> Result<Vec<u8>, WorkspaceError> {
        self.inner.reserve()
    }

    fn create(&self, reserved: &[u8], request: &WorkspaceRequest<'_>) -> Result<Workspace, WorkspaceError> {
        self.refuse("create")?;
        self.inner.create(reserved, request)
    }

    fn capture(&self, state: &[u8], mount: &WorkspaceMount, sink: &mut dyn CaptureSink) -> Result<(), WorkspaceError> {
        self.refuse("capture")?;
        self.inner.capture(state, mount, sink)
    }

    fn dispose(&self, state: &[u8]) -> Result<(), WorkspaceError> {
        self.refuse("dispose")?;
        self.inner.dispose(state)
    }

    fn retain(&self, state: &[u8]) -> Result<PathBuf, WorkspaceError> {
        self.inner.retain(state)
    }
}

/// A store whose operations can be made to fail.
#[derive(Clone)]
pub(crate) struct FragileStore {
    pub(crate) inner: InMemoryStore,
    pub(crate) broken: Broken,
}

impl FragileStore {
    fn refuse(&self, operation: &'static str) -> Result<(), StoreError> {
        if fails(&self.broken, operation) { Err(full(operation)) } else { Ok(()) }
    }
}

impl Attempts for FragileStore {
    fn probe(&self, room_bytes: u64) -> Result<(), StoreError> {
        self.refuse("probe")?;
        self.inner.probe(room_bytes)
    }

    fn begin(&self, draft: &TaskRecord) -> Result<Box<dyn Attempt>, StoreError> {
        self.refuse("begin")?;
        Ok(Box::new(FragileAttempt { inner: self.inner.begin(draft)?, broken: Arc::clone(&self.broken) }))
    }

    fn abandoned(&self) -> Result<Vec<Box<dyn Attempt>>, StoreError> {
        self.inner.abandoned()
    }
}

impl RecordLog for FragileStore {
    fn publish(&self, attempt: Box<dyn Attempt>, record: &TaskRecord) -> Result<ContentId, StoreError> {
        self.refuse("publish")?;
        self.inner.publish(attempt, record)
    }

    fn append(&self, event: &Event) -> Result<ContentId, AppendError> {
        self.refuse("append")?;
        self.inner.append(event)
    }

    fn load(&self, id: &ContentId) -> Result<Option<TaskRecord>, StoreError> {
        self.inner.load(id)
    }

    fn events(&self, subject: &ContentId) -> Result<Vec<StoredEvent>, StoreError> {
        self.inner.events(subject)
    }

    fn list(&self) -> Result<Box<dyn Iterator<Item = Result<RecordEntry, StoreError>> + '_>, StoreError> {
        self.inner.list()
    }
}

struct FragileAttempt {
    inner: Box<dyn Attempt>,
    broken: Broken,
}

impl Attempt for FragileAttempt {
    fn draft(&self) -> &TaskRecord {
        self.inner.draft()
    }

    fn update(&mut self, draft: &TaskRecord) -> Result<(), StoreError> {
        self.inner.update(draft)
    }

    fn note(&mut self, name: &str, state: &[u8]) -> Result<(), StoreError> {
        self.inner.note(name, state)
    }

    fn noted(&self, name: &str) -> Result<Option<Vec<u8>>, StoreError> {
        self.inner.noted(name)
    }

    fn stage(&self, role: Role) -> Result<Box<dyn ObjectWriter>, StoreError> {
        Ok(Box::new(FragileWriter { inner: self.inner.stage(role)?, broken: Arc::clone(&self.broken) }))
    }

    fn salvage(&self, role: Role) -> Result<Option<isobox_domain::content::ContentRef>, StoreError> {
        self.inner.salvage(role)
    }

    fn capture_sink(&self) -> Result<Box<dyn CaptureSink>, StoreError> {
        self.inner.capture_sink()
    }

    fn discard(self: Box<Self>) -> Result<(), StoreError> {
        self.inner.discard()
    }

    // The store in memory recognises its own.
    fn into_any(self: Box<Self>) -> Box<dyn std::any::Any> {
        self.inner.into_any()
    }
}

/// Takes nothing more while `write` is broken.
struct FragileWriter {
    inner: Box<dyn ObjectWriter>,
    broken: Broken,
}

impl Write for FragileWriter {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        match fails(&self.broken, "write") {
            true => Err(io::ErrorKind::StorageFull.into()),
            false => self.inner.write(bytes),
        }
    }

    fn flush(&mut self) -> io::Result<()> {
        self.inner.flush()
    }
}

impl ObjectWriter for FragileWriter {
    fn finish(self: Box<Self>) -> Result<isobox_domain::content::ContentRef, StoreError> {
        self.inner.finish()
    }
}
