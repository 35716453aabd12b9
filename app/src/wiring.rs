//! Which adapter stands behind which port: the only file that names adapters.

mod acting;
mod attempts;
mod audit;
mod backends;
mod dirt;
mod importable;
mod initialising;
mod policies;
mod probes;
mod task_store;
mod told_workspaces;
mod transfer;
mod update;
mod upkeep;

pub(crate) use audit::{read_file, with_audit_keys};
use backends::Backends;
pub(crate) use backends::with_backend_ports;
pub(crate) use dirt::{Dirtied, dirtied_project};
pub(crate) use importable::{Importable, importable};
pub(crate) use initialising::{Initialised, initialise};
pub(crate) use policies::{Variable, policy_presets, policy_schema};
pub(crate) use probes::{with_attack, with_probes};
pub(crate) use task_store::Store;
pub(crate) use transfer::{FetchingRepository, damaged_archive, export_file, result_commits_around};
pub(crate) use update::{build, with_publisher, with_update_ports};
pub(crate) use upkeep::give_way;

pub(crate) use isobox_git::{Kind, write_text_diff};

use crate::cli::Place;
use crate::failure::{Failure, FailureKind};
use isobox_domain::escape::Escaped;
use isobox_domain::masking;
use isobox_domain::record::RecordedArgument;
use isobox_domain::source::WorkspaceSource;
use isobox_domain::task_id::TaskSelector;
use isobox_git::{FsPrivateCopies, FsWorkspaceCache, GixRepository, GixWorkspaces};
use isobox_host::{
    Directories, FsCacheLayers, MaskKey, POLICY_PATH, PrivateFileError, RandomTaskIds, SystemClock, SystemStopwatch,
};
use isobox_ports::{CacheLayers, Clock, RecordLog, Stopwatch, WorkspaceCache};
use isobox_store::{FsTaskStore, FsViews};
use isobox_v1::{FsExportFile, FsExports, FsV1Directories, V1Json};
use std::cell::RefCell;
use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

/// Where views lie in a project.
const VIEWS: &str = ".isobox/tasks";
/// Where pristine copies lie in the user's cache directory.
const PRISTINE_COPIES: &str = "pristine";
/// Where copies that a workload may change lie in the user's state directory.
const PRIVATE_COPIES: &str = "private";
/// Where a project's records directory lies in its common Git directory.
const RECORDS: &str = "isobox";

/// Becomes the process inside a Sandbox if that is what this one was started for; returns otherwise.
pub(crate) fn enter_stage_if_asked() {
    isobox_sandbox::stage::enter_if_asked();
}

/// The clock.
pub(crate) const fn clock() -> &'static dyn Clock {
    &SystemClock
}

/// The clock that nobody sets.
pub(crate) const fn stopwatch() -> &'static dyn Stopwatch {
    &SystemStopwatch
}

/// Where a store and its views lie.
struct Location {
    records: PathBuf,
    views: PathBuf,
}

impl Location {
    fn find(place: &Place, selector: Option<&TaskSelector>) -> Result<Self, Failure> {
        match (&place.records, selector) {
            (Some(directory), _) => Self::given(directory),
            (None, Some(TaskSelector::ViewDirectory { path, .. })) => Self::around_view(Path::new(path)),
            (None, _) => Ok(Self::of_project(&discover(place.source.as_deref())?)),
        }
    }

    // The links on the way to it are the caller's own; below it none is followed.
    fn given(directory: &Path) -> Result<Self, Failure> {
        let directory = without_links(&absolute(directory)?);
        Ok(Self { views: directory.clone(), records: directory })
    }

    fn of_project(repository: &GixRepository) -> Self {
        Self { records: repository.common_dir().join(RECORDS), views: repository.root().join(VIEWS) }
    }

    fn around_view(view: &Path) -> Result<Self, Failure> {
        let views = absolute(view.parent().unwrap_or(Path::new(".")))?;
        match views.ends_with(VIEWS) {
            true => Ok(Self::of_project(&discover(views.ancestors().nth(2))?)),
            false => Self::given(&views),
        }
    }

    fn create_store(&self) -> Result<Store, Failure> {
        let Self { records, views } = self;
        // Before anything is in it: a directory for records may lie in the very repository that must stay clean.
        if records == views {
            self.views().create()?;
        }
        Ok(Store::new(FsTaskStore::create(records)?, self))
    }

    fn views(&self) -> FsViews {
        FsViews::new(self.views.clone())
    }
}

/// The trusted repository with everything that an attempt or a Promotion needs of it.
pub(crate) struct Project {
    repository: GixRepository,
    workspaces: GixWorkspaces,
    copies: FsPrivateCopies,
    directories: Directories,
    backends: Backends,
    location: Location,
    /// As the command line names it.
    place: Place,
}

impl Project {
    /// The project around `--source`, or the current directory.
    pub(crate) fn find(place: &Place) -> Result<Self, Failure> {
        let given = place.records.as_deref().map(Location::given).transpose()?;
        let repository = discover(place.source.as_deref())?;
        let location = given.unwrap_or_else(|| Location::of_project(&repository));
        Ok(Self { place: place.clone(), ..Self::assemble(repository, location)? })
    }

    /// The project at `host_path`, with a store that may be another's.
    pub(crate) fn at(host_path: &Path, store: &Store) -> Result<Self, Failure> {
        let repository = discover(Some(host_path))?;
        let views = Location::of_project(&repository);
        let is_own = store.directory() == views.records;
        let views = if is_own { views.views } else { store.directory().to_owned() };
        Self::assemble(repository, Location { records: store.directory().to_owned(), views })
    }

    fn assemble(repository: GixRepository, location: Location) -> Result<Self, Failure> {
        let directories = Directories::from_environment();
        let root = directories.workspaces().map_err(unusable_directory)?;
        let cache = pristine_copies(&directories).ok();
        let copies = FsPrivateCopies::new(directories.state().map_err(unusable_directory)?.join(PRIVATE_COPIES));
        let workspaces = GixWorkspaces::new(repository.clone(), root, cache);
        // Without a cache directory every call tries anew whether Sandboxes come up.
        let backends =
            directories.cache().map_or_else(|_| Backends::new(), |directory| Backends::remembering(&directory));
        Ok(Self { repository, workspaces, copies, directories, backends, location, place: Place::default() })
    }

    /// The same project, which the command line names as `place`.
    pub(crate) fn named_by(self, place: &Place) -> Self {
        Self { place: place.clone(), ..self }
    }

    /// As the command line names it.
    pub(crate) fn place(&self) -> &Place {
        &self.place
    }

    /// `started_from` with HEAD where it is now.
    pub(crate) fn at_head(&self, started_from: &WorkspaceSource) -> Result<WorkspaceSource, Failure> {
        let (commit, branch) = self.repository.head()?;
        Ok(WorkspaceSource { commit, branch, ..started_from.clone() })
    }

    /// Where the policy lies, for people.
    pub(crate) fn policy_path(&self) -> String {
        Escaped::path(&self.repository.root().join(POLICY_PATH)).to_string()
    }

    /// The project's store, made if it is not there.
    pub(crate) fn create_store(&self) -> Result<Store, Failure> {
        self.location.create_store()
    }

    /// The arguments of a command as they may be kept. The user's key is needed, and made, only when one looks like a secret.
    pub(crate) fn masked(&self, arguments: &[Vec<u8>]) -> Result<Vec<RecordedArgument>, Failure> {
        masked(&self.directories, arguments)
    }

    /// Makes the directory that Workspaces lie in.
    pub(crate) fn create_workspaces_root(&self) -> Result<(), Failure> {
        self.directories.create_workspaces().map_err(unusable_directory)
    }

    /// Whether a Promotion into the repository was killed before it had come to its end.
    pub(crate) fn has_unfinished_promotion(&self) -> bool {
        self.repository.has_unfinished_promotion()
    }
}

/// Removes a Workspace that was kept, by its root; whether it was there.
pub(crate) fn dispose_retained(root: &Path) -> Result<bool, Failure> {
    let workspaces_root = Directories::from_environment().workspaces().map_err(unusable_directory)?;
    Ok(isobox_git::dispose_retained(&workspaces_root, root)?)
}

/// The pristine copies of this user.
pub(crate) fn workspace_cache() -> Result<Box<dyn WorkspaceCache>, Failure> {
    Ok(Box::new(FsWorkspaceCache::new(pristine_copies(&Directories::from_environment())?)))
}

/// What workloads of this user wrote into the caches that were lent to them.
pub(crate) fn cache_layers() -> Result<Box<dyn CacheLayers>, Failure> {
    let cache = Directories::from_environment().cache().map_err(unusable_directory)?;
    Ok(Box::new(FsCacheLayers::new(&cache)))
}

fn pristine_copies(directories: &Directories) -> Result<PathBuf, Failure> {
    Ok(directories.cache().map_err(unusable_directory)?.join(PRISTINE_COPIES))
}

/// The arguments of a command as they may be kept; see [`Project::masked`].
fn masked(directories: &Directories, arguments: &[Vec<u8>]) -> Result<Vec<RecordedArgument>, Failure> {
    let key: RefCell<Option<Result<MaskKey, PrivateFileError>>> = RefCell::default();
    let masked = masking::mask(arguments, &|secret| {
        let mut key = key.borrow_mut();
        let key = key.get_or_insert_with(|| MaskKey::load_or_create(directories));
        // Without a key nothing is recorded: see below.
        key.as_ref().map_or(isobox_domain::content::ContentId::new([0; 32]), |key| key.digest(secret))
    });
    match key.into_inner() {
        Some(Err(error)) => {
            let what = "mask the secrets of the command for its record";
            Err(Failure::new(FailureKind::General, what).because(error))
        }
        None | Some(Ok(_)) => Ok(masked),
    }
}

fn discover(directory: Option<&Path>) -> Result<GixRepository, Failure> {
    match (directory, std::env::current_dir()) {
        (None, Err(error)) => Err(Failure::new(FailureKind::General, "find the current directory")
            .because(error)
            .with_hint("change to a directory that is still there, or name the repository with --source")),
        (Some(directory), Err(_)) if directory.is_absolute() => {
            // Git's library looks no path up without a current directory, and this one was removed.
            std::env::set_current_dir("/").ok();
            Ok(GixRepository::discover(directory)?)
        }
        (directory, _) => Ok(GixRepository::discover(directory.unwrap_or(Path::new(".")))?),
    }
}

fn open_records(directory: &[u8]) -> Result<Box<dyn RecordLog>, Failure> {
    Ok(Box::new(open_store(Path::new(OsStr::from_bytes(directory)))?))
}

fn open_store(records: &Path) -> Result<FsTaskStore, Failure> {
    FsTaskStore::open(records)?.ok_or_else(|| no_store(records))
}

fn no_store(records: &Path) -> Failure {
    Failure::new(FailureKind::Store, format!("there is no task store in {}", Escaped::path(records)))
        .with_hint("a first `isobox tool` or `isobox run` makes one; --source or --records choose another place")
}

/// `path`, from the current directory if it is relative.
pub(crate) fn absolute(path: &Path) -> Result<PathBuf, Failure> {
    std::path::absolute(path).map_err(|error| {
        Failure::new(FailureKind::Usage, format!("make {} absolute", Escaped::path(path))).because(error)
    })
}

/// The path with the links resolved in that part of it which is there.
fn without_links(path: &Path) -> PathBuf {
    let resolved = path.ancestors().find_map(|part| Some((part, part.canonicalize().ok()?)));
    match resolved.map(|(part, resolved)| (path.strip_prefix(part), resolved)) {
        Some((Ok(rest), resolved)) if !rest.as_os_str().is_empty() => resolved.join(rest),
        Some((_, resolved)) => resolved,
        None => path.to_owned(),
    }
}

fn unusable_directory(error: isobox_host::DirectoriesError) -> Failure {
    Failure::new(FailureKind::General, "a directory of isobox cannot be used")
        .because(error)
        .with_hint("set HOME, or XDG_STATE_HOME, to an absolute path of your own")
}
