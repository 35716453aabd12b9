//! Making Workspaces, reading what came of them, and removing them.

use crate::{CaptureSink, Cause, ChangeLines, ObjectStore};
use isobox_domain::git_oid::GitOid;
use isobox_domain::policy::WorkspaceKind;
use isobox_domain::repo_path::RepoPath;
use isobox_domain::source::WorkspaceSource;
use std::path::{Path, PathBuf};

/// How a Workspace is to be mounted by a Runtime Backend.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum WorkspaceMount {
    /// A plain directory.
    Directory {
        /// Absolute path of its root.
        host_path: PathBuf,
    },
    /// Directories that are shown as one, of which only the uppermost is written.
    Overlay(Overlay),
}

impl WorkspaceMount {
    /// Where the Workspace is: for an overlay the directory that a backend mounts it at, in the Sandbox's own mount
    /// namespace.
    pub fn host_path(&self) -> &Path {
        match self {
            Self::Directory { host_path } => host_path,
            Self::Overlay(overlay) => &overlay.place,
        }
    }
}

/// A Workspace that shares what nobody changes with others of the same commit.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Overlay {
    /// Absolute paths of the directories that are never written, the uppermost first.
    pub lowers: Vec<PathBuf>,
    /// Absolute path of a directory of its own, with an `upper` that takes what is written and a `work` for the kernel.
    /// The overlay is mounted at this very directory, so that neither can be reached through it.
    pub place: PathBuf,
    /// How it is mounted.
    pub kind: OverlayKind,
    /// If `upper` and `work` are not on disk: the backend makes them on a file system in memory of this size, at `place`.
    /// For limits on what a Task may write.
    pub memory: Option<MemorySize>,
}

impl Overlay {
    /// The directory that takes what is written.
    pub fn upper(&self) -> PathBuf {
        self.place.join("upper")
    }

    /// The directory that the kernel works in.
    pub fn work(&self) -> PathBuf {
        self.place.join("work")
    }
}

/// Who mounts an overlay, and so how the kernel marks in it what is hidden. See "User xattr" in the kernel's documentation
/// of overlayfs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum OverlayKind {
    /// A user who may mount: marks are attributes `trusted.overlay.*`.
    Privileged,
    /// An ordinary user in a user namespace: marks are attributes `user.overlay.*`.
    Unprivileged,
}

/// The size of a file system in memory.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct MemorySize {
    /// Bytes that files may take.
    pub bytes: u64,
    /// Files, directories and links that there may be.
    pub inodes: u64,
}

/// In which form a Workspace is wanted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum WorkspaceForm {
    /// Files of its own, which share blocks with those of others where the file system can do that.
    Copy,
    /// An overlay.
    Overlay {
        /// How it is to be mounted.
        kind: OverlayKind,
        /// The size of what can be written, if that is to be in memory.
        memory: Option<MemorySize>,
    },
}

/// What a Workspace is made from.
#[derive(Clone, Debug)]
pub struct WorkspaceRequest<'a> {
    /// The source, pinned.
    pub source: &'a WorkspaceSource,
    /// The form. Where an overlay has nothing to lie on, a copy is made all the same, and a notice says why: whoever insists
    /// on an overlay looks at what was laid out.
    pub form: WorkspaceForm,
}

/// What was laid out for a Workspace.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LaidOut {
    /// How it will be mounted.
    pub mount: WorkspaceMount,
    /// Why it will be a copy, although an overlay was wanted.
    pub why_copy: Option<String>,
}

/// A private, disposable copy of a source at one commit.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Workspace {
    /// How it is to be mounted.
    pub mount: WorkspaceMount,
    /// What it is made of.
    pub kind: WorkspaceKind,
    /// What a later process needs to capture or dispose it; understood by the adapter that made it alone.
    pub state: Vec<u8>,
    /// Things to tell the user, as sentences: pointers that stayed pointers, filters that were not run.
    pub notices: Vec<String>,
}

/// A failure around a Workspace.
#[derive(Debug, thiserror::Error)]
pub enum WorkspaceError {
    /// The source cannot be used, for a reason in words.
    #[error("{reason}")]
    Refused {
        /// Why.
        reason: String,
        /// What to do about it.
        hint: Option<String>,
    },
    /// No space, no inodes or over quota.
    #[error("{operation}: no space left")]
    Full {
        /// What was being done, to what.
        operation: String,
    },
    /// Something else failed.
    #[error("{operation}")]
    Io {
        /// What was being done, to what.
        operation: String,
        /// Why it did not work.
        #[source]
        source: Cause,
    },
}

/// The cause of a failure around a Workspace that a later try may not meet: something is missing that can come back. A
/// capture that fails for it changed nothing.
#[derive(Debug, thiserror::Error)]
#[error("{0}")]
pub struct NotNow(pub String);

impl WorkspaceError {
    /// That the caller stands in `directory`, of which `commit` has nothing, so that no Workspace has it.
    pub fn not_committed(directory: &RepoPath, commit: &GitOid) -> Self {
        let reason = format!(
            "the current directory, {directory}, is not part of commit {}: it is ignored, or empty, or was not \
             committed; change to one that is, and try again",
            commit.short()
        );
        Self::Refused { reason, hint: None }
    }
}

/// Private copies of one source.
///
/// - A Workspace has exactly the files of the pinned commit and a `.git` of its own at that commit, and shares no
///   writable inode with the source.
/// - A source whose working directory the commit does not have is refused, and nothing is made.
/// - Nothing of the source or of the user's configuration is executed to make it.
/// - Capturing an untouched Workspace gives no line.
/// - Capturing never executes, follows or trusts anything in the Workspace, and changes nothing in it.
/// - What changed is captured byte for byte; what is not captured is a line that says why.
/// - A snapshot is what the source's working tree has not committed: with it a Workspace has exactly its files, but for
///   those that Git ignores. What changes while it is read is refused, and so is what no Change Set can hold.
/// - A snapshot can be made of lines that are given, too: with it a Workspace has what these make of the commit.
/// - A Workspace with a snapshot is captured against the snapshot.
/// - Disposing removes everything, whatever the modes inside; disposing twice is fine.
/// - A killed creation is disposed from its state.
pub trait Workspaces: Send + Sync {
    /// The directory that they lie in, which need not be there yet.
    fn directory(&self) -> &Path;

    /// Chooses where the next Workspace goes, before anything is made there: its state, to be noted first.
    fn reserve(&self, request: &WorkspaceRequest<'_>) -> Result<Vec<u8>, WorkspaceError>;

    /// Whether laying out is a matter of a moment; if not, what all Workspaces of the commit share has to be made first.
    fn is_prepared(&self, reserved: &[u8]) -> bool;

    /// Makes what a Sandbox needs to come up around a Workspace at a reserved place: a root that is still empty, or an
    /// overlay with all that lies below it.
    fn lay_out(&self, reserved: &[u8], request: &WorkspaceRequest<'_>) -> Result<LaidOut, WorkspaceError>;

    /// Makes a Workspace at a reserved place, whether it was laid out or not.
    fn create(&self, reserved: &[u8], request: &WorkspaceRequest<'_>) -> Result<Workspace, WorkspaceError>;

    /// Puts the uncommitted state of the source's working tree into a Workspace in form of a copy that was just created. HEAD
    /// must still be at its commit. What fails leaves a Workspace that is good for nothing but to be disposed.
    fn add_snapshot(&self, state: &[u8], request: &WorkspaceRequest<'_>) -> Result<(), WorkspaceError>;

    /// Puts what `lines` make of the commit, with contents from `objects`, into a Workspace in form of a copy that was just
    /// created, in place of the state of a working tree: its snapshot. At most 100,000 paths. What fails leaves a Workspace
    /// that is good for nothing but to be disposed.
    fn put_snapshot(
        &self,
        state: &[u8],
        lines: ChangeLines<'_>,
        objects: &dyn ObjectStore,
    ) -> Result<(), WorkspaceError>;

    /// Hands over the snapshot that was put into a Workspace, whatever became of the Workspace since, in lines against the
    /// commit; no line where there is none.
    fn snapshot(&self, state: &[u8], sink: &mut dyn CaptureSink) -> Result<(), WorkspaceError>;

    /// Reads what changed. Every process that could write to it is dead.
    fn capture(&self, state: &[u8], mounted: &WorkspaceMount, sink: &mut dyn CaptureSink)
    -> Result<(), WorkspaceError>;

    /// Removes a Workspace, whole or half made.
    fn dispose(&self, state: &[u8]) -> Result<(), WorkspaceError>;

    /// Gives a Workspace to the user: removes what is isobox's own around it, and says where its root is.
    fn retain(&self, state: &[u8]) -> Result<PathBuf, WorkspaceError>;
}
