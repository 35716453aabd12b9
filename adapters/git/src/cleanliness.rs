//! Whether a working tree is as its HEAD says.

use crate::repository::failure;
use crate::{discovery, sparse_index};
use gix::bstr::{BString, ByteSlice};
use gix::status::index_worktree::Item as WorktreeItem;
use gix::status::plumbing::index_as_worktree::EntryStatus;
use gix::status::tree_index::TrackRenames;
use gix::status::{Item, UntrackedFiles};
use gix::worktree::IndexPersistedOrInMemory;
use isobox_domain::source::{Cleanliness, DirtyEntry, DirtyState};
use isobox_ports::RepositoryError;
use std::collections::BTreeMap;
use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt;

/// Compares HEAD with the index, and the index with the working tree, as `git status` does; writes nothing.
///
/// An untracked directory counts as one entry. A submodule is dirty if it stands at another commit than the index says,
/// or is dirty itself; one that is not checked out is clean.
pub(crate) fn cleanliness(repository: &gix::Repository) -> Result<Cleanliness, RepositoryError> {
    let dirt = look(repository).map_err(|e| failure("compare the working tree with HEAD", e))?;
    if dirt.count == 0 {
        return Ok(Cleanliness::Clean);
    }
    let first = dirt.first.into_iter().map(|((path, _), state)| DirtyEntry { path, state }).collect();
    Ok(Cleanliness::Dirty { first, count: dirt.count })
}

/// What was found so far; memory does not grow with its number.
#[derive(Default)]
struct Dirt {
    first: BTreeMap<(Vec<u8>, u8), DirtyState>,
    count: u64,
}

impl Dirt {
    fn add(&mut self, path: &[u8], state: DirtyState) {
        self.count += 1;
        self.first.insert((path.to_vec(), state as u8), state);
        if self.first.len() > Cleanliness::SHOWN {
            self.first.pop_last();
        }
    }
}

fn look(repository: &gix::Repository) -> gix::Result<Dirt> {
    let mut dirt = Dirt::default();
    let mut status = repository
        .status(gix::progress::Discard)?
        .untracked_files(UntrackedFiles::Collapsed)
        // gix opens submodules with their own configuration, filter drivers included: they are looked at below.
        .index_worktree_submodules(None)
        .index_worktree_rewrites(None)
        .tree_index_track_renames(TrackRenames::Disabled);
    let index = repository.index_or_empty()?;
    if index.is_sparse() {
        status = status.index(IndexPersistedOrInMemory::InMemory(sparse_index::expand(repository, &index)?));
    }
    for item in status.into_iter(Vec::<BString>::new())? {
        let item = item?;
        if let Some(state) = state(&item) {
            dirt.add(item.location(), state);
        }
    }
    look_at_submodules(repository, &mut dirt)?;
    Ok(dirt)
}

/// `None` for what does not make a difference.
fn state(item: &Item) -> Option<DirtyState> {
    match item {
        Item::TreeIndex(_) => Some(DirtyState::Staged),
        Item::IndexWorktree(WorktreeItem::Modification { status, .. }) => match status {
            EntryStatus::Conflict { .. } => Some(DirtyState::Unmerged),
            EntryStatus::Change(_) | EntryStatus::IntentToAdd => Some(DirtyState::Unstaged),
            EntryStatus::NeedsUpdate(_) => None,
        },
        Item::IndexWorktree(WorktreeItem::DirectoryContents { entry, .. }) => {
            (entry.status == gix::dir::entry::Status::Untracked).then_some(DirtyState::Untracked)
        }
        Item::IndexWorktree(WorktreeItem::Rewrite { .. }) => Some(DirtyState::Unstaged),
    }
}

fn look_at_submodules(repository: &gix::Repository, dirt: &mut Dirt) -> gix::Result<()> {
    let Some(root) = repository.workdir() else { return Ok(()) };
    let index = repository.index_or_empty()?;
    for entry in index.entries().iter().filter(|entry| entry.mode.is_submodule()) {
        let path = entry.path(&index);
        let dot_git = root.join(OsStr::from_bytes(path)).join(".git");
        if dot_git.symlink_metadata().is_ok() && !is_submodule_clean(&dot_git, entry.id) {
            dirt.add(path.as_bytes(), DirtyState::Unstaged);
        }
    }
    Ok(())
}

/// What cannot be looked at is not known to be clean.
fn is_submodule_clean(dot_git: &std::path::Path, commit: gix::ObjectId) -> bool {
    let Ok(submodule) = discovery::open_owned(dot_git) else { return false };
    let is_at_commit = submodule.head_id().is_ok_and(|head| head == commit);
    is_at_commit && look(&submodule).is_ok_and(|dirt| dirt.count == 0)
}
