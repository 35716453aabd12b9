//! The Change Set: the exact before and after of every path that an attempt changed.
//!
//! A Change Set can hold any number of paths, so it is a stream of [`ChangeLine`]s in ascending order of their path
//! bytes, never one value in memory.

use crate::content::{ContentId, ContentRef};
use crate::git_oid::GitOid;
use crate::repo_path::RepoPath;

/// What kind of thing a path names, as far as Git can tell kinds apart.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Mode {
    /// A regular file.
    File,
    /// A regular file that its owner may execute.
    Executable,
    /// A symbolic link; its content is its target.
    Symlink,
    /// A submodule; its content is the commit it stands at.
    Submodule,
}

/// A path as it was in the pinned commit.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Before {
    /// Its kind.
    pub mode: Mode,
    /// Git's name of its content: a blob, or a commit for a submodule.
    pub oid: GitOid,
    /// Its bytes as isobox checked them out (after conversions such as end-of-line), which are not stored.
    /// `None` for a submodule, and where the repository had them no more.
    pub content: Option<ContentRef>,
}

/// A path as the workload left it. Its content is stored in full.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct After {
    /// Its kind; never [`Mode::Submodule`].
    pub mode: Mode,
    /// The bytes of the file in the Workspace, or the target of the link.
    pub content: ContentRef,
    /// Whether a NUL byte is among the first 8,000 bytes: Git's rule for binary content.
    pub binary: bool,
}

/// One changed path. At least one of `before` and `after` is present, and they differ.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Change {
    /// The path, from the root of the repository.
    pub path: RepoPath,
    /// `None`: the path was added.
    pub before: Option<Before>,
    /// `None`: the path was deleted.
    pub after: Option<After>,
    /// For an added path with exactly the bytes of a deleted one: that one. A note for people; the deletion is a change
    /// of its own.
    pub renamed_from: Option<RepoPath>,
    /// The submodule that the path lies in. Such a change is shown but cannot be promoted.
    pub submodule: Option<RepoPath>,
}

/// What happened to a path, in one word.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum ChangeKind {
    /// It was not there before.
    Added,
    /// It is there no more.
    Deleted,
    /// Same kind of thing, other content or executable bit.
    Modified,
    /// A file became a link, a submodule became a file, and so on.
    TypeChanged,
}

impl Change {
    /// Whether it is of a submodule, or of something in one.
    pub fn concerns_submodule(&self) -> bool {
        let modes = [self.before.as_ref().map(|before| before.mode), self.after.as_ref().map(|after| after.mode)];
        self.submodule.is_some() || modes.contains(&Some(Mode::Submodule))
    }

    /// What happened to the path.
    pub fn kind(&self) -> ChangeKind {
        let is_file = |mode| matches!(mode, Mode::File | Mode::Executable);
        match (&self.before, &self.after) {
            (None, _) => ChangeKind::Added,
            (_, None) => ChangeKind::Deleted,
            (Some(before), Some(after)) if before.mode == after.mode => ChangeKind::Modified,
            (Some(before), Some(after)) if is_file(before.mode) && is_file(after.mode) => ChangeKind::Modified,
            _ => ChangeKind::TypeChanged,
        }
    }
}

/// Why something in the Workspace is not part of the Change Set.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum NotCapturedReason {
    /// A rule in a `.gitignore` of the Workspace covers it (and all below it, for a directory).
    Ignored {
        /// The rule as written.
        rule: Vec<u8>,
        /// The `.gitignore` that holds the rule, from the root of the repository.
        rule_file: RepoPath,
        /// Whether the pinned commit has this rule; if not, the workload added it.
        origin: RuleOrigin,
    },
    /// A directory with nothing captured below it, which the pinned commit does not have.
    EmptyDirectory,
    /// A directory with a `.git` of its own.
    NestedRepository,
    /// A named pipe.
    Fifo,
    /// A socket.
    Socket,
    /// A block or character device.
    Device,
    /// The file, or the directory, could not be read: what the system said.
    Unreadable(String),
    /// Setuid, setgid or sticky bits, which Git cannot express; the content itself is captured.
    SpecialModeBits(u32),
    /// Larger than the limit for one file, in bytes.
    TooLarge {
        /// Its apparent size in bytes.
        length: u64,
    },
    /// Its name can be no path of a Git repository: which rule it breaks.
    UnsupportedName(String),
    /// Another file system is mounted there.
    OtherFileSystem,
}

/// Where an ignore rule comes from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RuleOrigin {
    /// The pinned commit.
    Commit,
    /// The workload.
    Workload,
}

/// Something that stayed outside the Change Set, and why.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NotCaptured {
    /// The path from the root of the Workspace: any bytes, possibly no valid [`RepoPath`].
    pub workspace_path: Vec<u8>,
    /// Why it was left out.
    pub reason: NotCapturedReason,
}

/// One item of a Change Set.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ChangeLine {
    /// A changed path.
    Change(Change),
    /// Something that was left out.
    NotCaptured(NotCaptured),
}

impl ChangeLine {
    /// The path that it is about, any bytes.
    pub fn path(&self) -> &[u8] {
        match self {
            Self::Change(change) => change.path.as_bytes(),
            Self::NotCaptured(left_out) => &left_out.workspace_path,
        }
    }
}

/// Totals of a Change Set.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ChangeSummary {
    /// Added paths.
    pub added: u64,
    /// Modified paths, type changes included.
    pub modified: u64,
    /// Deleted paths.
    pub deleted: u64,
    /// Things that were left out.
    pub not_captured: u64,
}

impl ChangeSummary {
    /// Changed paths of every kind.
    pub fn changed(&self) -> u64 {
        self.added + self.modified + self.deleted
    }

    /// Counts one more line.
    pub fn count(&mut self, line: &ChangeLine) {
        *match line {
            ChangeLine::NotCaptured(_) => &mut self.not_captured,
            ChangeLine::Change(change) => match change.kind() {
                ChangeKind::Added => &mut self.added,
                ChangeKind::Deleted => &mut self.deleted,
                ChangeKind::Modified | ChangeKind::TypeChanged => &mut self.modified,
            },
        } += 1;
    }
}

/// A whole Change Set, as a record refers to it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ChangeSetRef {
    /// The object that lists the chunks of lines.
    pub id: ContentId,
    /// Length of that object in bytes.
    pub length: u64,
    /// Totals of the lines.
    pub summary: ChangeSummary,
}
