//! Making a pristine copy from nothing but the source.

use super::seal::{Seal, Sealed};
use super::wanted::Wanted;
use crate::GixRepository;
use crate::stat_cache::FileStat;
use crate::workspace::checkout::Made;
use crate::workspace::creation;
use crate::workspace::failure;
use crate::workspace::layout::Destination;
use crate::workspace::materialiser::Materialiser;
use crate::workspace::pinned::{Pinned, Tracked};
use isobox_domain::change::Mode;
use isobox_domain::repo_path::RepoPath;
use isobox_ports::{Headway, WorkspaceError};
use std::fs::DirBuilder;
use std::os::unix::fs::{DirBuilderExt, MetadataExt, PermissionsExt};
use std::path::Path;
use std::sync::Arc;

/// Samples that a seal holds.
const SAMPLES: usize = 64;
/// Bytes of a block of most file systems.
const BLOCK_BYTES: u64 = 4096;

/// Makes the whole copy that is `wanted` of `repository` in the directory `making`, which is not there yet, and seals
/// it with `id`. Every object is compared with its name, and every file counted in `headway`.
pub(super) fn whole(
    making: &Path,
    id: &str,
    wanted: &Wanted,
    repository: &GixRepository,
    headway: &Arc<Headway>,
) -> Result<(), WorkspaceError> {
    let destination = destination(making)?;
    let mut pinned = Pinned::read(repository, &wanted.commit)?;
    if is_of_one_worktree(repository, &pinned) {
        let why = "a submodule without a name in .gitmodules lies in this working tree alone";
        return Err(failure("make a pristine copy for all working trees", std::io::Error::other(why)));
    }
    // All working trees of the repository share the copy, and any of them may go.
    pinned.base.layers[0].host_path = repository.common_dir().to_owned();
    headway.begin(pinned.tracked.len() as u64);
    let materialiser = Materialiser::new(&pinned.base, pinned.repositories.clone())?.verifying().telling(headway);
    let made = creation::write(&destination, &mut pinned, &materialiser, wanted.branch.as_deref())?;
    let sealed = Sealed {
        bytes: bytes_on_disk(making, &made),
        paths: pinned.tracked.len() as u64,
        below: vec![],
        filters: materialiser.filters_not_run(),
        missing: std::mem::take(&mut pinned.missing_submodules),
        samples: samples(&pinned.tracked, &made),
    };
    let seal = Seal::of(id, repository.common_dir(), wanted, sealed);
    seal.close(making).map_err(|e| failure("seal the pristine copy", e))
}

/// Whether the copy would need what goes with the working tree, while others could find it: see
/// [`PristineCache::wanted`](super::PristineCache::wanted).
fn is_of_one_worktree(repository: &GixRepository, pinned: &Pinned) -> bool {
    let is_linked = repository.gix().worktree().is_some_and(|worktree| !worktree.is_main());
    let has_submodules = pinned.tracked.iter().any(|tracked| tracked.mode == Mode::Submodule);
    is_linked && has_submodules && !pinned.tracked.iter().any(|tracked| tracked.path.as_bytes() == b".gitmodules")
}

/// Makes the directory of a copy, with an empty root for its files.
pub(super) fn destination(making: &Path) -> Result<Destination, WorkspaceError> {
    let root = making.join("tree");
    let made = DirBuilder::new().mode(0o700).create(making).and_then(|()| DirBuilder::new().create(&root));
    // Whatever the umask, as all directories of the tree.
    let made = made.and_then(|()| std::fs::set_permissions(&root, PermissionsExt::from_mode(0o755)));
    made.map_err(|e| failure("make the directory of a pristine copy", e))?;
    Ok(Destination { root, stat_cache: making.join("stat-cache"), base: making.join("base") })
}

/// What the files of a copy take, and what lies around them as far as it grows with them.
pub(super) fn bytes_on_disk(making: &Path, made: &[Made]) -> u64 {
    let files = made.iter().map(|made| made.stat.size.next_multiple_of(BLOCK_BYTES)).sum::<u64>();
    let packs = std::fs::read_dir(making.join("tree/.git/objects/pack")).into_iter().flatten().flatten();
    let others = ["stat-cache", "base", "tree/.git/index"].map(|name| making.join(name));
    // Nothing but a number in a table depends on it: what cannot be looked at counts nothing.
    let sizes = packs.map(|entry| entry.path()).chain(others).filter_map(|path| path.symlink_metadata().ok());
    files + sizes.map(|metadata| metadata.size().next_multiple_of(BLOCK_BYTES)).sum::<u64>()
}

/// Some paths from all over the tree. Of a directory, as a submodule is, the system says other things with time.
pub(super) fn samples(tracked: &[Tracked], made: &[Made]) -> Vec<(RepoPath, FileStat)> {
    let files: Vec<_> = tracked.iter().zip(made).filter(|(tracked, _)| tracked.mode != Mode::Submodule).collect();
    let step = files.len().div_ceil(SAMPLES).max(1);
    files.iter().step_by(step).map(|(tracked, made)| (tracked.path.clone(), made.stat)).collect()
}
