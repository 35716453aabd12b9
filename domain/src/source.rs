//! The Workspace Source: the trusted repository that a Workspace is made from.

use crate::git_oid::GitOid;
use crate::repo_path::RepoPath;

/// A trusted repository, pinned at one commit.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct WorkspaceSource {
    /// Absolute host path of the working tree's root, any bytes.
    pub host_path: Vec<u8>,
    /// Identity of the repository that survives a move: the root commit in which the chain of first parents from the
    /// pinned one ends. `None` where history is cut off (shallow).
    pub root_commit: Option<GitOid>,
    /// The commit that everything is made from.
    pub commit: GitOid,
    /// The branch that HEAD named (`refs/heads/…`, any bytes), or `None` when it was detached.
    pub branch: Option<Vec<u8>>,
    /// Where in the repository the caller stood; `None` at its root.
    pub working_directory: Option<RepoPath>,
}

/// Whether the working tree of a source is as its HEAD commit says.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Cleanliness {
    /// Nothing staged, unstaged or untracked.
    Clean,
    /// Something is.
    Dirty {
        /// The first entries in path order, at most [`Cleanliness::SHOWN`].
        first: Vec<DirtyEntry>,
        /// How many there are in all.
        count: u64,
    },
}

impl Cleanliness {
    /// How many dirty entries are listed.
    pub const SHOWN: usize = 10;
}

/// Where a working tree is not in the state of a Dirty Source Snapshot.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct SnapshotDifference {
    /// Some of the paths, any bytes, at most [`Cleanliness::SHOWN`].
    pub first: Vec<Vec<u8>>,
    /// How many there are in all.
    pub count: u64,
}

impl SnapshotDifference {
    /// Adds a path.
    pub fn add(&mut self, path: &[u8]) {
        self.count += 1;
        if self.first.len() < Cleanliness::SHOWN {
            self.first.push(path.to_vec());
        }
    }
}

/// One entry that makes a source dirty.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DirtyEntry {
    /// The path from the root of the repository, any bytes.
    pub path: Vec<u8>,
    /// In what way.
    pub state: DirtyState,
}

/// In what way an entry differs from HEAD.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum DirtyState {
    /// The index differs from HEAD.
    Staged,
    /// The working tree differs from the index.
    Unstaged,
    /// It is not in the index and not ignored.
    Untracked,
    /// It is in conflict.
    Unmerged,
}
