//! Export of a Task Result to a Git repository: the commit that it makes of the commit that the Task started from.

use crate::{ApplyError, ChangeLines, CommitText, ObjectStore};
use isobox_domain::git_oid::GitOid;
use std::io::Write;

/// What makes commits of Task Results.
///
/// - Neither index, files nor references of the repository are touched or looked at, `make_branch` aside.
/// - No hook runs, and nothing else that the repository or its configuration names.
/// - The same changes on the same parent with the same text are the same commit, however often it is made.
/// - A commit of what the repository does not have is refused, and so is a path that is not as the Change Set's `before` says.
pub trait ResultCommits {
    /// Makes the commit of `changes` on `parent` in the repository, and says which. Nothing names it.
    fn make(
        &self,
        parent: &GitOid,
        changes: ChangeLines<'_>,
        objects: &dyn ObjectStore,
        text: &CommitText,
    ) -> Result<GitOid, ApplyError>;

    /// Makes the same commit beside the repository, to which nothing is written.
    fn make_aside(
        &self,
        parent: &GitOid,
        changes: ChangeLines<'_>,
        objects: &dyn ObjectStore,
        text: &CommitText,
    ) -> Result<Box<dyn CommitAside>, ApplyError>;

    /// Makes a branch, `refs/heads/…`, that names a commit of the repository. One that is there is refused.
    fn make_branch(&self, name: &[u8], commit: &GitOid) -> Result<(), ApplyError>;
}

/// A commit beside a repository, gone when it is dropped.
pub trait CommitAside {
    /// Which commit it is.
    fn id(&self) -> GitOid;

    /// Who made it.
    fn author(&self) -> Author;

    /// Writes what it changes of its parent, in the bytes of Git's blobs, as a patch. The same each time.
    fn write_patch(&self, out: &mut dyn Write) -> Result<(), ApplyError>;

    /// Writes it, with every object of it that its parent does not have, as a Git bundle that calls it `reference` and HEAD.
    fn write_bundle(&self, reference: &str, out: &mut dyn Write) -> Result<(), ApplyError>;
}

/// Who made a commit, as the configuration of the repository says.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Author {
    /// A name, any bytes.
    pub name: Vec<u8>,
    /// An address, any bytes.
    pub email: Vec<u8>,
}
