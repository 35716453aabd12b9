//! What a tree that workloads wrote takes on disk, found through directory handles: no link is followed, at any depth.

use nix::dir::Dir;
use nix::errno::Errno;
use nix::fcntl::{AtFlags, OFlag, open, openat};
use nix::sys::stat::{FileStat, Mode, SFlag, fstat, fstatat};
use std::ffi::CString;
use std::os::fd::{AsFd, OwnedFd};
use std::path::Path;

/// The length of a block of `stat`; see inode(7).
const BLOCK_BYTES: u64 = 512;
/// Directories that are held open, one in the other.
const DEPTH: usize = 64;

const OPEN: OFlag = OFlag::O_RDONLY.union(OFlag::O_DIRECTORY).union(OFlag::O_NOFOLLOW).union(OFlag::O_CLOEXEC);

/// A directory on the way to the one that is looked into.
struct Level {
    /// `None` while more than enough below it are open.
    handle: Option<OwnedFd>,
    identity: (u64, u64),
    left: Vec<CString>,
}

/// The bytes that everything in `directory` takes, as far as it can be looked into.
pub(super) fn bytes_in(directory: &Path) -> u64 {
    let mut bytes = 0_u64;
    let Ok(top) = open(directory, OPEN, Mode::empty()).and_then(|top| Level::look(top, &mut bytes)) else { return 0 };
    let mut levels = vec![top];
    while let Some(level) = levels.last_mut() {
        if let Some(name) = level.left.pop() {
            let inner = level.handle.as_ref().ok_or(Errno::EBADF);
            let inner = inner.and_then(|handle| openat(handle, name.as_c_str(), OPEN, Mode::empty()));
            // What is closed, or gone by now, is not looked into.
            levels.extend(inner.and_then(|inner| Level::look(inner, &mut bytes)).ok());
            if let Some(far) = levels.len().checked_sub(DEPTH + 1) {
                levels[far].handle = None;
            }
        } else if let Some(level) = levels.pop()
            && let Some(around) = levels.last_mut()
        {
            around.reach_from(&level);
        }
    }
    bytes
}

impl Level {
    /// Adds up what lies in a directory.
    fn look(handle: OwnedFd, bytes: &mut u64) -> nix::Result<Self> {
        let mut left = Vec::new();
        let mut listing = Dir::openat(&handle, c".", OPEN, Mode::empty())?;
        for entry in listing.iter() {
            let name = entry?.file_name().to_owned();
            if name.as_c_str() == c"." || name.as_c_str() == c".." {
                continue;
            }
            let Ok(found) = fstatat(&handle, name.as_c_str(), AtFlags::AT_SYMLINK_NOFOLLOW) else { continue };
            *bytes = bytes.saturating_add(found.st_blocks.unsigned_abs().saturating_mul(BLOCK_BYTES));
            if SFlag::from_bits_truncate(found.st_mode) & SFlag::S_IFMT == SFlag::S_IFDIR {
                left.push(name);
            }
        }
        let identity = identity(&fstat(handle.as_fd())?);
        Ok(Self { handle: Some(handle), identity, left })
    }

    /// Opens this directory again from one that lay in it. If that was moved meanwhile, what is left here is not looked into.
    fn reach_from(&mut self, inner: &Self) {
        if self.handle.is_none() {
            let up = inner.handle.as_ref().and_then(|inner| openat(inner, c"..", OPEN, Mode::empty()).ok());
            self.handle = up.filter(|up| fstat(up).is_ok_and(|found| identity(&found) == self.identity));
        }
    }
}

fn identity(found: &FileStat) -> (u64, u64) {
    (found.st_dev, found.st_ino)
}
