//! Commits of Task Results in a repository in memory.

use super::InMemoryRepository;
use super::promotion::{applied, commit_id, failure, refuse_conflicts};
use crate::fake::Files;
use crate::{ApplyError, Author, ChangeLines, CommitAside, CommitText, ObjectStore, ResultCommits};
use isobox_domain::change::{Change, ChangeLine};
use isobox_domain::git_oid::GitOid;
use std::io::Write;

struct InMemoryCommit {
    id: GitOid,
    changes: Vec<Change>,
}

impl InMemoryRepository {
    fn commit_of(
        &self,
        parent: &GitOid,
        changes: ChangeLines<'_>,
        objects: &dyn ObjectStore,
        text: &CommitText,
    ) -> Result<(InMemoryCommit, Files), ApplyError> {
        if self.lock().source.commit != *parent {
            let reason = format!("commit {parent} is not in the repository");
            return Err(ApplyError::Refused { reason, hint: "fetch it first".into() });
        }
        let lines = changes.collect::<Result<Vec<_>, _>>().map_err(|e| failure("read the changes", e))?;
        let changes = lines.into_iter().filter_map(|line| match line {
            ChangeLine::Change(change) => Some(change),
            ChangeLine::NotCaptured(_) => None,
        });
        let changes: Vec<_> = changes.collect();
        let committed = self.committed();
        refuse_conflicts(&committed, &changes)?;
        let files = applied(committed, &changes, objects)?;
        Ok((InMemoryCommit { id: commit_id(parent, text), changes }, files))
    }
}

impl ResultCommits for InMemoryRepository {
    fn make(
        &self,
        parent: &GitOid,
        changes: ChangeLines<'_>,
        objects: &dyn ObjectStore,
        text: &CommitText,
    ) -> Result<GitOid, ApplyError> {
        let (commit, files) = self.commit_of(parent, changes, objects, text)?;
        self.lock().commits.insert(commit.id.as_bytes().to_vec(), files);
        Ok(commit.id)
    }

    fn make_aside(
        &self,
        parent: &GitOid,
        changes: ChangeLines<'_>,
        objects: &dyn ObjectStore,
        text: &CommitText,
    ) -> Result<Box<dyn CommitAside>, ApplyError> {
        let (commit, _) = self.commit_of(parent, changes, objects, text)?;
        Ok(Box::new(commit))
    }

    fn make_branch(&self, name: &[u8], commit: &GitOid) -> Result<(), ApplyError> {
        let mut state = self.lock();
        if state.branches.contains_key(name) {
            let reason = format!("branch {} is there already", String::from_utf8_lossy(name));
            return Err(ApplyError::Refused { reason, hint: "choose another name".into() });
        }
        state.branches.insert(name.to_vec(), *commit);
        Ok(())
    }
}

impl CommitAside for InMemoryCommit {
    fn id(&self) -> GitOid {
        self.id
    }

    fn author(&self) -> Author {
        Author { name: b"Ana".to_vec(), email: b"ana@example.org".to_vec() }
    }

    fn write_patch(&self, out: &mut dyn Write) -> Result<(), ApplyError> {
        let mut each = self.changes.iter();
        each.try_for_each(|change| writeln!(out, "{}", change.path)).map_err(|e| failure("write a patch", e.into()))
    }

    fn write_bundle(&self, reference: &str, out: &mut dyn Write) -> Result<(), ApplyError> {
        writeln!(out, "{} {reference}", self.id).map_err(|e| failure("write a bundle", e.into()))?;
        self.write_patch(out)
    }
}
