//! The Workspace's own commits and stashes: what is new in its `.git`, copied as it is and never parsed.
//!
//! The archive has `HEAD`, `packed-refs`, `refs/`, `logs/` and all of `objects/` but the packs that checkout put there,
//! with paths from `.git`, in ascending order. There is one only if an object is new: a ref alone holds no work.

use super::descent::{Descent, Step};
use super::found::unreadable;
use super::lower_git::LowerGit;
use super::marks::Marks;
use super::tar;
use super::tree::Tree;
use crate::beneath::{self, Kind, Seen};
use isobox_domain::change::NotCapturedReason;
use nix::errno::Errno;
use std::io::{self, Write};
use std::os::fd::OwnedFd;

/// Largest archive, in bytes.
const MAX_ARCHIVE_BYTES: u64 = 256 * 1024 * 1024;

/// Writes what is new in the `.git` of the Workspace `tree`, whose checkout has the packs named `packs`.
///
/// Gives the reason if there is something new that is left out. An error is one of writing.
pub(super) fn archive(tree: &Tree, packs: &[String], out: &mut dyn Write) -> io::Result<Option<NotCapturedReason>> {
    if !beneath::look(&tree.root, b".git").is_ok_and(|seen| seen.kind() == Kind::Directory) {
        return Ok(None);
    }
    match open(tree) {
        Ok((git, lower)) => write(&OwnGit { git, marks: tree.marks, packs }, lower, out),
        Err(errno) => Ok(Some(unreadable(errno))),
    }
}

/// Opens what is written in `.git`, and what lies below it.
fn open(tree: &Tree) -> Result<(OwnedFd, LowerGit), Errno> {
    let git = beneath::open_directory(&tree.root, b".git")?;
    let lower = match tree.marks {
        None => LowerGit::default(),
        Some(marks) => {
            let mut lower = LowerGit::read(&tree.lowers, marks)?;
            if marks.is_opaque(&git)? {
                lower.hide(b"");
            }
            lower
        }
    };
    Ok((git, lower))
}

fn write(own: &OwnGit<'_>, mut lower: LowerGit, out: &mut dyn Write) -> io::Result<Option<NotCapturedReason>> {
    let mut length = tar::END_BYTES;
    let mut has_new_object = false;
    let surveyed = each_name(&own.git, own.marks, &mut |met| {
        lower.meet(&met);
        if own.is_wanted(&met, &lower) {
            length = length.saturating_add(tar::entry_bytes(met.path, met.seen.stat.size));
            has_new_object |= met.path.starts_with(b"objects/") && !met.path.starts_with(b"objects/info/");
        }
        Ok(())
    })?;
    if let Some(errno) = surveyed {
        return Ok(Some(unreadable(errno)));
    }
    if !has_new_object {
        return Ok(None);
    }
    let length = lower.files().fold(length, |sum, file| sum.saturating_add(tar::entry_bytes(file.path, file.length)));
    if length > MAX_ARCHIVE_BYTES {
        return Ok(Some(NotCapturedReason::TooLarge { length }));
    }
    let mut unchanged = lower.files().peekable();
    let lost = each_name(&own.git, own.marks, &mut |met| {
        while let Some(file) = unchanged.next_if(|file| file.path < met.path) {
            write_file(out, file.path, file.length, file.git, file.path)?;
        }
        if own.is_wanted(&met, &lower) {
            write_file(out, met.path, met.seen.stat.size, met.directory, met.name)?;
        }
        Ok(())
    })?;
    for file in unchanged {
        write_file(out, file.path, file.length, file.git, file.path)?;
    }
    tar::write_end(out)?;
    Ok(lost.map(unreadable))
}

fn write_file(out: &mut dyn Write, path: &[u8], length: u64, at: &OwnedFd, name: &[u8]) -> io::Result<()> {
    match beneath::open_file(at, name) {
        Ok(mut content) => tar::write_entry(out, path, length, &mut content),
        Err(_) => tar::write_entry(out, path, 0, &mut io::empty()),
    }
}

/// What is written in a `.git`.
struct OwnGit<'a> {
    git: OwnedFd,
    marks: Option<Marks>,
    packs: &'a [String],
}

impl OwnGit<'_> {
    /// Whether a name belongs in the archive.
    fn is_wanted(&self, met: &Met<'_>, lower: &LowerGit) -> bool {
        let of_checkout = |name: &[u8]| {
            let is_of = |pack: &String| name.strip_prefix(pack.as_bytes()).is_some_and(|rest| rest.starts_with(b"."));
            self.packs.iter().any(is_of)
        };
        let is_known = |name: &[u8]| of_checkout(name) || lower.has_pack(name);
        let is_old = met.path.strip_prefix(b"objects/pack/").is_some_and(is_known);
        met.seen.kind() == Kind::File && is_wanted_file(met.path) && !is_old
    }
}

/// A name in a `.git`.
pub(super) struct Met<'a> {
    /// From `.git`.
    pub(super) path: &'a [u8],
    pub(super) directory: &'a OwnedFd,
    pub(super) name: &'a [u8],
    pub(super) seen: Seen,
    /// Whether nothing that lies below it in lower directories is to be seen.
    pub(super) hides_below: bool,
}

/// Visits the names in the directory `git` that are not in one that has nothing for the archive, in ascending order of
/// path bytes. Gives why a directory cannot be read.
pub(super) fn each_name(
    git: &OwnedFd,
    marks: Option<Marks>,
    visit: &mut dyn FnMut(Met<'_>) -> io::Result<()>,
) -> io::Result<Option<Errno>> {
    let mut descent = match Descent::new(git.try_clone()?, ()) {
        Ok(descent) => descent,
        Err(errno) => return Ok(Some(errno)),
    };
    while let Some(step) = descent.next() {
        let (path, name_start) = match step {
            Step::Name { path, name_start } => (path, name_start),
            Step::Lost { errno, .. } => return Ok(Some(errno)),
        };
        let name = &path[name_start..];
        let Ok(directory) = descent.handle() else { continue };
        let Ok(seen) = beneath::look(&*directory, name) else { continue };
        let mut hides_below = seen.kind() != Kind::Directory;
        if !hides_below && is_wanted_directory(&path) {
            let opened = descent.open(name).and_then(|opened| {
                hides_below = marks.map_or(Ok(false), |marks| marks.is_opaque(opened.handle()))?;
                Ok(opened)
            });
            match opened {
                Ok(opened) => descent.approve(name, opened, ()),
                Err(errno) => return Ok(Some(errno)),
            }
        }
        visit(Met { path: &path, directory: &directory, name, seen, hides_below })?;
    }
    Ok(None)
}

fn is_wanted_directory(path: &[u8]) -> bool {
    matches!(top(path), b"objects" | b"refs" | b"logs")
}

/// Whether a file of this path belongs in an archive, packs aside.
pub(super) fn is_wanted_file(path: &[u8]) -> bool {
    path == b"HEAD" || path == b"packed-refs" || (path.contains(&b'/') && is_wanted_directory(path))
}

fn top(path: &[u8]) -> &[u8] {
    path.split(|&b| b == b'/').next().unwrap_or(path)
}
