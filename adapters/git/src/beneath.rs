//! Looking at files below a directory handle: never through a link, never out of it.
//!
//! Every open is an `openat2(2)` that resolves beneath its directory, follows no link of any kind and crosses no mount.
//! So whatever is swapped, a path leads to something inside the directory or to an error.

use crate::stat_cache::FileStat;
use nix::errno::Errno;
use nix::fcntl::{AtFlags, OFlag, OpenHow, ResolveFlag, openat2, readlinkat};
use nix::sys::stat::{FileStat as RawStat, SFlag, fstat, fstatat};
use std::fs::File;
use std::os::fd::{AsFd, OwnedFd};
use std::os::unix::ffi::OsStringExt;

/// What kind of thing the file system says a name is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Kind {
    File,
    Symlink,
    Directory,
    Fifo,
    Socket,
    Device,
}

/// What the file system says about a name.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Seen {
    /// What changes when the file does.
    pub(crate) stat: FileStat,
    /// The file system that it lies on.
    pub(crate) device: u64,
    /// Bytes that it takes on disk; fewer than its size for a file with holes.
    pub(crate) allocated: u64,
    /// The number of the device that a device file stands for.
    pub(crate) represents: u64,
}

impl Seen {
    /// Whether it is the character device 0:0, with which an overlay marks a name as gone.
    pub(crate) fn is_whiteout(&self) -> bool {
        SFlag::from_bits_truncate(self.stat.mode & SFlag::S_IFMT.bits()) == SFlag::S_IFCHR && self.represents == 0
    }

    /// Its kind.
    pub(crate) fn kind(&self) -> Kind {
        match SFlag::from_bits_truncate(self.stat.mode & SFlag::S_IFMT.bits()) {
            SFlag::S_IFREG => Kind::File,
            SFlag::S_IFLNK => Kind::Symlink,
            SFlag::S_IFDIR => Kind::Directory,
            SFlag::S_IFIFO => Kind::Fifo,
            SFlag::S_IFSOCK => Kind::Socket,
            _ => Kind::Device,
        }
    }

    fn of(raw: &RawStat) -> Self {
        let stat = FileStat::of_stat(raw);
        // st_blocks counts units of 512 bytes whatever the file system's own blocks are. See stat(3type).
        let allocated = raw.st_blocks.unsigned_abs().saturating_mul(512);
        Self { stat, device: raw.st_dev, allocated, represents: raw.st_rdev }
    }
}

/// Opens a directory for reading. `path` is relative, one component or several; `.` is the directory itself.
pub(crate) fn open_directory(at: impl AsFd, path: &[u8]) -> Result<OwnedFd, Errno> {
    open(at, path, OFlag::O_DIRECTORY | OFlag::O_NOFOLLOW)
}

/// Opens a regular file for reading. Anything else is `EINVAL`, without waiting for a writer of a pipe.
pub(crate) fn open_file(at: impl AsFd, path: &[u8]) -> Result<File, Errno> {
    let file = File::from(open(at, path, OFlag::O_NONBLOCK | OFlag::O_NOCTTY | OFlag::O_NOFOLLOW)?);
    if look_at_open(&file)?.kind() == Kind::File { Ok(file) } else { Err(Errno::EINVAL) }
}

/// Opens whatever `path` leads to for reading, with `flags` besides.
///
/// A link on the way is ELOOP, another file system or a way out EXDEV.
pub(crate) fn open(at: impl AsFd, path: &[u8], flags: OFlag) -> Result<OwnedFd, Errno> {
    let resolve = ResolveFlag::RESOLVE_BENEATH
        | ResolveFlag::RESOLVE_NO_SYMLINKS
        | ResolveFlag::RESOLVE_NO_MAGICLINKS
        | ResolveFlag::RESOLVE_NO_XDEV;
    let flags = flags | OFlag::O_RDONLY | OFlag::O_CLOEXEC;
    let how = OpenHow::new().flags(flags).resolve(resolve);
    loop {
        match openat2(&at, path, how) {
            // EAGAIN: something was renamed during the look-up, so that the kernel cannot rule out a way out. See
            // openat2(2).
            Err(Errno::EAGAIN | Errno::EINTR) => {}
            result => return result,
        }
    }
}

/// What lies at a path beneath a directory: no link is followed on the way, and none at its end.
pub(crate) fn look_beneath(at: impl AsFd, path: &[u8]) -> Result<Seen, Errno> {
    open(at, path, OFlag::O_PATH | OFlag::O_NOFOLLOW).and_then(look_at_open)
}

/// What lies at one name of a directory, links not followed.
pub(crate) fn look(at: impl AsFd, name: &[u8]) -> Result<Seen, Errno> {
    fstatat(at, name, AtFlags::AT_SYMLINK_NOFOLLOW).map(|raw| Seen::of(&raw))
}

/// What an open file is.
pub(crate) fn look_at_open(file: impl AsFd) -> Result<Seen, Errno> {
    fstat(file).map(|raw| Seen::of(&raw))
}

/// The target of the symbolic link at one name of a directory.
pub(crate) fn read_link(at: impl AsFd, name: &[u8]) -> Result<Vec<u8>, Errno> {
    readlinkat(at, name).map(OsStringExt::into_vec)
}
