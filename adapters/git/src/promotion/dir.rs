//! Directories by handle: the only way in which a Promotion touches files.
//!
//! A handle is reached without following a link or crossing a mount; below it only single names are used. So nothing
//! that is swapped on the way can lead anywhere else.

use crate::beneath;
use crate::fault::step;
use isobox_domain::content::{ContentId, ContentRef};
use nix::fcntl::{AtFlags, OFlag, openat, readlinkat, renameat};
use nix::sys::stat::{FileStat, Mode, fstat, fstatat, mkdirat};
use nix::unistd::{Gid, Uid, UnlinkatFlags, fchownat, fsync, symlinkat, syncfs, unlinkat};
use rustix::fs::{RenameFlags, renameat_with};
use std::ffi::OsString;
use std::fs::File;
use std::io::{self, Read, Write};
use std::os::fd::OwnedFd;
use std::os::unix::ffi::OsStringExt;
use std::path::Path;

/// How much of a file is held in memory at a time.
pub(super) const CHUNK_BYTES: usize = 64 * 1024;

/// An open directory.
#[derive(Debug)]
pub(super) struct Dir(OwnedFd);

impl Dir {
    /// Opens the directory at a host path that isobox trusts; links in it are followed.
    pub(super) fn open(host_path: &Path) -> io::Result<Self> {
        let flags = OFlag::O_DIRECTORY | OFlag::O_RDONLY | OFlag::O_CLOEXEC;
        Ok(Self(nix::fcntl::open(host_path, flags, Mode::empty())?))
    }

    /// Opens the directory at `path` below this one; an empty path is this one itself.
    ///
    /// A link on the way is ELOOP, something else than a directory ENOTDIR, another file system EXDEV.
    pub(super) fn open_below(&self, path: &[u8]) -> io::Result<Self> {
        let path = if path.is_empty() { b"." } else { path };
        Ok(Self(beneath::open(&self.0, path, OFlag::O_DIRECTORY)?))
    }

    /// What the file system says about this directory.
    pub(super) fn stat_self(&self) -> io::Result<FileStat> {
        Ok(fstat(&self.0)?)
    }

    /// What the file system says about `name`, a link not followed; `None` if there is nothing.
    pub(super) fn stat(&self, name: &[u8]) -> io::Result<Option<FileStat>> {
        match fstatat(&self.0, name, AtFlags::AT_SYMLINK_NOFOLLOW) {
            Err(nix::Error::ENOENT) => Ok(None),
            stat => Ok(Some(stat?)),
        }
    }

    /// Opens a file for reading. A link is ELOOP; a FIFO does not block.
    pub(super) fn open_file(&self, name: &[u8]) -> io::Result<File> {
        self.open_flags(name, OFlag::O_RDONLY | OFlag::O_NONBLOCK, Mode::empty())
    }

    /// Opens whatever `name` is, to look at it only; a link as itself.
    pub(super) fn open_itself(&self, name: &[u8]) -> io::Result<File> {
        self.open_flags(name, OFlag::O_PATH, Mode::empty())
    }

    /// Opens a file of isobox's own for locking, and makes it with mode 0600 if it is not there.
    pub(super) fn open_lock(&self, name: &[u8]) -> io::Result<File> {
        self.open_flags(name, OFlag::O_RDWR | OFlag::O_CREAT, Mode::S_IRUSR | Mode::S_IWUSR)
    }

    /// Makes a file that is not there yet. The umask applies to `mode`.
    pub(super) fn create_file(&self, name: &[u8], mode: u32) -> io::Result<File> {
        step()?;
        self.open_flags(name, OFlag::O_WRONLY | OFlag::O_CREAT | OFlag::O_EXCL, Mode::from_bits_truncate(mode))
    }

    /// Opens a file of Git's own to add to its end, and makes it if it is not there. The umask applies.
    pub(super) fn open_log(&self, name: &[u8]) -> io::Result<File> {
        step()?;
        self.open_flags(name, OFlag::O_RDWR | OFlag::O_APPEND | OFlag::O_CREAT, Mode::from_bits_truncate(0o666))
    }

    fn open_flags(&self, name: &[u8], flags: OFlag, mode: Mode) -> io::Result<File> {
        Ok(File::from(openat(&self.0, name, flags | OFlag::O_NOFOLLOW | OFlag::O_CLOEXEC, mode)?))
    }

    /// Makes a directory that is not there yet. The umask applies to `mode`.
    pub(super) fn make_dir(&self, name: &[u8], mode: u32) -> io::Result<()> {
        step()?;
        Ok(mkdirat(&self.0, name, Mode::from_bits_truncate(mode))?)
    }

    /// Makes a symbolic link.
    pub(super) fn make_link(&self, target: &[u8], name: &[u8]) -> io::Result<()> {
        step()?;
        Ok(symlinkat(target, &self.0, name)?)
    }

    /// The target of a symbolic link.
    pub(super) fn read_link(&self, name: &[u8]) -> io::Result<Vec<u8>> {
        Ok(readlinkat(&self.0, name)?.into_vec())
    }

    /// Gives `name` another owner, a link itself.
    pub(super) fn change_owner(&self, name: &[u8], uid: u32, gid: u32) -> io::Result<()> {
        step()?;
        let (uid, gid) = (Uid::from_raw(uid), Gid::from_raw(gid));
        Ok(fchownat(&self.0, name, Some(uid), Some(gid), AtFlags::AT_SYMLINK_NOFOLLOW)?)
    }

    /// Moves `name` to `to_name` in `to`. What is there already is kept: EEXIST.
    pub(super) fn move_to(&self, name: &[u8], to: &Self, to_name: &[u8]) -> io::Result<()> {
        step()?;
        Ok(renameat_with(&self.0, name, &to.0, to_name, RenameFlags::NOREPLACE)?)
    }

    /// Moves `name` to `to_name`, in place of what is there.
    pub(super) fn replace(&self, name: &[u8], to_name: &[u8]) -> io::Result<()> {
        step()?;
        Ok(renameat(&self.0, name, &self.0, to_name)?)
    }

    /// Removes what is no directory. It is fine if there is nothing.
    pub(super) fn remove_file(&self, name: &[u8]) -> io::Result<()> {
        step()?;
        match unlinkat(&self.0, name, UnlinkatFlags::NoRemoveDir) {
            Err(nix::Error::ENOENT) => Ok(()),
            removed => Ok(removed?),
        }
    }

    /// Removes an empty directory.
    pub(super) fn remove_dir(&self, name: &[u8]) -> io::Result<()> {
        step()?;
        Ok(unlinkat(&self.0, name, UnlinkatFlags::RemoveDir)?)
    }

    /// Makes changes of names in this directory durable.
    pub(super) fn sync(&self) -> io::Result<()> {
        step()?;
        Ok(fsync(&self.0)?)
    }

    /// Makes everything durable that was written to this file system: one flush, however many files.
    pub(super) fn sync_file_system(&self) -> io::Result<()> {
        step()?;
        Ok(syncfs(&self.0)?)
    }

    /// The names in this directory, without `.` and `..`.
    pub(super) fn names(&self) -> io::Result<impl Iterator<Item = io::Result<OsString>>> {
        let flags = OFlag::O_DIRECTORY | OFlag::O_RDONLY | OFlag::O_CLOEXEC;
        let dir = nix::dir::Dir::openat(&self.0, ".", flags, Mode::empty())?;
        Ok(dir.into_iter().filter_map(|entry| match entry {
            Ok(entry) => {
                let name = entry.file_name().to_bytes();
                (name != b"." && name != b"..").then(|| Ok(OsString::from_vec(name.to_vec())))
            }
            Err(error) => Some(Err(error.into())),
        }))
    }

    /// Removes `name` and all below it. It is fine if there is nothing.
    pub(super) fn remove_all(&self, name: &[u8]) -> io::Result<()> {
        match self.stat(name)? {
            None => Ok(()),
            Some(stat) if !is_dir(&stat) => self.remove_file(name),
            Some(_) => {
                let dir = self.open_below(name)?;
                for below in dir.names()? {
                    dir.remove_all(&below?.into_vec())?;
                }
                self.remove_dir(name)
            }
        }
    }
}

/// Writes all of `bytes`, as one step.
pub(super) fn write_all(file: &mut impl Write, bytes: &[u8]) -> io::Result<()> {
    step()?;
    file.write_all(bytes)
}

/// Flushes a file to disk.
pub(super) fn sync_file(file: &File) -> io::Result<()> {
    step()?;
    file.sync_all()
}

/// The identity of everything that `content` yields.
pub(super) fn identify(content: impl Read) -> io::Result<ContentRef> {
    let mut hasher = blake3::Hasher::new();
    hasher.update_reader(content)?;
    Ok(ContentRef { id: ContentId::new(*hasher.finalize().as_bytes()), length: hasher.count() })
}

/// Whether it is a directory.
pub(super) fn is_dir(stat: &FileStat) -> bool {
    file_type(stat) == nix::libc::S_IFDIR
}

/// Whether it is a regular file.
pub(super) fn is_file(stat: &FileStat) -> bool {
    file_type(stat) == nix::libc::S_IFREG
}

/// Whether it is a symbolic link.
pub(super) fn is_link(stat: &FileStat) -> bool {
    file_type(stat) == nix::libc::S_IFLNK
}

fn file_type(stat: &FileStat) -> u32 {
    stat.st_mode & nix::libc::S_IFMT
}
