//! The world of the use cases' tests: fakes with state, and switches that make one of their operations fail.

mod fragile;

pub(crate) use fragile::{FragileStore, FragileWorkspaces};

use crate::use_case::laps::Laps;
use crate::use_case::{attempt, recover};
use isobox_domain::change::Mode;
use isobox_domain::content::ContentId;
use isobox_domain::enforcement::Control;
use isobox_domain::git_oid::GitOid;
use isobox_domain::record::TaskRecord;
use isobox_domain::repo_path::RepoPath;
use isobox_domain::source::WorkspaceSource;
use isobox_domain::timestamp::Timestamp;
use isobox_ports::fake::{
    CountingStopwatch, CountingTaskIds, DirectoryWorkspaces, Files, FixedClock, InMemoryRepository, InMemoryStore,
    NamedCopies, NoDependencyCaches, NothingHeld, Performance, Scene, ScriptedBackend, ScriptedProber,
};
use isobox_ports::{Attempts, OverlayKind, RecordLog, RuntimeBackend};
use std::cell::{Cell, RefCell};
use std::io::Read;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex};
use tempfile::TempDir;

/// Operations that fail while their name is here.
pub(crate) type Broken = Arc<Mutex<Vec<&'static str>>>;

/// The clock of this world, which stands still.
pub(crate) fn clock() -> FixedClock {
    FixedClock(Timestamp::nearest(1_800_000_000_000))
}

/// Everything that the use cases touch.
pub(crate) struct World {
    pub(crate) repository: InMemoryRepository,
    pub(crate) workspaces: FragileWorkspaces,
    pub(crate) store: FragileStore,
    pub(crate) warnings: RefCell<Vec<String>>,
    pub(crate) told_of_start: Cell<bool>,
    pub(crate) broken: Broken,
    pub(crate) copies: NamedCopies,
    backend: ScriptedBackend,
    prober: ScriptedProber,
    ids: CountingTaskIds,
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
            told_of_start: Cell::new(false),
            broken,
            copies: NamedCopies::default(),
            backend: ScriptedBackend::new(play),
            prober: ScriptedProber::default(),
            ids: CountingTaskIds::default(),
            directory,
        }
    }

    /// The same world with a backend that refuses to start anything.
    pub(crate) fn refusing(reason: &str) -> Self {
        let mut world = Self::new(|_| Performance::exiting(0));
        world.backend = ScriptedBackend::new(|_| Performance::exiting(0)).refusing(reason);
        world
    }

    /// The same world with a backend that could mount overlays.
    pub(crate) fn mounting(play: impl Fn(&Scene) -> Performance + Send + Sync + 'static) -> Self {
        let mut world = Self::new(|_| Performance::exiting(0));
        world.backend = ScriptedBackend::new(play).mounting(OverlayKind::Unprivileged);
        world
    }

    /// The same world on a file system where files share blocks.
    pub(crate) fn sharing_blocks(self) -> Self {
        let FragileWorkspaces { inner, broken } = self.workspaces;
        Self { workspaces: FragileWorkspaces { inner: inner.sharing_blocks(), broken }, ..self }
    }

    /// The same world, where attacks from inside get through `control`.
    pub(crate) fn attacked_through(self, control: Control) -> Self {
        Self { prober: ScriptedProber::getting_through(control), ..self }
    }

    /// Makes an operation fail from now on.
    pub(crate) fn break_down(&self, operation: &'static str) {
        self.broken.lock().expect("no panic").push(operation);
    }

    /// Puts files into the working tree of the source, which are not committed.
    pub(crate) fn edit_source(&self, edits: Files) {
        self.workspaces.inner.edit_source(files().into_iter().chain(edits.clone()).collect());
        edits.into_iter().for_each(|(path, file)| self.repository.edit(&path, Some(file)));
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
            turns: &self.store.inner,
            records: &self.store,
            objects: &self.store.inner,
            views: &self.store.inner,
            clock: &clock(),
            stopwatch: &CountingStopwatch::default(),
            task_ids: &self.ids,
            prober: &self.prober,
            caches: &NoDependencyCaches,
            copies: &self.copies,
            laps: &Laps::start(&CountingStopwatch::default()),
        })
    }

    /// Starts isobox once more: finishes what was left.
    pub(crate) fn recover(&self) {
        let ports = recover::Ports {
            workspaces: &self.workspaces,
            held: &NothingHeld,
            copies: &self.copies,
            attempts: &self.store,
            records: &self.store,
            objects: &self.store.inner,
            views: &self.store.inner,
            clock: &clock(),
        };
        recover::recover(&ports, isobox_domain::policy::ViewLimit::default(), &|progress| self.hear(progress));
    }

    /// Keeps warnings, and that a start was told.
    pub(crate) fn hear(&self, progress: attempt::Progress<'_>) {
        match progress {
            attempt::Progress::Warning(sentence) => self.warnings.borrow_mut().push(sentence.to_owned()),
            attempt::Progress::Started(_) => self.told_of_start.set(true),
            attempt::Progress::TookAlong(..) | attempt::Progress::Waiting { .. } => {}
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
