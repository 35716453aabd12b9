//! Writing a snapshot over the files of a commit.

use super::kept::{After, Line, content_path};
use crate::beneath;
use crate::fields::open_regular;
use crate::stat_cache::{FileStat, StatCache};
use isobox_domain::change::Mode;
use isobox_domain::repo_path::{MAX_PATH_BYTES, RepoPath};
use nix::errno::Errno;
use nix::fcntl::{AtFlags, OFlag, open, openat};
use nix::sys::stat::{Mode as Permissions, fchmod, fstat, fstatat, mkdirat};
use nix::unistd::{UnlinkatFlags, symlinkat, unlinkat};
use std::fs::File;
use std::io::{self, Read};
use std::os::fd::OwnedFd;
use std::path::Path;

/// Writes `lines` below `root`, which has the files in `stat_cache`; what was made, in the order of the lines.
pub(super) fn put(
    root: &Path,
    stat_cache: &Path,
    snapshot: &Path,
    lines: &[Line],
) -> io::Result<Vec<Option<FileStat>>> {
    let flags = OFlag::O_RDONLY | OFlag::O_DIRECTORY | OFlag::O_NOFOLLOW | OFlag::O_CLOEXEC;
    let root = open(root, flags, Permissions::empty())?;
    // First everything goes whose place is needed: a file may become a directory, and the other way round.
    let mut committed = StatCache::open(stat_cache)?.first()?;
    while let Some(entry) = committed.take()? {
        if lines.binary_search_by(|line| line.path.cmp(&entry.path)).is_ok() {
            remove(&root, &entry.path)?;
        }
    }
    let make = |line: &Line| line.after.as_ref().map(|after| make(&root, snapshot, &line.path, after)).transpose();
    lines.iter().map(make).collect()
}

/// Removes a file or link, and the directories that are empty without it.
fn remove(root: &OwnedFd, path: &RepoPath) -> io::Result<()> {
    let (mut path, mut is_directory) = (path.as_bytes(), false);
    loop {
        let (parent, name) = match path.iter().rposition(|&byte| byte == b'/') {
            Some(slash) => (&path[..slash], &path[slash + 1..]),
            None => (&b"."[..], path),
        };
        let directory = beneath::open_directory(root, parent)?;
        let flags = if is_directory { UnlinkatFlags::RemoveDir } else { UnlinkatFlags::NoRemoveDir };
        match unlinkat(&directory, name, flags) {
            Err(Errno::ENOTEMPTY | Errno::EEXIST) if is_directory => return Ok(()),
            removed => removed?,
        }
        if parent == b"." {
            return Ok(());
        }
        (path, is_directory) = (parent, true);
    }
}

fn make(root: &OwnedFd, snapshot: &Path, path: &RepoPath, after: &After) -> io::Result<FileStat> {
    let directory = around(root, path)?;
    let mut content = open_regular(&content_path(snapshot, path))?;
    let name = path.file_name();
    if after.mode == Mode::Symlink {
        let mut target = Vec::new();
        content.take(MAX_PATH_BYTES as u64 + 1).read_to_end(&mut target)?;
        symlinkat(target.as_slice(), &directory, name)?;
        return Ok(FileStat::of_stat(&fstatat(&directory, name, AtFlags::AT_SYMLINK_NOFOLLOW)?));
    }
    let permissions = Permissions::from_bits_truncate(if after.mode == Mode::Executable { 0o755 } else { 0o644 });
    let flags = OFlag::O_WRONLY | OFlag::O_CREAT | OFlag::O_EXCL | OFlag::O_NOFOLLOW | OFlag::O_CLOEXEC;
    let mut file = File::from(openat(&directory, name, flags, permissions)?);
    io::copy(&mut content, &mut file)?;
    fchmod(&file, permissions)?;
    Ok(FileStat::of_stat(&fstat(&file)?))
}

/// The directory that `path` lies in, made if it is not there.
fn around(root: &OwnedFd, path: &RepoPath) -> io::Result<OwnedFd> {
    let mut names: Vec<&[u8]> = path.components().collect();
    names.pop();
    let mut directory = beneath::open_directory(root, b".")?;
    for name in names {
        let permissions = Permissions::from_bits_truncate(0o755);
        let is_new = match mkdirat(&directory, name, permissions) {
            Err(Errno::EEXIST) => false,
            made => made.map(|()| true)?,
        };
        directory = beneath::open_directory(&directory, name)?;
        if is_new {
            fchmod(&directory, permissions)?;
        }
    }
    Ok(directory)
}
