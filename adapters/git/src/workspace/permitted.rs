//! Directories of the workload's, open although their modes may forbid it.

use crate::beneath;
use crate::capture::tree::{open_place, open_root};
use isobox_ports::WorkspaceMount;
use nix::fcntl::AtFlags;
use nix::sys::stat::{FchmodatFlags, FileStat, Mode, fchmod, fchmodat, fstat, fstatat, futimens};
use nix::sys::time::TimeSpec;
use nix::unistd::{AccessFlags, faccessat};
use std::io;
use std::os::fd::{AsFd, OwnedFd};
use std::os::unix::ffi::OsStrExt;

/// An open directory in which everything is permitted to this process as long as this lives.
///
/// A process that is killed leaves it open to its owner.
pub(crate) struct Permitted {
    /// A handle of it.
    pub(crate) directory: OwnedFd,
    is_changed: bool,
    looks: Looks,
}

/// What a directory looks like from outside.
#[derive(Clone, Copy)]
pub(crate) struct Looks {
    mode: Mode,
    mtime: TimeSpec,
}

impl Permitted {
    /// Opens the directory `name` of `around`.
    pub(crate) fn open(around: impl AsFd, name: &[u8]) -> io::Result<Self> {
        let stat = fstatat(&around, name, AtFlags::AT_SYMLINK_NOFOLLOW)?;
        let looks = Looks::in_stat(&stat);
        let mode = looks.mode;
        let is_changed = !mode.contains(Mode::S_IRWXU) && !is_permitted(&around, name);
        if is_changed {
            fchmodat(&around, name, mode | Mode::S_IRWXU, FchmodatFlags::NoFollowSymlink)?;
        }
        Ok(Self { directory: beneath::open_directory(around, name)?, is_changed, looks })
    }

    /// Opens what the processes of a Workspace could write to, as far as it is on disk.
    pub(crate) fn root_of(mount: &WorkspaceMount) -> io::Result<Self> {
        match mount {
            WorkspaceMount::Overlay(overlay) => Self::open(open_place(overlay)?, b"upper"),
            WorkspaceMount::Directory { host_path } => {
                let (Some(around), Some(name)) = (host_path.parent(), host_path.file_name()) else {
                    return Err(io::ErrorKind::InvalidInput.into());
                };
                Self::open(open_root(around)?, name.as_bytes())
            }
        }
    }

    /// What it looked like.
    pub(crate) fn looks(&self) -> Looks {
        self.looks
    }

    /// Gives it the looks of another directory.
    pub(crate) fn take_over(mut self, looks: Looks) -> io::Result<()> {
        self.is_changed = false;
        looks.give(&self.directory)
    }
}

impl Drop for Permitted {
    fn drop(&mut self) {
        if self.is_changed {
            // Its owner has an open directory in hand. What stands in the way of its mode is in that of all else, too.
            fchmod(&self.directory, self.looks.mode).unwrap_or_default();
        }
    }
}

impl Looks {
    /// What `directory` looks like.
    pub(crate) fn of(directory: &OwnedFd) -> io::Result<Self> {
        Ok(Self::in_stat(&fstat(directory)?))
    }

    fn in_stat(stat: &FileStat) -> Self {
        Self { mode: Mode::from_bits_truncate(stat.st_mode), mtime: TimeSpec::new(stat.st_mtime, stat.st_mtime_nsec) }
    }

    /// Makes `directory` look so.
    pub(crate) fn give(self, directory: &OwnedFd) -> io::Result<()> {
        futimens(directory, &self.mtime, &self.mtime)?;
        Ok(fchmod(directory, self.mode)?)
    }
}

fn is_permitted(around: impl AsFd, name: &[u8]) -> bool {
    let all = AccessFlags::R_OK | AccessFlags::W_OK | AccessFlags::X_OK;
    faccessat(around, name, all, AtFlags::AT_EACCESS | AtFlags::AT_SYMLINK_NOFOLLOW).is_ok()
}
