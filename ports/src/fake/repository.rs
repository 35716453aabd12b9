//! A trusted repository in memory.

use super::Files;
use crate::{
    Applied, ApplyError, Cause, ChangeLines, CommitText, Landing, ObjectStore, Promotion, RepositoryError, Route,
    TrustedRepository, Unfinished,
};
use isobox_domain::change::{Change, ChangeLine, Mode};
use isobox_domain::content::{ContentId, ContentRef};
use isobox_domain::git_oid::GitOid;
use isobox_domain::repo_path::RepoPath;
use isobox_domain::source::{Cleanliness, DirtyEntry, DirtyState, SnapshotDifference, WorkspaceSource};
use std::collections::{BTreeMap, BTreeSet, HashSet};
use std::io::Read;
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

struct InMemoryPromotion<'a> {
    repository: &'a InMemoryRepository,
    unfinished: Option<Unfinished>,
}

impl InMemoryPromotion<'_> {
    /// What the changes of a route are made in.
    fn base(&self, route: &Route) -> Files {
        let state = self.repository.lock();
        match route {
            Route::Branch { .. } => state.committed.clone(),
            Route::Files | Route::Index | Route::Commit => state.files.clone(),
        }
    }

    fn changes_of(&self, lines: ChangeLines<'_>, route: &Route) -> Result<Vec<Change>, ApplyError> {
        if let Route::Branch { name, .. } = route
            && (self.repository.lock().branches.contains_key(name) || !name.starts_with(b"refs/heads/"))
        {
            let reason = format!("branch {} cannot be made", String::from_utf8_lossy(name));
            return Err(ApplyError::Refused { reason, hint: "choose another name".into() });
        }
        let lines = lines.collect::<Result<Vec<_>, _>>().map_err(|e| failure("read the changes", e))?;
        let changes = lines.into_iter().filter_map(|line| match line {
            ChangeLine::Change(change) => Some(change),
            ChangeLine::NotCaptured(_) => None,
        });
        let changes: Vec<_> = changes.collect();
        let files = self.base(route);
        let leave: HashSet<_> = changes.iter().filter(|c| c.after.is_none()).map(|c| c.path.clone()).collect();
        let is_conflict = |change: &&Change| !matches(&files, change) || is_blocked(&files, &leave, &change.path);
        let conflicts: Vec<_> = changes.iter().filter(is_conflict).collect();
        if conflicts.is_empty() {
            return Ok(changes);
        }
        let first = conflicts.iter().map(|change| format!("{}: it is not as the task found it", change.path));
        Err(ApplyError::Conflicts { first: first.take(10).collect(), count: conflicts.len() as u64 })
    }
}

impl Promotion for InMemoryPromotion<'_> {
    fn unfinished(&self) -> Option<&Unfinished> {
        self.unfinished.as_ref()
    }

    fn rehearse(&mut self, changes: ChangeLines<'_>, route: &Route) -> Result<Applied, ApplyError> {
        Ok(Applied { paths: self.changes_of(changes, route)?.len() as u64 })
    }

    fn commit(
        &mut self,
        changes: ChangeLines<'_>,
        objects: &dyn ObjectStore,
        route: &Route,
        text: &CommitText,
    ) -> Result<GitOid, ApplyError> {
        let changes = self.changes_of(changes, route)?;
        let files = applied(self.base(route), &changes, objects)?;
        let parent = match route {
            Route::Branch { parent, .. } => *parent,
            _ => self.repository.lock().source.commit,
        };
        let mut hasher = blake3::Hasher::new();
        hasher.update(parent.as_bytes()).update(&text.message).update(&text.at.unix_ms().to_le_bytes());
        let mut bytes = [0; 20];
        hasher.finalize_xof().fill(&mut bytes);
        let made = GitOid::Sha1(bytes);
        self.repository.lock().commits.insert(made.as_bytes().to_vec(), files);
        Ok(made)
    }

    fn apply(
        &mut self,
        changes: ChangeLines<'_>,
        objects: &dyn ObjectStore,
        landing: Landing<'_>,
        receipt: &[u8],
    ) -> Result<Applied, ApplyError> {
        let changes = self.changes_of(changes, landing.route)?;
        let files = applied(self.base(landing.route), &changes, objects)?;
        let mut state = self.repository.lock();
        state.begin_change();
        match (landing.route, landing.made) {
            (Route::Files | Route::Index, _) => state.files = files,
            (Route::Commit, Some(made)) => {
                if landing.head != Some(&state.source.commit) {
                    return Err(moved());
                }
                state.committed = state.commits.get(made.as_bytes()).cloned().unwrap_or_default();
                state.files = files;
                state.source.commit = *made;
            }
            (Route::Branch { name, .. }, Some(made)) => {
                state.branches.insert(name.clone(), *made);
            }
            (Route::Commit | Route::Branch { .. }, None) => {
                return Err(failure("begin a promotion", "no commit was made for it".into()));
            }
        }
        state.receipt = Some(receipt.to_vec());
        Ok(Applied { paths: changes.len() as u64 })
    }

    fn last(&mut self) -> Result<Option<Vec<u8>>, ApplyError> {
        Ok(self.repository.lock().last.as_ref().map(|last| last.receipt.clone()))
    }

    fn take_back(&mut self, landing: Landing<'_>, receipt: &[u8]) -> Result<Applied, ApplyError> {
        let mut state = self.repository.lock();
        let nothing = || failure("take a promotion back", "nothing is kept of one".into());
        let last = state.last.clone().ok_or_else(nothing)?;
        let all: BTreeSet<_> = last.before.keys().chain(last.after.keys()).collect();
        let paths: Vec<_> = all.into_iter().filter(|path| last.before.get(*path) != last.after.get(*path)).collect();
        let touched: Vec<_> = paths.iter().filter(|path| state.files.get(**path) != last.after.get(**path)).collect();
        if !touched.is_empty() {
            let first = touched.iter().take(10).map(|path| format!("{path}: it was changed")).collect();
            return Err(ApplyError::Conflicts { first, count: touched.len() as u64 });
        }
        if landing.made.is_some() && landing.head != Some(&state.source.commit) {
            return Err(moved());
        }
        state.begin_change();
        for path in &paths {
            match last.before.get(*path) {
                Some(file) => drop(state.files.insert((*path).clone(), file.clone())),
                None => drop(state.files.remove(*path)),
            }
        }
        if let (Route::Commit, Some(made)) = (landing.route, landing.made) {
            state.committed = last.committed;
            state.source.commit = *made;
        }
        state.receipt = Some(receipt.to_vec());
        Ok(Applied { paths: paths.len() as u64 })
    }

    fn finish(&mut self) -> Result<(), ApplyError> {
        self.repository.lock().keep();
        self.repository.lock().receipt = None;
        self.unfinished = None;
        Ok(())
    }
}

impl Drop for InMemoryPromotion<'_> {
    fn drop(&mut self) {
        self.repository.lock().is_locked = false;
    }
}

/// Whether the path is as the change's `before` says, and can be promoted at all.
fn matches(files: &Files, change: &Change) -> bool {
    let id = |content: &[u8]| ContentId::new(*blake3::hash(content).as_bytes());
    let found = files.get(&change.path).map(|(mode, content)| (*mode, Some(id(content))));
    let expected = change.before.as_ref().map(|before| (before.mode, before.content.map(|content| content.id)));
    change.submodule.is_none() && found == expected
}

/// Whether a path lies below a file or link that does not leave.
fn is_blocked(files: &Files, leave: &HashSet<RepoPath>, path: &RepoPath) -> bool {
    files.keys().any(|file| path.is_below(file) && !leave.contains(file))
}

/// `files` with the changes made.
fn applied(mut files: Files, changes: &[Change], objects: &dyn ObjectStore) -> Result<Files, ApplyError> {
    for change in changes {
        match &change.after {
            None => drop(files.remove(&change.path)),
            Some(after) => {
                let content = load(objects, &after.content).map_err(|e| failure("read what changed", e))?;
                files.insert(change.path.clone(), (after.mode, content));
            }
        }
    }
    Ok(files)
}

fn load(objects: &dyn ObjectStore, content: &ContentRef) -> Result<Vec<u8>, Cause> {
    let mut bytes = Vec::new();
    objects.open(&content.id)?.ok_or("an object is not in the store")?.read_to_end(&mut bytes)?;
    Ok(bytes)
}

fn moved() -> ApplyError {
    ApplyError::Refused {
        reason: "HEAD was moved while the promotion was in progress".into(),
        hint: "look again".into(),
    }
}

fn failure(operation: &str, source: Cause) -> ApplyError {
    ApplyError::Io { operation: operation.to_owned(), source }
}
