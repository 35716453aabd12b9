//! Opening what a walk goes through: all of a Workspace, or the upper directory of an overlay, which has what changed.

use super::marks::Marks;
use crate::beneath;
use isobox_ports::{Overlay, WorkspaceMount};
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
            WorkspaceMount::Overlay(overlay) => {
                let place = open_place(overlay)?;
                let marks = Marks::readable(overlay.kind, &place)?;
                Ok(Self { root: open_upper(overlay, &place)?, marks: Some(marks), lowers: overlay.lowers.clone() })
            }
        }
    }
}

/// Opens a directory, which is no link.
pub(crate) fn open_root(host_path: &Path) -> io::Result<OwnedFd> {
    open_with(host_path, OFlag::O_NOFOLLOW)
}

/// Opens the directory that an overlay is mounted at, and that has its upper directory.
pub(crate) fn open_place(overlay: &Overlay) -> io::Result<OwnedFd> {
    // A file system in memory is named by a descriptor of this process that holds it.
    let is_descriptor = overlay.place.parent() == Some(Path::new("/proc/self/fd"));
    open_with(&overlay.place, if is_descriptor { OFlag::empty() } else { OFlag::O_NOFOLLOW })
}

fn open_upper(overlay: &Overlay, place: &OwnedFd) -> io::Result<OwnedFd> {
    match beneath::open_directory(place, b"upper") {
        Err(Errno::ENOENT) if overlay.memory.is_some() => Err(io::Error::new(
            ErrorKind::NotFound,
            "what was written to it was kept in memory, and is gone with the process that held it",
        )),
        opened => Ok(opened?),
    }
}

fn open_with(host_path: &Path, flags: OFlag) -> io::Result<OwnedFd> {
    let flags = flags | OFlag::O_RDONLY | OFlag::O_DIRECTORY | OFlag::O_CLOEXEC;
    Ok(open(host_path, flags, stat::Mode::empty())?)
}
