//! The Workspace's own commits and stashes: what is new in its `.git`, copied as it is and never parsed.
//!
//! The archive has `HEAD`, `packed-refs`, `refs/`, `logs/` and all of `objects/` but the packs that checkout put there,
//! with paths from `.git`, in ascending order. There is one only if an object is new: a ref alone holds no work.

use super::descent::{Descent, Step};
use super::tar;
use super::walk::unreadable;
use crate::beneath::{self, Kind, Seen};
use isobox_domain::change::NotCapturedReason;
use std::io::{self, Write};
use std::os::fd::OwnedFd;

/// Largest archive, in bytes.
const MAX_ARCHIVE_BYTES: u64 = 256 * 1024 * 1024;

/// Writes what is new in the `.git` of the Workspace open as `root`, whose checkout has the packs named `packs`.
///
/// Gives the reason if there is something new that is left out. An error is one of writing.
pub(super) fn archive(root: &OwnedFd, packs: &[String], out: &mut dyn Write) -> io::Result<Option<NotCapturedReason>> {
    if !beneath::look(root, b".git").is_ok_and(|seen| seen.kind() == Kind::Directory) {
        return Ok(None);
    }
    let mut length = tar::END_BYTES;
    let mut has_new_object = false;
    let surveyed = each_file(root, packs, &mut |file| {
        length = length.saturating_add(tar::entry_bytes(file.path, file.seen.stat.size));
        has_new_object |= file.path.starts_with(b"objects/") && !file.path.starts_with(b"objects/info/");
        Ok(())
    })?;
    if let Some(reason) = surveyed {
        return Ok(Some(reason));
    }
    if !has_new_object {
        return Ok(None);
    }
    if length > MAX_ARCHIVE_BYTES {
        return Ok(Some(NotCapturedReason::TooLarge { length }));
    }
    let reason = each_file(root, packs, &mut |file| match beneath::open_file(file.directory, file.name) {
        Ok(mut content) => tar::write_entry(out, file.path, file.seen.stat.size, &mut content),
        Err(_) => tar::write_entry(out, file.path, 0, &mut io::empty()),
    })?;
    tar::write_end(out)?;
    Ok(reason)
}

struct OwnFile<'a> {
    /// From `.git`.
    path: &'a [u8],
    directory: &'a OwnedFd,
    name: &'a [u8],
    seen: Seen,
}

type Visit<'a> = &'a mut dyn FnMut(OwnFile<'_>) -> io::Result<()>;

/// Visits the regular files that belong in the archive. Gives the reason if a directory cannot be read.
fn each_file(root: &OwnedFd, packs: &[String], visit: Visit<'_>) -> io::Result<Option<NotCapturedReason>> {
    let opened = beneath::open_directory(root, b".git").and_then(|git| Descent::new(git, ()));
    let mut descent = match opened {
        Ok(descent) => descent,
        Err(errno) => return Ok(Some(unreadable(errno))),
    };
    while let Some(step) = descent.next() {
        let (path, name_start) = match step {
            Step::Name { path, name_start } => (path, name_start),
            Step::Lost { errno, .. } => return Ok(Some(unreadable(errno))),
        };
        let name = &path[name_start..];
        let Ok(directory) = descent.handle() else { continue };
        let Ok(seen) = beneath::look(&*directory, name) else { continue };
        match seen.kind() {
            Kind::Directory if is_wanted_directory(&path) => match descent.open(name) {
                Ok(opened) => descent.approve(name, opened, ()),
                Err(errno) => return Ok(Some(unreadable(errno))),
            },
            Kind::File if is_wanted_file(&path, packs) => {
                visit(OwnFile { path: &path, directory: &directory, name, seen })?;
            }
            _ => {}
        }
    }
    Ok(None)
}

fn is_wanted_directory(path: &[u8]) -> bool {
    matches!(top(path), b"objects" | b"refs" | b"logs")
}

fn is_wanted_file(path: &[u8], packs: &[String]) -> bool {
    let of_checkout = |rest: &[u8]| {
        packs.iter().any(|pack| rest.strip_prefix(pack.as_bytes()).is_some_and(|rest| rest.starts_with(b".")))
    };
    match path.strip_prefix(b"objects/pack/") {
        Some(name) => !of_checkout(name),
        None => path == b"HEAD" || path == b"packed-refs" || (path.contains(&b'/') && is_wanted_directory(path)),
    }
}

fn top(path: &[u8]) -> &[u8] {
    path.split(|&b| b == b'/').next().unwrap_or(path)
}
