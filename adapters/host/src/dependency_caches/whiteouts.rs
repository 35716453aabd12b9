//! What hides a part of a lower directory of an overlay: a directory above it, with whiteouts.

use isobox_domain::escape::Escaped;
use isobox_domain::policy::{Fit, Glob};
use nix::sys::stat::{Mode, SFlag, makedev, mknod};
use std::fs;
use std::io;
use std::os::unix::ffi::OsStrExt;
use std::path::{Component, Path, PathBuf};

/// Most entries of a cache that are looked at: a Task waits for it.
const MOST_LOOKED_AT: usize = 200_000;

/// Whether a pattern of absolute host paths names `seed`, or may name something below it.
pub(super) fn concerns(pattern: &Glob, seed: &Path) -> bool {
    let fit = fit(std::slice::from_ref(pattern), seed);
    fit.matches || fit.leads_on
}

/// Whether patterns of absolute host paths name all of `seed`.
pub(super) fn are_of_all(patterns: &[Glob], seed: &Path) -> bool {
    fit(patterns, seed).matches
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
    let (mut found, mut open, mut left) = (Vec::new(), vec![seed.to_owned()], MOST_LOOKED_AT);
    while let Some(directory) = open.pop() {
        if !fit(patterns, &directory).leads_on {
            continue;
        }
        let entries = fs::read_dir(&directory).map_err(|error| {
            io::Error::new(error.kind(), format!("look into {} for what is hidden: {error}", Escaped::path(&directory)))
        })?;
        for entry in entries {
            let entry = entry?;
            left = left.checked_sub(1).ok_or_else(|| {
                let what = format!("{} has more entries than can be searched for what is hidden", Escaped::path(seed));
                io::Error::other(what)
            })?;
            if fit(patterns, &entry.path()).matches {
                found.push(entry.path());
            } else if entry.file_type()?.is_dir() {
                open.push(entry.path());
            }
        }
    }
    Ok(found)
}

fn fit(patterns: &[Glob], path: &Path) -> Fit {
    let names = path.components().filter_map(|component| match component {
        Component::Normal(name) => Some(name.as_bytes()),
        _ => None,
    });
    let names: Vec<&[u8]> = names.collect();
    patterns.iter().map(|glob| glob.fit(&names)).fold(Fit::default(), |all, one| Fit {
        matches: all.matches || one.matches,
        leads_on: all.leads_on || one.leads_on,
    })
}
