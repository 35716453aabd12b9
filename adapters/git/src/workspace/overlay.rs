//! Workspaces that are overlays on a pristine copy.

use super::layout::Layout;
use super::{failure, spare};
use crate::beneath::Kind;
use crate::pristine::Held;
use isobox_domain::repo_path::RepoPath;
use isobox_ports::{MemorySize, Overlay, OverlayKind, WorkspaceError};
use std::fs::DirBuilder;
use std::io::{self, ErrorKind};
use std::os::unix::fs::{DirBuilderExt, PermissionsExt};
use std::path::Path;

/// Mode of the place of an overlay.
pub(super) const PRIVATE: u32 = 0o700;
/// What is in it, with modes. The root of the Workspace has the mode of `upper`, whatever the umask.
pub(super) const PARTS: [(&str, u32); 2] = [("upper", 0o755), ("work", 0o700)];

/// Makes what an overlay at `layout` on `held` needs, as far as it is not there; how it is mounted.
///
/// The cost does not depend on the size of the commit: up to three directories, or a rename.
pub(super) fn lay_out(
    layout: &Layout,
    held: &Held,
    kind: OverlayKind,
    memory: Option<MemorySize>,
) -> Result<Overlay, WorkspaceError> {
    let overlay = Overlay { lowers: held.lowers(), place: layout.container().to_owned(), kind, memory };
    make_directories(&overlay).map_err(|e| failure("make the workspace's directory", e))?;
    Ok(overlay)
}

fn make_directories(overlay: &Overlay) -> io::Result<()> {
    let place = &overlay.place;
    // Where something is in memory, nothing may seem to have been written to disk.
    if overlay.memory.is_none() && !place.exists() && spare::take(place)? {
        return Ok(());
    }
    match DirBuilder::new().mode(PRIVATE).create(place) {
        Err(error) if error.kind() == ErrorKind::NotFound => {
            let parent = place.parent().unwrap_or(Path::new("/"));
            DirBuilder::new().recursive(true).mode(PRIVATE).create(parent)?;
            DirBuilder::new().mode(PRIVATE).create(place)?;
        }
        Err(error) if error.kind() != ErrorKind::AlreadyExists => return Err(error),
        _ => {}
    }
    if overlay.memory.is_some() { Ok(()) } else { make_parts(place) }
}

/// Makes what is in the `place` of an overlay, as far as it is not there.
pub(super) fn make_parts(place: &Path) -> io::Result<()> {
    PARTS.iter().try_for_each(|(part, mode)| make(&place.join(part), *mode))
}

fn make(host_path: &Path, mode: u32) -> io::Result<()> {
    match DirBuilder::new().mode(mode).create(host_path) {
        Err(error) if error.kind() == ErrorKind::AlreadyExists => Ok(()),
        Err(error) => Err(error),
        Ok(()) if std::fs::symlink_metadata(host_path)?.permissions().mode() & 0o7777 == mode => Ok(()),
        Ok(()) => std::fs::set_permissions(host_path, PermissionsExt::from_mode(mode)),
    }
}

/// Whether the commit that `held` is of has this directory.
pub(super) fn has_directory(held: &Held, directory: &RepoPath) -> io::Result<bool> {
    let Some(found) = held.find(directory)? else { return Ok(false) };
    // A repository's `.git` is no path of any commit.
    Ok(found.kind() == Kind::Directory)
}
