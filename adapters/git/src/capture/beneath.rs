//! Looking at files of a Workspace through directory handles: never through a link, never out of it.
//!
//! Every open is an `openat2(2)` that resolves beneath its directory, follows no link of any kind and crosses no mount.
//! So whatever is swapped, a path leads to something inside the Workspace or to an error.

use crate::stat_cache::FileStat;
use nix::errno::Errno;
use nix::fcntl::{AtFlags, OFlag, OpenHow, ResolveFlag, openat2, readlinkat};
use nix::sys::stat::{FileStat as RawStat, SFlag, fstat, fstatat};
use std::fs::File;
use std::os::fd::{AsFd, OwnedFd};
use std::os::unix::ffi::OsStringExt;

/// What kind of thing the file system says a name is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Kind {
    File,
    Symlink,
    Directory,
    Fifo,
    Socket,
    Device,
}

/// What the file system says about a name.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Seen {
    /// What changes when the file does.
    pub(super) stat: FileStat,
    /// The file system that it lies on.
    pub(super) device: u64,
    /// Bytes that it takes on disk; fewer than its size for a file with holes.
    pub(super) allocated: u64,
}

impl Seen {
    /// Its kind.
    pub(super) fn kind(&self) -> Kind {
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
        let ns = |seconds: i64, part: i64| seconds.saturating_mul(1_000_000_000).saturating_add(part);
        let stat = FileStat {
            inode: raw.st_ino,
            size: raw.st_size.unsigned_abs(),
            mtime_ns: ns(raw.st_mtime, raw.st_mtime_nsec),
            ctime_ns: ns(raw.st_ctime, raw.st_ctime_nsec),
            mode: raw.st_mode,
        };
        // st_blocks counts units of 512 bytes whatever the file system's own blocks are. See stat(3type).
        Self { stat, device: raw.st_dev, allocated: raw.st_blocks.unsigned_abs().saturating_mul(512) }
    }
}

/// Opens a directory for reading. `path` is relative, one component or several; `.` is the directory itself.
pub(super) fn open_directory(at: impl AsFd, path: &[u8]) -> Result<OwnedFd, Errno> {
    open(at, path, OFlag::O_DIRECTORY)
}

/// Opens a regular file for reading. Anything else is `EINVAL`, without waiting for a writer of a pipe.
pub(super) fn open_file(at: impl AsFd, path: &[u8]) -> Result<File, Errno> {
    let file = File::from(open(at, path, OFlag::O_NONBLOCK | OFlag::O_NOCTTY)?);
    if look_at_open(&file)?.kind() == Kind::File { Ok(file) } else { Err(Errno::EINVAL) }
}

fn open(at: impl AsFd, path: &[u8], flags: OFlag) -> Result<OwnedFd, Errno> {
    let resolve = ResolveFlag::RESOLVE_BENEATH
        | ResolveFlag::RESOLVE_NO_SYMLINKS
        | ResolveFlag::RESOLVE_NO_MAGICLINKS
        | ResolveFlag::RESOLVE_NO_XDEV;
    let flags = flags | OFlag::O_RDONLY | OFlag::O_NOFOLLOW | OFlag::O_CLOEXEC;
    let how = OpenHow::new().flags(flags).resolve(resolve);
    loop {
        match openat2(&at, path, how) {
            // Something was renamed while the kernel resolved beneath: it asks to be called again. See openat2(2).
            Err(Errno::EAGAIN | Errno::EINTR) => {}
            result => return result,
        }
    }
}

/// What lies at one name of a directory, links not followed.
pub(super) fn look(at: impl AsFd, name: &[u8]) -> Result<Seen, Errno> {
    fstatat(at, name, AtFlags::AT_SYMLINK_NOFOLLOW).map(|raw| Seen::of(&raw))
}

/// What an open file is.
pub(super) fn look_at_open(file: impl AsFd) -> Result<Seen, Errno> {
    fstat(file).map(|raw| Seen::of(&raw))
}

/// The target of the symbolic link at one name of a directory.
pub(super) fn read_link(at: impl AsFd, name: &[u8]) -> Result<Vec<u8>, Errno> {
    readlinkat(at, name).map(OsStringExt::into_vec)
}
