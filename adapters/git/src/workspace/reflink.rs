//! Workspaces that are copies of a pristine one whose files share its blocks of the disk until they are written to.
//!
//! Every file is an inode of its own. What the pristine copy has at a path is looked at when it was copied: content that
//! somebody wrote to, before or meanwhile, makes no Workspace.

use super::base::Base;
use super::checkout::{Directories, Made, make_directory, side_by_side};
use super::creation::{self, Written};
use super::failure;
use super::git_dir::{self, Contents};
use super::layout::Destination;
use super::pinned::{Pinned, Tracked};
use super::shown::{self, At, Shown, copy_file, copy_link};
use crate::beneath::{self, Kind};
use crate::layers;
use crate::pristine::Held;
use crate::stat_cache::{FileStat, StatCache};
use crate::{GixRepository, oid};
use isobox_domain::change::Mode;
use isobox_domain::repo_path::RepoPath;
use isobox_ports::{Headway, WorkspaceError};
use nix::fcntl::OFlag;
use std::fs::File;
use std::io;
use std::os::fd::{BorrowedFd, OwnedFd};
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};

/// Whether files that lie below `from`, which need not be there yet, and files in the directory `to` can share blocks.
pub(super) fn is_possible(from: &Path, to: &Path) -> bool {
    // Files without a name: nothing is left of them.
    let unnamed = |directory: &Path| {
        let mut options = File::options();
        options.read(true).write(true).mode(0o600).custom_flags(OFlag::O_TMPFILE.bits()).open(directory)
    };
    let from = from.ancestors().find(|directory| directory.is_dir());
    let files = from.map(|from| (unnamed(from), unnamed(to)));
    matches!(files, Some((Ok(source), Ok(made))) if rustix::fs::ioctl_ficlone(&made, &source).is_ok())
}

/// Why there is no Workspace.
#[derive(Debug)]
pub(super) enum Uncopied {
    /// The pristine copy has something else at a path than when it was made.
    Changed,
    /// Something failed.
    Failed(WorkspaceError),
}

impl From<io::Error> for Uncopied {
    fn from(error: io::Error) -> Self {
        Self::Failed(failure("copy a pristine copy into the workspace", error))
    }
}

impl From<WorkspaceError> for Uncopied {
    fn from(error: WorkspaceError) -> Self {
        Self::Failed(error)
    }
}

/// Makes a Workspace of what is in the copy `held`, of a commit of `repository`, at `destination`, whose root is there and
/// empty. Its files are counted in `headway`.
pub(super) fn copy(
    held: &Held,
    repository: &GixRepository,
    destination: &Destination,
    headway: &Headway,
) -> Result<(), Uncopied> {
    let mut base = Base::load(&held.base())?;
    let (tracked, stats) = tracked(held, &base)?;
    headway.begin(tracked.len() as u64);
    let expected: Vec<_> = tracked.iter().zip(stats).collect();
    let lowers = held.lowers();
    let copying = Copying { lowers: &lowers, root: &destination.root, headway };
    let made = side_by_side(&expected, (), |part, ()| copying.copy_all(part))?;
    drop(expected);
    match &lowers[..] {
        [whole] => copy_git(whole, &destination.root)?,
        _ => base.packs = vec![make_git(held, repository, &destination.root)?],
    }
    let hash = oid::kind(&held.seal.commit);
    creation::write_around(destination, &Written { tracked: &tracked, made: &made, base: &base, hash })?;
    Ok(())
}

/// The paths of the copy, and what the file system said of each.
fn tracked(held: &Held, base: &Base) -> io::Result<(Vec<Tracked>, Vec<FileStat>)> {
    let (mut tracked, mut stats) = (Vec::new(), Vec::new());
    let mut entries = StatCache::open(&held.stat_cache())?.first()?;
    while let Some(entry) = entries.take()? {
        // Of submodules in each other the inner one comes later.
        let has_it = |prefix: &RepoPath| entry.path.is_below(prefix);
        let layer = base.layers.iter().rposition(|layer| layer.prefix.as_ref().is_none_or(has_it)).unwrap_or(0);
        stats.push(entry.stat);
        tracked.push(Tracked { path: entry.path, mode: entry.mode, oid: entry.oid, layer });
    }
    Ok((tracked, stats))
}

struct Copying<'a> {
    lowers: &'a [PathBuf],
    root: &'a Path,
    headway: &'a Headway,
}

impl Copying<'_> {
    fn copy_all(&self, part: &[(&Tracked, FileStat)]) -> Result<Vec<Made>, Uncopied> {
        let mut directories = Directories::below(self.root)?;
        part.iter()
            .map(|(tracked, expected)| {
                self.headway.advance();
                let around = directories.around(&tracked.path)?;
                match tracked.mode {
                    Mode::Submodule => drop(make_directory(around, tracked.path.file_name())?),
                    _ => self.copy_path(&tracked.path, *expected, around)?,
                }
                Ok(Made::at(around, tracked.path.file_name())?)
            })
            .collect()
    }

    fn copy_path(&self, path: &RepoPath, expected: FileStat, around: BorrowedFd<'_>) -> Result<(), Uncopied> {
        let Some((layer, seen)) = layers::find(self.lowers, path.as_bytes())? else { return Err(Uncopied::Changed) };
        let (from, to) = (At::of(&layer, path.as_bytes()), At::of(&around, path.file_name()));
        match seen.kind() {
            Kind::File => copy_file(from, to)?,
            Kind::Symlink => copy_link(from, to)?,
            _ => return Err(Uncopied::Changed),
        }
        // Looked at afterwards: so it is what was read.
        let found = beneath::look_beneath(&layer, path.as_bytes()).map_err(io::Error::from)?;
        if found.stat == expected { Ok(()) } else { Err(Uncopied::Changed) }
    }
}

/// All of `.git` but the index, which has other numbers here.
fn copy_git(whole: &Path, root: &Path) -> io::Result<()> {
    let (layers, target) = (shown::open(&[whole.to_owned()])?, OwnedFd::from(File::open(root)?));
    Shown { lowers: &layers, above: None }.copy_directory(b".git", &target)?;
    std::fs::remove_file(root.join(".git/index"))
}

/// A `.git` that has no object of the commits that other layers are of: the name of its pack.
fn make_git(held: &Held, repository: &GixRepository, root: &Path) -> Result<String, WorkspaceError> {
    let pinned = Pinned::read(repository, &held.seal.commit)?;
    let contents = Contents::of(&pinned, held.seal.branch.as_deref());
    git_dir::create(&root.join(".git"), &pinned.repositories[0], contents)
}
