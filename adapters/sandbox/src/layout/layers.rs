//! What a Workspace shows, before anything mounts it.

use super::hidden::Kind;
use crate::overlay::is_opaque;
use crate::view::WORKSPACE;
use isobox_ports::{Overlay, WorkspaceMount};
use std::collections::BTreeMap;
use std::ffi::OsString;
use std::fs::{self, FileType};
use std::io;
use std::os::unix::fs::{FileTypeExt, MetadataExt};
use std::path::{Component, Path, PathBuf};

/// What a path of the Workspace leads to, links followed as the workload's are.
pub(super) enum Target {
    /// Something in the Workspace, by its path there.
    Inside(PathBuf, Kind),
    /// Something elsewhere, by an absolute path of the Sandbox.
    Beyond(PathBuf),
    /// Nothing.
    Nowhere,
}

/// The directories that a Workspace is made of, the uppermost first, as the kernel will show them.
pub(super) struct Layers {
    directories: Vec<PathBuf>,
    overlay: Option<Overlay>,
}

impl Layers {
    pub(super) fn of(mount: &WorkspaceMount) -> Self {
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
    pub(super) fn kind(&self, path: &Path) -> io::Result<Option<FileType>> {
        for layer in self.visible(path.parent().unwrap_or(Path::new("")))? {
            match fs::symlink_metadata(layer.join(path)) {
                Ok(found) if is_whiteout(&found) => return Ok(None),
                Ok(found) => return Ok(Some(found.file_type())),
                // A link may spell a name that nothing can have.
                Err(error) if matches!(error.kind(), io::ErrorKind::NotFound | io::ErrorKind::InvalidFilename) => {}
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
    pub(super) fn entries(&self, directory: &Path) -> io::Result<BTreeMap<OsString, FileType>> {
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
    pub(super) fn target(&self, path: &Path) -> io::Result<Target> {
        /// As in the kernel: see "ELOOP" in path_resolution(7).
        const MOST_LINKS: usize = 40;
        let (mut reached, mut kind, mut links) = (PathBuf::new(), Kind::Directory, 0);
        let mut left: Vec<OsString> = steps(path);
        while let Some(step) = left.pop() {
            let mut goes_out = false;
            if step == ".." {
                goes_out = !reached.pop();
                kind = Kind::Directory;
            } else {
                let next = reached.join(&step);
                match self.kind(&next)? {
                    None => return Ok(Target::Nowhere),
                    Some(_) if links > MOST_LINKS => return Ok(Target::Nowhere),
                    Some(found) if found.is_symlink() => {
                        links += 1;
                        let target = self.link(&next)?;
                        goes_out = target.is_absolute();
                        left.extend(steps(&target));
                    }
                    Some(found) => (reached, kind) = (next, found.into()),
                }
            }
            if goes_out {
                (reached, kind) = (PathBuf::new(), Kind::Directory);
                if !enters(&mut left) {
                    return Ok(Target::Beyond(Path::new("/").join(left.into_iter().rev().collect::<PathBuf>())));
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

/// Whether the steps that are `left`, the first one last, lead from the root of the Sandbox into the Workspace; those that do are
/// taken.
fn enters(left: &mut Vec<OsString>) -> bool {
    // Nothing is around the root.
    while left.pop_if(|step| step == "..").is_some() {}
    left.pop_if(|step| Path::new("/").join(step) == Path::new(WORKSPACE)).is_some()
}

fn is_whiteout(found: &fs::Metadata) -> bool {
    found.file_type().is_char_device() && found.rdev() == 0
}
