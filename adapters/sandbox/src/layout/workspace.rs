//! What of the Workspace stays hidden, and what of it cannot be changed.

use super::hidden::{Kind, hiding, outermost};
use super::layers::{Layers, Target};
use super::{entry, nothing_at};
use crate::view::{Access, Entry, Item, WORKSPACE};
use isobox_domain::escape::Escaped;
use isobox_domain::policy::{Fit, Glob, Standing};
use isobox_domain::repo_path::RepoPath;
use isobox_ports::WorkspaceMount;
use std::collections::HashSet;
use std::ffi::OsStr;
use std::io;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

/// Most entries of a Workspace that are looked at.
const MOST_LOOKED_AT: usize = 1_000_000;
/// Most of a Workspace that is hidden: each takes a mount.
const MOST_HIDDEN: usize = 1000;

/// The places of a Workspace under rules.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Ruled<'a> {
    /// What is laid out, in this order.
    pub(crate) entries: Vec<Entry>,
    /// Directories that are made in the Workspace as places for what is not there, the innermost first. They go away again.
    pub(crate) made: Vec<PathBuf>,
    /// What the patterns name outside of it.
    pub(crate) beyond: Beyond<'a>,
}

/// Where links of a Workspace lead out of it. Paths are absolute ones of the Sandbox; a `..` in them is around whatever stands
/// before it leads to.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Beyond<'a> {
    /// Where hidden links lead.
    pub(crate) hidden: Vec<PathBuf>,
    /// Where links lead in which the patterns may name something, as it stands to them.
    pub(crate) open: Vec<(PathBuf, Standing<'a>)>,
}

/// What `protected` and `hidden` ask of the Workspace, which is whole and was seen by no workload yet.
pub(crate) fn ruled<'a>(mount: &WorkspaceMount, protected: &[RepoPath], hidden: &'a [Glob]) -> io::Result<Ruled<'a>> {
    let layers = Layers::of(mount);
    let mut ruled = Ruled::default();
    for path in protected {
        protect(&layers, mount.host_path(), path, &mut ruled)?;
    }
    if !hidden.is_empty() {
        hide(&layers, hidden, &mut ruled)?;
    }
    Ok(ruled)
}

/// A directory on the way to a mount could be renamed with the mount in it, and another be made in its place: as a mount
/// itself it cannot, see "EBUSY" in rename(2).
fn protect(layers: &Layers, root: &Path, path: &RepoPath, ruled: &mut Ruled<'_>) -> io::Result<()> {
    let host = |path: &Path, access| Item::Host(root.join(path).as_os_str().as_bytes().to_vec(), access);
    let relative = PathBuf::from(OsStr::from_bytes(path.as_bytes()));
    let mut outer: Vec<&Path> = relative.ancestors().skip(1).filter(|outer| !outer.as_os_str().is_empty()).collect();
    outer.reverse();
    let mut missing = None;
    for directory in outer {
        match layers.kind(directory)? {
            Some(kind) if kind.is_dir() => {
                ruled.put(entry(inside(directory), host(directory, Access::ReadWrite)));
            }
            None => {
                missing = Some(directory);
                break;
            }
            Some(_) => return Err(unprotectable(path, directory)),
        }
    }
    // Of what is not there, the outermost is kept from being made: nothing can be made in it either.
    let protected = missing.unwrap_or(&relative);
    match layers.kind(protected)? {
        Some(kind) if kind.is_dir() || kind.is_file() => {
            ruled.put(entry(inside(protected), host(protected, Access::ReadOnly)));
        }
        Some(_) => return Err(unprotectable(path, protected)),
        None => {
            nothing_at(&inside(protected), 0o555).into_iter().for_each(|entry| ruled.put(entry));
            ruled.made.insert(0, protected.to_owned());
        }
    }
    Ok(())
}

impl Ruled<'_> {
    /// What is there once is not laid out again.
    fn put(&mut self, entry: Entry) {
        if !self.entries.contains(&entry) {
            self.entries.push(entry);
        }
    }
}

fn inside(path: &Path) -> PathBuf {
    Path::new(WORKSPACE).join(path)
}

fn unprotectable(path: &RepoPath, what: &Path) -> io::Error {
    io::Error::other(format!(
        "`workspace.protected` cannot protect {path}: {} is a link or a special file in this commit, which a workload could \
         replace",
        Escaped::path(what)
    ))
}

/// Hides what the patterns name.
fn hide<'a>(layers: &Layers, globs: &'a [Glob], ruled: &mut Ruled<'a>) -> io::Result<()> {
    let (mut hidden, mut left, mut count, mut seen) = (Vec::new(), MOST_LOOKED_AT, 0_usize, HashSet::new());
    let mut open = vec![(PathBuf::new(), Standing::of_root(globs))];
    while let Some((directory, standing)) = open.pop() {
        if !seen.insert((directory.clone(), standing.clone())) {
            continue;
        }
        for (name, kind) in layers.entries(&directory)? {
            let given_up = || io::Error::other(standing.given_up("the workspace", ""));
            left = left.checked_sub(1).ok_or_else(given_up)?;
            let standing = standing.of_entry(name.as_bytes());
            let Fit { matches, leads_on } = standing.fit();
            if !matches && !leads_on {
                continue;
            }
            let path = directory.join(name);
            let target = if kind.is_symlink() { layers.target(&path)? } else { Target::Inside(path, kind.into()) };
            count += usize::from(matches);
            match (matches, target) {
                (true, Target::Inside(path, kind)) => hidden.push((inside(&path), kind)),
                (true, Target::Beyond(path)) => ruled.beyond.hidden.push(path),
                (false, Target::Inside(path, Kind::Directory)) => open.push((path, standing)),
                (false, Target::Beyond(path)) => ruled.beyond.open.push((path, standing)),
                (_, Target::Inside(..) | Target::Nowhere) => {}
            }
        }
    }
    ruled.entries.extend(hiding(outermost(hidden)));
    match count > MOST_HIDDEN {
        true => {
            Err(io::Error::other(format!("`filesystem.hide` names more than {MOST_HIDDEN} files of the workspace")))
        }
        false => Ok(()),
    }
}
