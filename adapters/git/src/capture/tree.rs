//! Opening what a walk goes through: all of a Workspace, or the upper directory of an overlay, which has what changed.

use super::marks::Marks;
use crate::beneath;
use isobox_ports::{Overlay, OverlayKind, WorkspaceMount};
use nix::errno::Errno;
use nix::fcntl::{OFlag, open};
use nix::sys::stat;
use std::io::{self, ErrorKind};
use std::os::fd::OwnedFd;
use std::path::{Path, PathBuf};

/// What a walk goes through.
pub(super) struct Tree {
    /// Its root.
    pub(super) root: OwnedFd,
    /// If it is an upper directory: how to tell what it hides.
    pub(super) marks: Option<Marks>,
    /// The directories that lie below it, the uppermost first.
    pub(super) lowers: Vec<PathBuf>,
}

impl Tree {
    /// Opens what was mounted.
    pub(super) fn open(mount: &WorkspaceMount) -> io::Result<Self> {
        match mount {
            WorkspaceMount::Directory { host_path } => {
                Ok(Self { root: open_root(host_path)?, marks: None, lowers: Vec::new() })
            }
            WorkspaceMount::Overlay(overlay) => Ok(Self {
                root: open_upper(overlay)?,
                marks: Some(Marks::of(overlay.kind)),
                lowers: overlay.lowers.clone(),
            }),
        }
    }
}

/// Opens a directory, which is no link.
pub(super) fn open_root(host_path: &Path) -> io::Result<OwnedFd> {
    open_with(host_path, OFlag::O_NOFOLLOW)
}

fn open_upper(overlay: &Overlay) -> io::Result<OwnedFd> {
    // A file system in memory is named by a descriptor of this process that holds it.
    let is_descriptor = overlay.place.parent() == Some(Path::new("/proc/self/fd"));
    let place = open_with(&overlay.place, if is_descriptor { OFlag::empty() } else { OFlag::O_NOFOLLOW })?;
    if overlay.kind == OverlayKind::Privileged && !can_read_marks(&place) {
        let why = "what root's overlay hides is marked by attributes that this process cannot read";
        return Err(io::Error::new(ErrorKind::PermissionDenied, why));
    }
    match beneath::open_directory(&place, b"upper") {
        Err(Errno::ENOENT) if overlay.memory.is_some() => Err(io::Error::new(
            ErrorKind::NotFound,
            "what was written to it was kept in memory, and is gone with the sandbox that it was mounted in",
        )),
        opened => Ok(opened?),
    }
}

/// Whether an attribute `trusted.*` that is not read is not there: to a process without CAP_SYS_ADMIN each looks so.
fn can_read_marks(place: &OwnedFd) -> bool {
    // Removing what is not there changes nothing, and is refused with EPERM without the capability. See xattr(7).
    rustix::fs::fremovexattr(place, "trusted.overlay.isobox-none") != Err(rustix::io::Errno::PERM)
}

fn open_with(host_path: &Path, flags: OFlag) -> io::Result<OwnedFd> {
    let flags = flags | OFlag::O_RDONLY | OFlag::O_DIRECTORY | OFlag::O_CLOEXEC;
    Ok(open(host_path, flags, stat::Mode::empty())?)
}
