//! Directories of attempts that are over, kept for those that begin. Where a directory or a file is made or removed, a file
//! system may wait for the disk, as ext4 does that discards what it frees, or search for long: without a journal, it looks at
//! every inode that was removed in the last minutes.

use crate::attempts::JOURNAL;
use crate::dir::{Access, Dir};
use crate::layout::Layout;
use crate::looks::hold_alone;
use crate::output::PIECES;
use nix::sys::stat::fstat;
use nix::unistd::geteuid;
use rustix::fs::{RenameFlags, renameat_with};
use std::io;
use std::os::unix::fs::MetadataExt;

/// So many are kept: more than that seldom begin or end at once.
const MOST: usize = 8;
/// The files that are kept in them, emptied.
const KEPT: [&str; 4] = [JOURNAL, PIECES[0], PIECES[1], PIECES[2]];
/// Type and mode of a directory that only its owner reaches.
const PRIVATE: u32 = 0o040_700;

/// Makes one of them the directory `name` of `tmp`: with nothing in it but empty files. `None`: there is none that is as
/// good as a fresh one.
pub(crate) fn take(layout: &Layout, tmp: &Dir, name: &str) -> Option<Dir> {
    let cache = layout.root.find_dir("cache").ok()??;
    // What is none stays where it is: in its new place it would be in the way.
    let fit = |n| cache.dir(spare(n).as_str()).ok().filter(|dir| is_spare(dir).unwrap_or(false)).map(|dir| (n, dir));
    let mut all = (0..MOST).filter_map(fit);
    let is_taken = |n| renameat_with(&cache, spare(n), tmp, name, RenameFlags::NOREPLACE).is_ok();
    let (_, dir) = all.find(|(n, _)| is_taken(*n))?;
    if dir.is_named(tmp, name).unwrap_or(false) {
        return Some(dir.moved(tmp, name));
    }
    // Somebody took the one that was looked at, and another was kept in its place.
    tmp.dir(name).ok().filter(|dir| is_spare(dir).unwrap_or(false))
}

/// Keeps the directory `name` of `tmp` without what an attempt left in it; whether it did.
pub(crate) fn keep(layout: &Layout, tmp: &Dir, name: &str) -> io::Result<bool> {
    let (Some(dir), Some(cache)) = (tmp.find_dir(name)?, layout.root.find_dir("cache")?) else { return Ok(false) };
    // First: what somebody finds here after that is not of the attempt.
    if !hold_alone(&dir).unwrap_or(false) || !cut(&dir, JOURNAL).unwrap_or(false) {
        dir.remove_file(JOURNAL)?;
    }
    for file in dir.names()?.iter().filter(|file| *file != JOURNAL) {
        if !PIECES.contains(&file.as_str()) || !empty(&dir, file).unwrap_or(false) {
            dir.remove_file(file)?;
        }
    }
    // Whoever takes it has to be its owner: in another user's store, it is root's.
    if !is_own(&dir)? || fstat(&cache)?.st_uid != geteuid().as_raw() {
        return Ok(false);
    }
    Ok((0..MOST).any(|n| renameat_with(tmp, name, &cache, spare(n), RenameFlags::NOREPLACE).is_ok()))
}

/// Empties a file; whether nobody was reading it, who may go on.
fn empty(dir: &Dir, name: &str) -> io::Result<bool> {
    let file = dir.file(name, Access::Existing)?;
    let is_unread = file.try_lock().is_ok();
    if is_unread {
        file.set_len(0)?;
    }
    Ok(is_unread)
}

/// Empties a file that nobody else has open; whether it is one by which nobody else gets at it.
fn cut(dir: &Dir, name: &str) -> io::Result<bool> {
    let file = dir.file(name, Access::Existing)?;
    let is_reached_otherwise = file.metadata()?.nlink() != 1;
    if !is_reached_otherwise {
        file.set_len(0)?;
    }
    Ok(!is_reached_otherwise)
}

fn is_spare(dir: &Dir) -> io::Result<bool> {
    let is_empty = |file: &&str| dir.file_length(file).is_ok_and(|length| length.unwrap_or(0) == 0);
    Ok(is_own(dir)? && dir.has_only(&KEPT)? && KEPT.iter().all(is_empty))
}

fn is_own(dir: &Dir) -> io::Result<bool> {
    let stat = fstat(dir)?;
    Ok(stat.st_uid == geteuid().as_raw() && stat.st_mode == PRIVATE)
}

fn spare(n: usize) -> String {
    format!("spare-{n}")
}
