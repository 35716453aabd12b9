//! Removing what a workload left, whatever it is: through directory handles, following no link, at any depth.
//!
//! Every directory is moved up to the top before it is emptied, so that neither handles nor memory grow with depth.

use nix::dir::Dir;
use nix::errno::Errno;
use nix::fcntl::{AtFlags, OFlag, openat, renameat};
use nix::sys::stat::{FchmodatFlags, Mode, SFlag, fchmodat, fstatat};
use nix::unistd::{UnlinkatFlags, unlinkat};
use std::ffi::{CStr, CString};
use std::io;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::path::Path;

/// Names read from a directory before they are acted on.
const BATCH: usize = 1024;

const OPEN: OFlag = OFlag::O_RDONLY.union(OFlag::O_DIRECTORY).union(OFlag::O_NOFOLLOW).union(OFlag::O_CLOEXEC);

/// Removes the directory at `host_path` with everything in it. Nothing there is fine, and so is somebody who does the same.
pub(super) fn remove(host_path: &Path) -> io::Result<()> {
    let (Some(parent), Some(name)) = (host_path.parent(), host_path.file_name()) else {
        return Err(io::ErrorKind::InvalidInput.into());
    };
    let name = CString::new(name.as_encoded_bytes()).map_err(io::Error::other)?;
    let parent = match nix::fcntl::open(parent, OPEN, Mode::empty()) {
        Ok(parent) => parent,
        Err(Errno::ENOENT) => return Ok(()),
        Err(errno) => return Err(errno.into()),
    };
    let Some(top) = open(parent.as_fd(), &name)? else { return Ok(()) };
    Removal { top, moved: 0 }.empty_top()?;
    gone(unlinkat(&parent, name.as_c_str(), UnlinkatFlags::RemoveDir))
}

struct Removal {
    top: OwnedFd,
    moved: u64,
}

impl Removal {
    /// Empties the top, directory by directory; those below them turn up in it meanwhile.
    fn empty_top(&mut self) -> io::Result<()> {
        loop {
            let names = names(self.top.as_fd())?;
            if names.is_empty() {
                return Ok(());
            }
            for name in names {
                if is_directory(self.top.as_fd(), &name)? {
                    self.remove_directory(&name)?;
                } else {
                    gone(unlinkat(&self.top, name.as_c_str(), UnlinkatFlags::NoRemoveDir))?;
                }
            }
        }
    }

    /// Removes the directory `name` of the top, after moving the directories in it up.
    fn remove_directory(&mut self, name: &CStr) -> io::Result<()> {
        let Some(directory) = open(self.top.as_fd(), name)? else { return Ok(()) };
        loop {
            let names = names(directory.as_fd())?;
            if names.is_empty() {
                return gone(unlinkat(&self.top, name, UnlinkatFlags::RemoveDir));
            }
            for inner in names {
                if is_directory(directory.as_fd(), &inner)? {
                    self.move_up(directory.as_fd(), &inner)?;
                } else {
                    gone(unlinkat(&directory, inner.as_c_str(), UnlinkatFlags::NoRemoveDir))?;
                }
            }
        }
    }

    fn move_up(&mut self, around: BorrowedFd<'_>, name: &CStr) -> io::Result<()> {
        // Moving a directory writes to its entry `..`, for which an ordinary user needs permission.
        gone(fchmodat(around, name, Mode::S_IRWXU, FchmodatFlags::NoFollowSymlink))?;
        loop {
            let free = format!("moved-{}-{}", std::process::id(), self.moved);
            self.moved += 1;
            match renameat(around, name, &self.top, free.as_str()) {
                // Taken by what the workload, or another removal, put there.
                Err(Errno::EEXIST | Errno::ENOTEMPTY | Errno::ENOTDIR) => {}
                result => return gone(result),
            }
        }
    }
}

/// Opens the directory `name`, after giving its owner every permission; `None` if it is gone.
fn open(around: BorrowedFd<'_>, name: &CStr) -> io::Result<Option<OwnedFd>> {
    gone(fchmodat(around, name, Mode::S_IRWXU, FchmodatFlags::NoFollowSymlink))?;
    match openat(around, name, OPEN, Mode::empty()) {
        Ok(directory) => Ok(Some(directory)),
        Err(Errno::ENOENT) => Ok(None),
        Err(errno) => Err(errno.into()),
    }
}

fn is_directory(around: BorrowedFd<'_>, name: &CStr) -> io::Result<bool> {
    match fstatat(around, name, AtFlags::AT_SYMLINK_NOFOLLOW) {
        Ok(stat) => Ok(SFlag::from_bits_truncate(stat.st_mode) & SFlag::S_IFMT == SFlag::S_IFDIR),
        Err(Errno::ENOENT) => Ok(false),
        Err(errno) => Err(errno.into()),
    }
}

/// Some of the names in `directory`, read from its start; none when it is empty.
fn names(directory: BorrowedFd<'_>) -> io::Result<Vec<CString>> {
    let mut listing = Dir::openat(directory, c".", OPEN, Mode::empty())?;
    let mut names = Vec::new();
    for entry in listing.iter() {
        let entry = entry?;
        let name = entry.file_name();
        if name != c"." && name != c".." {
            names.push(name.to_owned());
        }
        if names.len() == BATCH {
            break;
        }
    }
    Ok(names)
}

/// What is gone already was removed by somebody else.
fn gone(result: nix::Result<()>) -> io::Result<()> {
    match result {
        Ok(()) | Err(Errno::ENOENT) => Ok(()),
        Err(errno) => Err(errno.into()),
    }
}
