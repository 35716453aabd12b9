//! A Promotion into a repository in memory.

use super::{InMemoryRepository, state_of};
use crate::fake::Files;
use crate::{
    Applied, ApplyError, Cause, ChangeLines, CommitText, Content, Landing, MergeRequest, MergeTally, Merged,
    ObjectStore, Promotion, Route, StoreError, Unfinished,
};
use isobox_domain::change::{Change, ChangeLine, ChangeSetRef};
use isobox_domain::content::{ContentId, ContentRef};
use isobox_domain::git_oid::GitOid;
use isobox_domain::repo_path::RepoPath;
use std::collections::{BTreeSet, HashSet};
use std::io::Read;

/// A merge that takes each path whole.
struct InMemoryMerge<'o> {
    objects: &'o dyn ObjectStore,
    changes: Vec<Change>,
    tally: MergeTally,
}

impl Merged for InMemoryMerge<'_> {
    fn lines(&self) -> ChangeLines<'_> {
        Box::new(self.changes.iter().cloned().map(|change| Ok(ChangeLine::Change(change))))
    }

    fn tally(&self) -> &MergeTally {
        &self.tally
    }
}

impl ObjectStore for InMemoryMerge<'_> {
    fn open(&self, id: &ContentId) -> Result<Option<Content>, StoreError> {
        self.objects.open(id)
    }

    fn changes(&self, _: &ChangeSetRef) -> Result<ChangeLines<'_>, StoreError> {
        Ok(self.lines())
    }
}

/// The lock on a repository in memory.
pub(super) struct InMemoryPromotion<'a> {
    pub(super) repository: &'a InMemoryRepository,
    pub(super) unfinished: Option<Unfinished>,
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
        refuse_conflicts(&self.base(route), &changes)?;
        Ok(changes)
    }
}

/// Fails unless every change could be made in `files`.
pub(super) fn refuse_conflicts(files: &Files, changes: &[Change]) -> Result<(), ApplyError> {
    let leave: HashSet<_> = changes.iter().filter(|c| c.after.is_none()).map(|c| c.path.clone()).collect();
    let is_conflict = |change: &&Change| !matches(files, change) || is_blocked(files, &leave, &change.path);
    let conflicts: Vec<_> = changes.iter().filter(is_conflict).collect();
    if conflicts.is_empty() {
        return Ok(());
    }
    let first = conflicts.iter().map(|change| format!("{}: it is not as the task found it", change.path));
    Err(ApplyError::Conflicts { first: first.take(10).collect(), count: conflicts.len() as u64 })
}

/// Which commit it is that says `text` on `parent`.
pub(super) fn commit_id(parent: &GitOid, text: &CommitText) -> GitOid {
    let mut hasher = blake3::Hasher::new();
    hasher.update(parent.as_bytes()).update(&text.message).update(&text.at.unix_ms().to_le_bytes());
    let mut bytes = [0; 20];
    hasher.finalize_xof().fill(&mut bytes);
    GitOid::Sha1(bytes)
}

impl Promotion for InMemoryPromotion<'_> {
    fn unfinished(&self) -> Option<&Unfinished> {
        self.unfinished.as_ref()
    }

    fn merge<'o>(
        &mut self,
        changes: ChangeLines<'_>,
        objects: &'o dyn ObjectStore,
        _: &MergeRequest<'_>,
    ) -> Result<Box<dyn Merged + 'o>, ApplyError> {
        let committed = self.repository.committed();
        let mut merged = InMemoryMerge { objects, changes: Vec::new(), tally: MergeTally::default() };
        let mut conflicts = Vec::new();
        for line in changes {
            let ChangeLine::Change(change) = line.map_err(|e| failure("read the changes", e))? else { continue };
            let ours = committed.get(&change.path).map(state_of);
            let base = change.before.as_ref().and_then(|before| Some((before.mode, before.content?.id)));
            if ours == base {
                merged.tally.untouched += 1;
                merged.changes.push(change);
            } else if ours == change.after.as_ref().map(|after| (after.mode, after.content.id)) {
                merged.tally.present += 1;
            } else {
                conflicts.push(format!("{}: both changed it", change.path));
            }
        }
        match conflicts.len() as u64 {
            0 => Ok(Box::new(merged)),
            count => Err(ApplyError::Conflicts { first: conflicts.into_iter().take(10).collect(), count }),
        }
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
        let made = commit_id(&parent, text);
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
        if *landing.route == Route::Commit && landing.head != Some(&state.source.commit) {
            return Err(moved());
        }
        if let (Route::Branch { name, .. }, Some(made)) = (landing.route, landing.made) {
            if state.branches.get(name).is_some_and(|named| named != made) {
                return Err(moved());
            }
            state.branches.remove(name);
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
pub(super) fn applied(mut files: Files, changes: &[Change], objects: &dyn ObjectStore) -> Result<Files, ApplyError> {
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

pub(super) fn failure(operation: &str, source: Cause) -> ApplyError {
    ApplyError::Io { operation: operation.to_owned(), source }
}
