//! Finding a pristine copy that another can be made from.

use super::boot;
use super::held::{Found, Held};
use super::wanted::Wanted;
use crate::{GixRepository, oid};
use gix::ObjectId;
use std::collections::BTreeMap;
use std::io;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// Copies that lie on each other. Every one more costs each look-up in a Workspace, and each use of the last.
const MAX_LAYERS: usize = 16;
/// Commits that are looked at.
const STEPS: usize = 1_000;

/// The copy in `around` of the nearest commit that the wanted one comes from, or of that one itself, with another
/// branch or user. Of no other commits: what lies below can be read in a Workspace, and shall hold nothing that is
/// not of the pinned commit's own history.
pub(super) fn nearest(around: &Path, wanted: &Wanted, repository: &GixRepository) -> io::Result<Option<Arc<Held>>> {
    let copies = copies(around)?;
    if copies.is_empty() {
        return Ok(None);
    }
    let repository = repository.gix();
    let walk = repository.rev_walk([oid::to_gix(&wanted.commit)]).all().map_err(io::Error::other)?;
    for step in walk.take(STEPS) {
        // Where history cannot be read on, nothing nearer comes.
        let Ok(step) = step else { return Ok(None) };
        for place in copies.get(&step.id).into_iter().flatten() {
            if let Found::Whole(held) = Held::take(place)?
                && is_of_this_group(&held)
                && boot::is_seen(&held)?
            {
                // Once so many lie on each other, a whole one is due, which the next can lie on.
                return Ok(Some(held).filter(|held| held.all().count() < MAX_LAYERS));
            }
        }
    }
    Ok(None)
}

/// The places of copies, by their commits.
fn copies(around: &Path) -> io::Result<BTreeMap<ObjectId, Vec<PathBuf>>> {
    let mut copies: BTreeMap<_, Vec<_>> = BTreeMap::new();
    for entry in std::fs::read_dir(around)? {
        let entry = entry?;
        let name = entry.file_name();
        let commit = name.to_str().and_then(|name| name.split_once('-')).map(|(commit, _)| commit);
        if let Some(Ok(commit)) = commit.map(|commit| ObjectId::from_hex(commit.as_bytes())) {
            copies.entry(commit).or_default().push(entry.path());
        }
    }
    Ok(copies)
}

/// A copy may be from a time when the user had another group.
fn is_of_this_group(held: &Held) -> bool {
    let group = nix::unistd::getegid().as_raw();
    held.all().all(|held| held.place.metadata().is_ok_and(|found| found.gid() == group))
}
