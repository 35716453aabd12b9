//! Commits of Task Results that nothing names, and branches that do, in any repository that has what they are made on.

use super::commit::{self, failure};
use super::commit_aside::GixCommitAside;
use super::dir::Dir;
use super::paths::{component_ends, split};
use super::permissions::give_to_owner;
use super::reference::check_free;
use super::trouble::{refused, while_doing};
use crate::{discovery, oid};
use gix::bstr::ByteSlice;
use gix::objs::Exists;
use gix::refs::transaction::PreviousValue;
use isobox_domain::escape::Escaped;
use isobox_domain::git_oid::GitOid;
use isobox_ports::{ApplyError, ChangeLines, CommitAside, CommitText, ObjectStore, RepositoryError, ResultCommits};
use std::io;
use std::path::{Path, PathBuf};

/// A repository, with a working tree or without, that commits of Task Results are made in.
pub struct GixResultCommits {
    git: gix::Repository,
    common_dir: PathBuf,
}

impl GixResultCommits {
    /// The repository around `directory`, unless it belongs to somebody else.
    pub fn around(directory: &Path) -> Result<Self, RepositoryError> {
        Self::in_repository(discovery::open_around(directory)?)
    }

    /// The repository whose Git directory, or that of one of its working trees, is `git_dir`.
    pub fn in_git_dir(git_dir: &Path) -> Result<Self, RepositoryError> {
        let resolved = git_dir.canonicalize().map_err(|e| looking_at(git_dir, e))?;
        Self::in_repository(discovery::open_owned(&resolved)?)
    }

    fn in_repository(git: gix::Repository) -> Result<Self, RepositoryError> {
        let common_dir = git.common_dir().canonicalize().map_err(|e| looking_at(git.common_dir(), e))?;
        Ok(Self { git, common_dir })
    }

    /// The Git directory that all working trees of the repository share.
    pub fn common_dir(&self) -> &Path {
        &self.common_dir
    }

    fn require(&self, parent: &GitOid) -> Result<gix::ObjectId, ApplyError> {
        let id = oid::to_gix(parent);
        if id.kind() == self.git.object_hash() && self.git.objects.exists(&id) {
            return Ok(id);
        }
        let here = Escaped::path(self.git.workdir().unwrap_or(&self.common_dir));
        let reason = format!("commit {parent}, which the task started from, is not in the repository at {here}");
        Err(refused(reason, "fetch that commit into it first, or name the repository that the task started from"))
    }
}

fn looking_at(host_path: &Path, error: io::Error) -> RepositoryError {
    crate::repository::failure(&format!("look at {}", Escaped::path(host_path)), error)
}

impl ResultCommits for GixResultCommits {
    fn make(
        &self,
        parent: &GitOid,
        changes: ChangeLines<'_>,
        objects: &dyn ObjectStore,
        text: &CommitText,
    ) -> Result<GitOid, ApplyError> {
        let made = commit::make(&self.git, self.require(parent)?, changes, objects, text)?;
        // Whoever names it next does not flush what was written here.
        let flush = || Dir::open(&self.common_dir)?.sync_file_system();
        flush().map_err(while_doing("flush the commit"))?;
        Ok(made)
    }

    fn make_aside(
        &self,
        parent: &GitOid,
        changes: ChangeLines<'_>,
        objects: &dyn ObjectStore,
        text: &CommitText,
    ) -> Result<Box<dyn CommitAside>, ApplyError> {
        let parent = self.require(parent)?;
        Ok(Box::new(GixCommitAside::make(&self.git, parent, changes, objects, text)?))
    }

    fn make_branch(&self, name: &[u8], commit: &GitOid) -> Result<(), ApplyError> {
        check_free(&self.git, name)?;
        let log = commit::subject_of(&self.git, commit)?;
        let message = [b"isobox export: ", log.as_slice()].concat();
        let made = self.git.reference(name.as_bstr(), oid::to_gix(commit), PreviousValue::MustNotExist, message);
        made.map_err(|e| failure(&format!("make the branch {}", Escaped(name)), e.into()))?;
        self.hand_over(name).map_err(while_doing("give the branch to the owner of the repository"))
    }
}

impl GixResultCommits {
    /// Gives a branch and its log to the owner of the repository, where root made them.
    fn hand_over(&self, name: &[u8]) -> io::Result<()> {
        let common_dir = Dir::open(&self.common_dir)?;
        for path in [name.to_vec(), [b"logs/", name].concat()] {
            for end in component_ends(&path) {
                let (above, name) = split(&path[..end]);
                let above = match common_dir.open_below(above) {
                    Err(error) if error.kind() == io::ErrorKind::NotFound => break,
                    opened => opened?,
                };
                if above.stat(name)?.is_some_and(|stat| stat.st_uid == 0) {
                    give_to_owner(&above, name)?;
                }
            }
        }
        common_dir.sync_file_system()
    }
}
