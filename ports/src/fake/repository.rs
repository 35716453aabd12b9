//! A trusted repository in memory.

mod promotion;
mod result_commits;

use super::Files;
use crate::{ChangeLines, Promotion, RepositoryError, TrustedRepository, Unfinished};
use isobox_domain::change::{ChangeLine, Mode};
use isobox_domain::content::ContentId;
use isobox_domain::git_oid::GitOid;
use isobox_domain::repo_path::RepoPath;
use isobox_domain::source::{Cleanliness, DirtyEntry, DirtyState, SnapshotDifference, WorkspaceSource};
use promotion::InMemoryPromotion;
use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Mutex, MutexGuard, PoisonError};

/// A working tree in memory, at a commit that never moves by itself. What a Promotion wrote makes it dirty.
pub struct InMemoryRepository {
    state: Mutex<State>,
}

struct State {
    source: WorkspaceSource,
    committed: Files,
    files: Files,
    commits: BTreeMap<Vec<u8>, Files>,
    branches: BTreeMap<Vec<u8>, GitOid>,
    is_locked: bool,
    receipt: Option<Vec<u8>>,
    /// Files, and those of HEAD, before the Promotion that is in progress.
    before: Option<(Files, Files)>,
    last: Option<Last>,
}

/// The last Promotion.
#[derive(Clone)]
struct Last {
    receipt: Vec<u8>,
    before: Files,
    committed: Files,
    after: Files,
}

impl State {
    fn begin_change(&mut self) {
        self.before = Some((self.files.clone(), self.committed.clone()));
    }

    fn keep(&mut self) {
        if let (Some((before, committed)), Some(receipt)) = (self.before.take(), self.receipt.clone()) {
            self.last = Some(Last { receipt, before, committed, after: self.files.clone() });
        }
    }
}

impl InMemoryRepository {
    /// A clean repository with `files` in its HEAD, which is `source`.
    pub fn new(source: WorkspaceSource, files: Files) -> Self {
        let committed = files.clone();
        let (commits, branches) = (BTreeMap::new(), BTreeMap::new());
        let state = State {
            source,
            committed,
            files,
            commits,
            branches,
            is_locked: false,
            receipt: None,
            before: None,
            last: None,
        };
        Self { state: Mutex::new(state) }
    }

    /// The commit that a branch names, and its files.
    pub fn branch(&self, name: &[u8]) -> Option<(GitOid, Files)> {
        let state = self.lock();
        let commit = state.branches.get(name)?;
        Some((*commit, state.commits.get(commit.as_bytes())?.clone()))
    }

    /// The files of a commit that was made here.
    pub fn files_of(&self, commit: &GitOid) -> Option<Files> {
        self.lock().commits.get(commit.as_bytes()).cloned()
    }

    /// The files of HEAD.
    pub fn committed(&self) -> Files {
        self.lock().committed.clone()
    }

    /// The files of the working tree.
    pub fn files(&self) -> Files {
        self.lock().files.clone()
    }

    /// Puts a file into the working tree, or takes it away.
    pub fn edit(&self, path: &RepoPath, file: Option<(Mode, Vec<u8>)>) {
        let files = &mut self.lock().files;
        match file {
            Some(file) => drop(files.insert(path.clone(), file)),
            None => drop(files.remove(path)),
        }
    }

    /// Moves HEAD: what `source` says from now on.
    pub fn move_head(&self, source: WorkspaceSource) {
        self.lock().source = source;
    }

    /// Makes it look as if a Promotion with this receipt had been killed after its point of no return.
    pub fn leave_unfinished(&self, receipt: &[u8]) {
        self.lock().receipt = Some(receipt.to_vec());
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl TrustedRepository for InMemoryRepository {
    fn source(&self) -> Result<WorkspaceSource, RepositoryError> {
        Ok(self.lock().source.clone())
    }

    fn cleanliness(&self) -> Result<Cleanliness, RepositoryError> {
        let (files, committed) = (self.files(), self.committed());
        let mut paths: Vec<_> = files.keys().chain(committed.keys()).collect();
        paths.sort();
        paths.dedup();
        paths.retain(|path| files.get(*path) != committed.get(*path));
        if paths.is_empty() {
            return Ok(Cleanliness::Clean);
        }
        let state = |path: &RepoPath| match committed.contains_key(path) {
            true => DirtyState::Unstaged,
            false => DirtyState::Untracked,
        };
        let entry = |path: &RepoPath| DirtyEntry { path: path.as_bytes().to_vec(), state: state(path) };
        let first = paths.iter().take(Cleanliness::SHOWN).map(|path| entry(path)).collect();
        Ok(Cleanliness::Dirty { first, count: paths.len() as u64 })
    }

    fn compare_snapshot(
        &self,
        commit: &GitOid,
        snapshot: ChangeLines<'_>,
    ) -> Result<SnapshotDifference, RepositoryError> {
        if self.lock().source.commit != *commit {
            return Err(RepositoryError::Io { operation: "read the tree".into(), source: "there is none".into() });
        }
        let committed = self.committed();
        let lines = snapshot.collect::<Result<Vec<_>, _>>();
        let lines = lines.map_err(|source| RepositoryError::Io { operation: "read the snapshot".into(), source })?;
        let mut expected: BTreeMap<RepoPath, Option<(Mode, ContentId)>> =
            committed.iter().map(|(path, file)| (path.clone(), Some(state_of(file)))).collect();
        for line in lines {
            if let ChangeLine::Change(change) = line {
                expected.insert(change.path, change.after.map(|after| (after.mode, after.content.id)));
            }
        }
        let files = self.files();
        let paths: BTreeSet<_> = files.keys().chain(expected.keys()).collect();
        let mut difference = SnapshotDifference::default();
        for path in paths {
            if let (Some((Mode::Submodule, _)), None) = (files.get(path), committed.get(path)) {
                let reason = format!("{path} cannot be part of a snapshot: it is a repository of its own");
                return Err(RepositoryError::Refused { reason, hint: None });
            }
            if files.get(path).map(state_of) != expected.get(path).copied().flatten() {
                difference.add(path.as_bytes());
            }
        }
        Ok(difference)
    }

    fn blob_name(&self, _path: &RepoPath, content: &[u8]) -> Result<GitOid, RepositoryError> {
        Ok(GitOid::Sha256(*blake3::hash(content).as_bytes()))
    }

    fn begin_promotion(&self) -> Result<Box<dyn Promotion + '_>, RepositoryError> {
        let mut state = self.lock();
        if state.is_locked {
            let host_path = String::from_utf8_lossy(&state.source.host_path).into_owned();
            return Err(RepositoryError::Locked { host_path });
        }
        state.is_locked = true;
        let unfinished = state.receipt.clone().map(|receipt| Unfinished { receipt });
        Ok(Box::new(InMemoryPromotion { repository: self, unfinished }))
    }
}

fn state_of((mode, content): &(Mode, Vec<u8>)) -> (Mode, ContentId) {
    (*mode, ContentId::new(*blake3::hash(content).as_bytes()))
}
