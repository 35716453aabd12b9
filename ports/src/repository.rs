//! The trusted repository: looking at it, and the one way to write to it.

use crate::{Cause, ChangeLines, MergeRequest, Merged, ObjectStore};
use isobox_domain::git_oid::GitOid;
use isobox_domain::repo_path::RepoPath;
use isobox_domain::source::{Cleanliness, SnapshotDifference, WorkspaceSource};
use isobox_domain::timestamp::Timestamp;

/// A failure to look at the trusted repository. Nothing was changed.
#[derive(Debug, thiserror::Error)]
pub enum RepositoryError {
    /// It cannot be used, for a reason in words.
    #[error("{reason}")]
    Refused {
        /// Why.
        reason: String,
        /// What to do about it.
        hint: Option<String>,
    },
    /// Another Promotion is in progress.
    #[error("another promotion into {host_path} is in progress")]
    Locked {
        /// The repository, escaped for people.
        host_path: String,
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

/// A Promotion that was not performed. The repository is as it was, [`ApplyError::Unsettled`] aside.
#[derive(Debug, thiserror::Error)]
pub enum ApplyError {
    /// Paths that are not as the Change Set expects them, or cannot be promoted, each with its reason.
    #[error("{count} of the changed paths cannot be promoted")]
    Conflicts {
        /// The first of them, escaped for people, each with why.
        first: Vec<String>,
        /// How many there are.
        count: u64,
    },
    /// Something else than a changed path stands in the way: a reference, or what the configuration does not say.
    #[error("{reason}; nothing was changed")]
    Refused {
        /// What.
        reason: String,
        /// What to do about it.
        hint: String,
    },
    /// No space, no inodes or over quota.
    #[error("{operation}: no space left; nothing was changed")]
    Full {
        /// What was being done, to what.
        operation: String,
    },
    /// Something else failed.
    #[error("{operation}; nothing was changed")]
    Io {
        /// What was being done, to what.
        operation: String,
        /// Why it did not work.
        #[source]
        source: Cause,
    },
    /// A failed Promotion could not be undone, or a finished one not be forgotten: its journal stays, and the next
    /// `begin_promotion` settles it.
    #[error("{operation}; its journal was kept, and the next promotion settles it first")]
    Unsettled {
        /// What was being done, to what.
        operation: String,
        /// Why it did not work.
        #[source]
        source: Cause,
    },
}

/// What a Promotion wrote.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Applied {
    /// Changed paths.
    pub paths: u64,
}

/// A Promotion that a killed process left behind after its point of no return; it has been finished now.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Unfinished {
    /// What its caller gave to `apply`.
    pub receipt: Vec<u8>,
}

/// Where a Promotion goes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Route {
    /// Into the files of the working tree.
    Files,
    /// Into the files, and into an index that matches them.
    Index,
    /// Into the files, the index, and a commit on HEAD, which HEAD or the branch that it names is moved to.
    Commit,
    /// Into a commit on `parent`, which a branch is made for. Neither files nor index nor HEAD are touched or looked at.
    Branch {
        /// The branch, `refs/heads/…`, which must not be there.
        name: Vec<u8>,
        /// The commit that the Change Set was made against.
        parent: GitOid,
    },
}

/// A [`Route`] with the commit that was made for it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Landing<'a> {
    /// Where the Promotion goes.
    pub route: &'a Route,
    /// What [`Promotion::commit`] made, for a route with a commit.
    pub made: Option<&'a GitOid>,
    /// What HEAD is at until it goes to `made`. If it is elsewhere then, all is refused: what somebody committed meanwhile
    /// would be on no branch any more.
    pub head: Option<&'a GitOid>,
}

impl<'a> Landing<'a> {
    /// A route without a commit.
    pub const fn without_commit(route: &'a Route) -> Self {
        Self { route, made: None, head: None }
    }
}

/// What a commit says of itself. Who made it, the repository's configuration says.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CommitText {
    /// The whole message, any bytes but NUL.
    pub message: Vec<u8>,
    /// When it was made.
    pub at: Timestamp,
}

/// The trusted repository.
///
/// - Looking writes nothing, not even the index, and executes nothing that the repository or its configuration names.
/// - A repository that isobox cannot use is refused with its reason: bare, empty, partial, of another owner.
pub trait TrustedRepository: Send + Sync {
    /// HEAD, pinned, and what identifies the repository.
    fn source(&self) -> Result<WorkspaceSource, RepositoryError>;

    /// Whether the working tree and index are as HEAD says.
    fn cleanliness(&self) -> Result<Cleanliness, RepositoryError>;

    /// Where the working tree is not in the state of a snapshot, given in the lines of its Change Set against `commit`.
    fn compare_snapshot(
        &self,
        commit: &GitOid,
        snapshot: ChangeLines<'_>,
    ) -> Result<SnapshotDifference, RepositoryError>;

    /// Git's name of the blob that `content` at `path` would be committed as: by the conversions that the repository says,
    /// filter drivers aside. Nothing is written to the repository.
    fn blob_name(&self, path: &RepoPath, content: &[u8]) -> Result<GitOid, RepositoryError>;

    /// Takes the lock under which one Promotion at a time is checked, performed and recorded.
    ///
    /// What a killed Promotion left is rolled back here, or finished if it was past its point of no return.
    fn begin_promotion(&self) -> Result<Box<dyn Promotion + '_>, RepositoryError>;
}

/// The lock on a trusted repository, and the only way to write to it. Dropping it releases the lock.
///
/// - No hook runs, and nothing else that the repository or its configuration names.
/// - `apply` performs all changes or none, whatever fails and whenever the process is killed.
/// - Every path that changes is first found as the Change Set's `before` says, or nothing is changed.
/// - No link is followed: a path below a symbolic link is a conflict.
/// - Files are owned and readable as the repository's own are; the executable bit is as captured.
pub trait Promotion {
    /// The killed Promotion that was finished when the lock was taken, if there was one.
    fn unfinished(&self) -> Option<&Unfinished>;

    /// Merges changes, with contents from `objects`, into what HEAD holds: path by path, without looking for renames, and
    /// as Git merges lines. Writes nothing to the repository. What cannot be merged, or is staged in another form than HEAD
    /// has, is a conflict.
    fn merge<'o>(
        &mut self,
        changes: ChangeLines<'_>,
        objects: &'o dyn ObjectStore,
        request: &MergeRequest<'_>,
    ) -> Result<Box<dyn Merged + 'o>, ApplyError>;

    /// Looks whether every change could be applied now; changes nothing.
    fn rehearse(&mut self, changes: ChangeLines<'_>, route: &Route) -> Result<Applied, ApplyError>;

    /// Makes the commit of a [`Route`] that has one, and says which. Nothing names it until `apply` does.
    fn commit(
        &mut self,
        changes: ChangeLines<'_>,
        objects: &dyn ObjectStore,
        route: &Route,
        text: &CommitText,
    ) -> Result<GitOid, ApplyError>;

    /// Performs the changes, with contents from `objects`; `made` is what `commit` made of the very same. `receipt` is handed
    /// back as [`Unfinished`] if this process is killed before `finish`.
    fn apply(
        &mut self,
        changes: ChangeLines<'_>,
        objects: &dyn ObjectStore,
        landing: Landing<'_>,
        receipt: &[u8],
    ) -> Result<Applied, ApplyError>;

    /// The receipt of the last Promotion into this working tree, if what it replaced is still kept.
    fn last(&mut self) -> Result<Option<Vec<u8>>, ApplyError>;

    /// Takes that Promotion back, all of it or nothing, provided that every path is as it left it: an `apply` of the opposite.
    /// For `Commit`, HEAD goes to `made`. For `Branch`, the branch is removed if it names `made` and is checked out nowhere; one
    /// that is not there any more is as good as removed.
    fn take_back(&mut self, landing: Landing<'_>, receipt: &[u8]) -> Result<Applied, ApplyError>;

    /// Forgets the Promotion's journal, once its event is durable. What it replaced is kept for `take_back` where that can be,
    /// instead of what an earlier one replaced.
    fn finish(&mut self) -> Result<(), ApplyError>;
}
