//! What of the Workspace stays hidden, and what of it cannot be changed.

use super::hidden::{Kind, fit, hiding, outermost};
use super::{entry, nothing_at};
use crate::overlay::is_opaque;
use crate::view::{Access, Entry, Item, WORKSPACE};
use isobox_domain::escape::Escaped;
use isobox_domain::policy::{FileRules, Glob, HideRule};
use isobox_domain::repo_path::RepoPath;
use isobox_ports::{Overlay, WorkspaceMount};
use std::collections::BTreeMap;
use std::ffi::{OsStr, OsString};
use std::fs::{self, FileType};
use std::io;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::{FileTypeExt, MetadataExt};
use std::path::{Component, Path, PathBuf};

/// Most entries of a Workspace that are looked at.
const MOST_LOOKED_AT: usize = 1_000_000;
/// Most of a Workspace that is hidden: each takes a mount.
const MOST_HIDDEN: usize = 1000;

/// The places of a Workspace under rules.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Ruled {
    /// What is laid out, in this order.
    pub(crate) entries: Vec<Entry>,
    /// Directories that are made in the Workspace as places for what is not there, the innermost first. They go away again.
    pub(crate) made: Vec<PathBuf>,
    /// Absolute paths of the Sandbox outside of the Workspace, to which hidden links lead.
    pub(crate) hidden_beyond: Vec<PathBuf>,
}

/// What `rules` ask of the Workspace, which is whole and was seen by no workload yet.
pub(crate) fn ruled(mount: &WorkspaceMount, rules: &FileRules) -> io::Result<Ruled> {
    let layers = Layers::of(mount);
    let mut ruled = Ruled::default();
    for path in &rules.protected {
        protect(&layers, mount.host_path(), path, &mut ruled)?;
    }
    let globs: Vec<Glob> = rules.hide.iter().filter_map(HideRule::within).collect();
    if !globs.is_empty() {
        hide(&layers, &globs, &mut ruled)?;
    }
    Ok(ruled)
}

/// A directory on the way to a mount could be renamed with the mount in it, and another be made in its place: as a mount
/// itself it cannot, see "EBUSY" in rename(2).
fn protect(layers: &Layers, root: &Path, path: &RepoPath, ruled: &mut Ruled) -> io::Result<()> {
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

impl Ruled {
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
fn hide(layers: &Layers, globs: &[Glob], ruled: &mut Ruled) -> io::Result<()> {
    let (mut hidden, mut left, mut count) = (Vec::new(), MOST_LOOKED_AT, 0_usize);
    let mut open = vec![PathBuf::new()];
    while let Some(directory) = open.pop() {
        for (name, kind) in layers.entries(&directory)? {
            left = left.checked_sub(1).ok_or_else(|| io::Error::other("the workspace is too large to be searched"))?;
            let path = directory.join(name);
            let fit = fit(globs, &path);
            if fit.matches {
                count += 1;
                match layers.target(&path)? {
                    Target::Inside(path, kind) => hidden.push((inside(&path), kind)),
                    Target::Beyond(path) => ruled.hidden_beyond.push(path),
                    Target::Nowhere => {}
                }
            } else if fit.leads_on && kind.is_dir() {
                open.push(path);
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

/// What a path of the Workspace leads to, links followed as the workload's are.
enum Target {
    /// Something in the Workspace, by its path there.
    Inside(PathBuf, Kind),
    /// Something elsewhere, by an absolute path of the Sandbox.
    Beyond(PathBuf),
    /// Nothing.
    Nowhere,
}

/// The directories that a Workspace is made of, the uppermost first, as the kernel will show them.
struct Layers {
    directories: Vec<PathBuf>,
    overlay: Option<Overlay>,
}

impl Layers {
    fn of(mount: &WorkspaceMount) -> Self {
        match mount {
            WorkspaceMount::Directory { host_path } => Self { directories: vec![host_path.clone()], overlay: None },
            WorkspaceMount::Overlay(overlay) => {
                let upper = overlay.memory.is_none().then(|| overlay.upper());
                let directories = upper.into_iter().chain(overlay.lowers.iter().cloned()).collect();
                Self { directories, overlay: Some(overlay.clone()) }
            }
        }
    }

    /// What is at `path`; `None` where nothing is.
    fn kind(&self, path: &Path) -> io::Result<Option<FileType>> {
        for layer in self.visible(path.parent().unwrap_or(Path::new("")))? {
            match fs::symlink_metadata(layer.join(path)) {
                Ok(found) if is_whiteout(&found) => return Ok(None),
                Ok(found) => return Ok(Some(found.file_type())),
                Err(error) if error.kind() == io::ErrorKind::NotFound => {}
                Err(error) => return Err(error),
            }
        }
        Ok(None)
    }

    /// The layers in which a directory is seen: those of which none above hides it.
    fn visible(&self, directory: &Path) -> io::Result<Vec<&Path>> {
        let mut visible = Vec::new();
        for layer in &self.directories {
            let mut is_last = false;
            let mut is_there = true;
            for outer in directory.ancestors().collect::<Vec<_>>().into_iter().rev() {
                let path = if outer.as_os_str().is_empty() { layer.clone() } else { layer.join(outer) };
                match fs::symlink_metadata(&path) {
                    Ok(found) if found.is_dir() => {
                        is_last |= self.overlay.as_ref().is_some_and(|overlay| is_opaque(&path, overlay.kind));
                    }
                    // A whiteout, or something that stands in the place of the directory.
                    Ok(_) => (is_there, is_last) = (false, true),
                    Err(error) if error.kind() == io::ErrorKind::NotFound => is_there = false,
                    Err(error) => return Err(error),
                }
                if !is_there {
                    break;
                }
            }
            if is_there {
                visible.push(layer.as_path());
            }
            if is_last {
                break;
            }
        }
        Ok(visible)
    }

    /// What is in a directory, by name.
    fn entries(&self, directory: &Path) -> io::Result<BTreeMap<OsString, FileType>> {
        let mut entries: BTreeMap<_, Option<FileType>> = BTreeMap::new();
        for layer in self.visible(directory)? {
            for entry in fs::read_dir(layer.join(directory))? {
                let entry = entry?;
                let found = entry.metadata()?;
                let kind = (!is_whiteout(&found)).then(|| found.file_type());
                entries.entry(entry.file_name()).or_insert(kind);
            }
        }
        Ok(entries.into_iter().filter_map(|(name, kind)| Some((name, kind?))).collect())
    }

    /// What `path` leads to.
    fn target(&self, path: &Path) -> io::Result<Target> {
        /// As in the kernel: see "ELOOP" in path_resolution(7).
        const MOST_LINKS: usize = 40;
        let (mut reached, mut kind, mut links) = (PathBuf::new(), Kind::Directory, 0);
        let mut left: Vec<OsString> = steps(path);
        while let Some(step) = left.pop() {
            if step == ".." {
                if !reached.pop() {
                    return Ok(Target::Beyond(beyond(Path::new("/"), left)));
                }
                kind = Kind::Directory;
                continue;
            }
            let next = reached.join(&step);
            match self.kind(&next)? {
                None => return Ok(Target::Nowhere),
                Some(found) if found.is_symlink() => {
                    links += 1;
                    let target = self.link(&next)?;
                    match (links > MOST_LINKS, target.is_absolute(), target.strip_prefix(WORKSPACE)) {
                        (true, _, _) => return Ok(Target::Nowhere),
                        (_, true, Err(_)) => return Ok(Target::Beyond(beyond(&target, left))),
                        (_, true, Ok(target)) => {
                            reached = PathBuf::new();
                            left.extend(steps(target));
                        }
                        (_, false, _) => left.extend(steps(&target)),
                    }
                }
                Some(found) => {
                    kind = if found.is_dir() { Kind::Directory } else { Kind::File };
                    reached = next;
                }
            }
        }
        Ok(Target::Inside(reached, kind))
    }

    fn link(&self, path: &Path) -> io::Result<PathBuf> {
        for layer in self.visible(path.parent().unwrap_or(Path::new("")))? {
            match fs::read_link(layer.join(path)) {
                Err(error) if error.kind() == io::ErrorKind::NotFound => {}
                target => return target,
            }
        }
        Err(io::ErrorKind::NotFound.into())
    }
}

/// The names and `..` of a path, the first one last.
fn steps(path: &Path) -> Vec<OsString> {
    let steps = path.components().filter_map(|component| match component {
        Component::Normal(name) => Some(name.to_owned()),
        Component::ParentDir => Some(OsString::from("..")),
        Component::Prefix(_) | Component::RootDir | Component::CurDir => None,
    });
    let mut steps: Vec<OsString> = steps.collect();
    steps.reverse();
    steps
}

/// Where the steps that are `left`, the first one last, lead from `path`, an absolute one.
fn beyond(path: &Path, left: Vec<OsString>) -> PathBuf {
    let all = steps(path).into_iter().rev().chain(left.into_iter().rev());
    all.fold(PathBuf::from("/"), |mut path, step| {
        if step == ".." {
            path.pop();
        } else {
            path.push(step);
        }
        path
    })
}

fn is_whiteout(found: &fs::Metadata) -> bool {
    found.file_type().is_char_device() && found.rdev() == 0
}
