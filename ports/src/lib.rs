//! What isobox needs from the world: one trait a file. The doc comment of a trait is its contract; each promise in it
//! is a case of the suite in `contract`, which every adapter and every fake passes.
#![forbid(unsafe_code)]

#[cfg(feature = "testing")]
pub mod contract;
#[cfg(feature = "testing")]
pub mod fake;
#[cfg(feature = "testing")]
pub mod fault;

mod archives;
mod attempts;
mod audit_keys;
mod capture_sink;
mod clock;
mod collector;
mod compactor;
mod dependency_caches;
mod exports;
mod exposed;
mod file_error;
mod headway;
mod held_memory;
mod host_probe;
mod installation;
mod listings;
mod manifests;
mod measurer;
mod mender;
mod merging;
mod object_store;
mod open_attempts;
mod policy_pins;
mod policy_preset;
mod policy_source;
mod private_copies;
mod prober;
mod project_files;
mod record_log;
mod release_source;
mod repository;
mod result_commits;
mod reviews;
mod runtime_backend;
mod stopwatch;
mod store_error;
mod task_ids;
mod terminal;
mod transparency_log;
mod turns;
mod update_error;
mod update_targets;
mod v1;
mod verifier;
mod views;
mod workspace_cache;
mod workspaces;

pub use archives::{Archived, Archiver, ArchivingError};
pub use attempts::{Attempt, Attempts, ObjectWriter, Publishing, Role};
pub use audit_keys::{AuditKeyError, AuditKeys, KeyKept};
pub use capture_sink::{CaptureSink, CapturedRefs};
pub use clock::Clock;
pub use collector::Collector;
pub use compactor::Compactor;
pub use dependency_caches::{CacheError, CacheForm, CacheLayer, CacheLayers, DependencyCaches, HiddenInCaches, Lent};
pub use exports::{Export, ExportError, ExportFile, ExportFiles, Exports, Replacing};
pub use exposed::{Access, Exposed, Layered, Place, Program, Shown};
pub use file_error::FileError;
pub use headway::{Headway, Stand};
pub use held_memory::{FoundAgain, HeldMemory};
pub use host_probe::HostProbe;
pub use installation::{FetchRelease, Installation};
pub use listings::{Entries, Listing, Listings};
pub use manifests::Manifests;
pub use measurer::Measurer;
pub use mender::{FindContent, MendMode, MendedFile, Mender};
pub use merging::{MergeRequest, MergeTally, Merged};
pub use object_store::{ChangeLines, Content, ObjectStore};
pub use open_attempts::{Asked, OpenAttempt, OpenAttempts};
pub use policy_pins::{PolicyPins, PolicyPinsError};
pub use policy_preset::PolicyPreset;
pub use policy_source::{PolicyError, PolicyFile, PolicyPlace, PolicySource, Position};
pub use private_copies::{PrivateCopies, PrivateCopyError};
pub use prober::{ProbeError, Prober};
pub use project_files::{ProjectFiles, ProjectFilesError};
pub use record_log::{AppendError, RecordLog, StoredEvent};
pub use release_source::ReleaseSource;
pub use repository::{
    Applied, ApplyError, CommitText, Landing, Promotion, RepositoryError, Route, TrustedRepository, Unfinished,
};
pub use result_commits::{Author, CommitAside, ResultCommits};
pub use reviews::Reviews;
pub use runtime_backend::{
    EndCause, Ending, Filled, Flow, LaunchError, LaunchRequest, RuntimeBackend, Sandbox, Streams, SupervisionError,
};
pub use stopwatch::Stopwatch;
pub use store_error::{StoreError, StoreErrorKind};
pub use task_ids::TaskIds;
pub use terminal::{CallerTerminal, StderrPlace, TerminalRequest};
pub use transparency_log::{
    CheckpointSigner, Compared, Extended, Gaps, Inclusion, LaneGap, LogUpdates, Rebuilt, TransparencyLog,
};
pub use turns::{Room, Turn, Turns};
pub use update_error::UpdateError;
pub use update_targets::UpdateTargets;
pub use v1::{
    MAX_V1_FILE_BYTES, MAX_V1_RECORD_BYTES, V1Directories, V1Directory, V1Error, V1File, V1Format, V1Names,
    V1ParseError,
};
pub use verifier::{Advance, TellAdvance, Verifier};
pub use views::{View, Views};
pub use workspace_cache::{CachedCopy, CopySeal, Eviction, WorkspaceCache};
pub use workspaces::{
    LaidOut, MemorySize, NotNow, Overlay, OverlayKind, Workspace, WorkspaceError, WorkspaceForm, WorkspaceMount,
    WorkspaceRequest, Workspaces,
};

/// A boxed cause at the end of an error chain.
pub type Cause = Box<dyn std::error::Error + Send + Sync + 'static>;
