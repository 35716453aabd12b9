//! What hides a part of a lower directory of an overlay: a directory above it, with whiteouts.

use isobox_domain::escape::Escaped;
use isobox_domain::policy::{Fit, Glob, Standing};
use nix::sys::stat::{Mode, SFlag, makedev, mknod};
use std::fs;
use std::io;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};
use std::slice;

/// Most entries of a cache that are looked at: a Task waits for it.
const MOST_LOOKED_AT: usize = 200_000;

/// Whether a pattern of absolute host paths names `seed`, or may name something below it.
pub(super) fn concerns(pattern: &Glob, seed: &Path) -> bool {
    let Fit { matches, leads_on } = Standing::of(slice::from_ref(pattern), seed.as_os_str().as_bytes()).fit();
    matches || leads_on
}

/// Whether patterns of absolute host paths name all of `seed`.
pub(super) fn are_of_all(patterns: &[Glob], seed: &Path) -> bool {
    Standing::of(patterns, seed.as_os_str().as_bytes()).fit().matches
}

/// Makes `place` anew, with a whiteout at each path that `hidden`, patterns of absolute host paths, name below `seed`.
pub(super) fn make(place: &Path, seed: Option<&Path>, hidden: &[Glob]) -> io::Result<()> {
    isobox_removal::remove(place)?;
    fs::create_dir_all(place)?;
    let Some(seed) = seed else { return Ok(()) };
    for path in find(seed, hidden)? {
        let whiteout = place.join(path.strip_prefix(seed).map_err(io::Error::other)?);
        whiteout.parent().map_or(Ok(()), fs::create_dir_all)?;
        // Since Linux 5.8, everybody may make this one device: mknod(2).
        mknod(&whiteout, SFlag::S_IFCHR, Mode::empty(), makedev(0, 0))?;
    }
    Ok(())
}

/// What patterns name below `seed`. A link is hidden itself, and not what it leads to.
fn find(seed: &Path, patterns: &[Glob]) -> io::Result<Vec<PathBuf>> {
    let mut open = vec![(seed.to_owned(), Standing::of(patterns, seed.as_os_str().as_bytes()))];
    let (mut found, mut left) = (Vec::new(), MOST_LOOKED_AT);
    while let Some((directory, standing)) = open.pop() {
        if !standing.fit().leads_on {
            continue;
        }
        let entries = fs::read_dir(&directory).map_err(|error| {
            io::Error::new(error.kind(), format!("look into {} for what is hidden: {error}", Escaped::path(&directory)))
        })?;
        for entry in entries {
            let entry = entry?;
            let given_up = || io::Error::other(standing.given_up(Escaped::path(seed), "/"));
            left = left.checked_sub(1).ok_or_else(given_up)?;
            let standing = standing.of_entry(entry.file_name().as_bytes());
            if standing.fit().matches {
                found.push(entry.path());
            } else if entry.file_type()?.is_dir() {
                open.push((entry.path(), standing));
            }
        }
    }
    Ok(found)
}
