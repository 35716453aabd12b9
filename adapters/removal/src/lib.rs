//! Removing what a workload left, whatever it is: through directory handles, following no link, at any depth, whatever its modes.
//!
//! What lies deeper than a few directories is moved up before it is emptied, so that neither open handles nor memory
//! grow with depth.

#![forbid(unsafe_code)]

use nix::dir::{Dir, Type};
use nix::errno::Errno;
use nix::fcntl::{AtFlags, OFlag, openat, renameat};
use nix::sys::stat::{FchmodatFlags, Mode, SFlag, fchmod, fchmodat, fstat, fstatat};
use nix::unistd::{UnlinkatFlags, unlinkat};
use std::ffi::{CStr, CString};
use std::io;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::path::Path;

/// Names read from a directory before they are acted on.
const BATCH: usize = 256;

/// Directories that are held open, one in the other.
const DEPTH: usize = 32;

const OPEN: OFlag = OFlag::O_RDONLY.union(OFlag::O_DIRECTORY).union(OFlag::O_NOFOLLOW).union(OFlag::O_CLOEXEC);

/// Removes the directory at `host_path` with everything in it. Nothing there is fine, and so is somebody who does the same.
pub fn remove(host_path: &Path) -> io::Result<()> {
    remove_stepwise(host_path, &|| Ok(()))
}

/// The same, with `step` called before each thing that is removed. An error of it is the end.
pub fn remove_stepwise(host_path: &Path, step: &dyn Fn() -> io::Result<()>) -> io::Result<()> {
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
    let mut removal = Removal { top, moved: 0, step };
    loop {
        removal.empty_top()?;
        match unlinkat(&parent, name.as_c_str(), UnlinkatFlags::RemoveDir) {
            // Somebody who removes the same has just moved something up.
            Err(Errno::ENOTEMPTY) => {}
            result => return gone(result),
        }
    }
}

/// Removes everything in the directory at `host_path`, which stays.
pub fn empty(host_path: &Path) -> io::Result<()> {
    empty_stepwise(host_path, &|| Ok(()))
}

/// The same, with `step` called before each thing that is removed. An error of it is the end.
pub fn empty_stepwise(host_path: &Path, step: &dyn Fn() -> io::Result<()>) -> io::Result<()> {
    let top = nix::fcntl::open(host_path, OPEN, Mode::empty())?;
    let mut removal = Removal { top, moved: 0, step };
    loop {
        removal.empty_top()?;
        if entries(removal.top.as_fd())?.is_empty() {
            return Ok(());
        }
    }
}

struct Removal<'a> {
    top: OwnedFd,
    moved: u64,
    step: &'a dyn Fn() -> io::Result<()>,
}

impl Removal<'_> {
    fn empty_top(&mut self) -> io::Result<()> {
        let top = self.top.try_clone()?;
        self.empty(top.as_fd(), 0)
    }

    fn empty(&mut self, directory: BorrowedFd<'_>, depth: usize) -> io::Result<()> {
        loop {
            let entries = entries(directory)?;
            let is_all = entries.len() < BATCH;
            for Entry { name, is_directory } in entries {
                (self.step)()?;
                if !is_directory {
                    gone(unlinkat(directory, name.as_c_str(), UnlinkatFlags::NoRemoveDir))?;
                } else if depth < DEPTH {
                    self.remove_directory(directory, &name, depth + 1)?;
                } else {
                    self.move_up(directory, &name)?;
                }
            }
            // Whether it is empty now shows when it is removed: what is not is looked at once more from the top.
            if is_all {
                return Ok(());
            }
        }
    }

    fn remove_directory(&mut self, around: BorrowedFd<'_>, name: &CStr, depth: usize) -> io::Result<()> {
        let Some(directory) = open(around, name)? else { return Ok(()) };
        self.empty(directory.as_fd(), depth)?;
        match unlinkat(around, name, UnlinkatFlags::RemoveDir) {
            // As above.
            Err(Errno::ENOTEMPTY) => Ok(()),
            result => gone(result),
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

/// Opens the directory `name`, and gives its owner every permission; `None` if it is gone.
fn open(around: BorrowedFd<'_>, name: &CStr) -> io::Result<Option<OwnedFd>> {
    let mut opened = openat(around, name, OPEN, Mode::empty());
    if matches!(opened, Err(Errno::EACCES)) {
        gone(fchmodat(around, name, Mode::S_IRWXU, FchmodatFlags::NoFollowSymlink))?;
        opened = openat(around, name, OPEN, Mode::empty());
    }
    let directory = match opened {
        Err(Errno::ENOENT) => return Ok(None),
        opened => opened?,
    };
    if !Mode::from_bits_truncate(fstat(&directory)?.st_mode).contains(Mode::S_IRWXU) {
        fchmod(&directory, Mode::S_IRWXU)?;
    }
    Ok(Some(directory))
}

struct Entry {
    name: CString,
    is_directory: bool,
}

/// Some of what is in `directory`, read from its start; nothing when it is empty.
fn entries(directory: BorrowedFd<'_>) -> io::Result<Vec<Entry>> {
    let mut listing = Dir::openat(directory, c".", OPEN, Mode::empty())?;
    let mut entries = Vec::new();
    for entry in listing.iter() {
        let entry = entry?;
        let name = entry.file_name();
        if name != c"." && name != c".." {
            let is_directory = match entry.file_type() {
                Some(kind) => kind == Type::Directory,
                None => is_directory(directory, name)?,
            };
            entries.push(Entry { name: name.to_owned(), is_directory });
        }
        if entries.len() == BATCH {
            break;
        }
    }
    Ok(entries)
}

/// For file systems that do not say it in the listing.
fn is_directory(around: BorrowedFd<'_>, name: &CStr) -> io::Result<bool> {
    match fstatat(around, name, AtFlags::AT_SYMLINK_NOFOLLOW) {
        Ok(stat) => Ok(SFlag::from_bits_truncate(stat.st_mode) & SFlag::S_IFMT == SFlag::S_IFDIR),
        Err(Errno::ENOENT) => Ok(false),
        Err(errno) => Err(errno.into()),
    }
}

/// What is gone already was removed by somebody else.
fn gone(result: nix::Result<()>) -> io::Result<()> {
    match result {
        Ok(()) | Err(Errno::ENOENT) => Ok(()),
        Err(errno) => Err(errno.into()),
    }
}

#[cfg(test)]
mod tests;
