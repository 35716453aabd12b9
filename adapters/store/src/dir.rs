//! Directories by handle: nothing below one is reached through a symbolic link.

use crate::error::{Subject, shown};
use crate::owner::Owner;
use nix::NixPath;
use nix::errno::Errno;
use nix::fcntl::{AtFlags, OFlag, openat, renameat};
use nix::sys::stat::{Mode, SFlag, fstat, fstatat, mkdirat};
use nix::unistd::{LinkatFlags, UnlinkatFlags, linkat, unlinkat};
use rustix::fs::RawDir;
use std::ffi::{CStr, OsStr};
use std::fs::File;
use std::io;
use std::mem::MaybeUninit;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

/// How a file is opened.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Access {
    /// For reading; it must be there.
    Read,
    /// For reading and writing; it must be there.
    Existing,
    /// For reading and writing; created empty where it is not there.
    Create,
    /// For reading and writing; it must not be there.
    CreateNew,
    /// For reading and writing; one that is there is removed first. Never emptied in place: a large artifact that was
    /// linked into the store is the same file.
    Fresh,
    /// For reading and writing; one that is there serves if it is empty, else it is removed first.
    Empty,
}

/// An open directory.
#[derive(Debug)]
pub(crate) struct Dir {
    fd: OwnedFd,
    path: PathBuf,
}

const DIRECTORY: OFlag = OFlag::O_RDONLY.union(OFlag::O_DIRECTORY).union(OFlag::O_CLOEXEC);
// O_NONBLOCK: a pipe that somebody put here must not hang the open.
const FILE: OFlag = OFlag::O_NOFOLLOW.union(OFlag::O_CLOEXEC).union(OFlag::O_NONBLOCK);
const PRIVATE: Mode = Mode::S_IRUSR.union(Mode::S_IWUSR);

impl Dir {
    /// Opens the directory at `path`, links followed: the caller chose it.
    pub(crate) fn open(path: &Path) -> io::Result<Self> {
        let fd = nix::fcntl::open(path, DIRECTORY, Mode::empty())?;
        Ok(Self { fd, path: path.to_owned() })
    }

    /// Opens a directory in this one.
    pub(crate) fn dir<N: NixPath + AsRef<Path> + ?Sized>(&self, name: &N) -> io::Result<Self> {
        let fd = openat(&self.fd, name, DIRECTORY | OFlag::O_NOFOLLOW, Mode::empty())?;
        Ok(Self { fd, path: self.path.join(name) })
    }

    /// The same directory, which is called `name` in `parent` by now.
    pub(crate) fn moved(self, parent: &Self, name: &str) -> Self {
        Self { path: parent.path.join(name), ..self }
    }

    /// Opens a directory in this one only to go on from there: it need not be readable.
    pub(crate) fn passage<N: NixPath + AsRef<Path> + ?Sized>(&self, name: &N) -> io::Result<Self> {
        let flags = OFlag::O_PATH | OFlag::O_DIRECTORY | OFlag::O_NOFOLLOW | OFlag::O_CLOEXEC;
        let fd = openat(&self.fd, name, flags, Mode::empty())?;
        Ok(Self { fd, path: self.path.join(name) })
    }

    /// Makes a directory of mode 0700 in this one, with the same owner; whether it was not there before.
    pub(crate) fn make_dir<N: AsRef<OsStr> + ?Sized>(&self, name: &N) -> io::Result<bool> {
        let made = match Owner::of_new_in(self)? {
            Some(owner) => owner.make_dir(self, name.as_ref().as_bytes()),
            None => mkdirat(&self.fd, name.as_ref(), Mode::S_IRWXU),
        };
        match made {
            Ok(()) => Ok(true),
            Err(nix::errno::Errno::EEXIST) => Ok(false),
            Err(errno) => Err(errno.into()),
        }
    }

    /// Makes a directory of mode 0700 in this one that belongs to whoever runs this process.
    pub(crate) fn make_own_dir(&self, name: &str) -> io::Result<()> {
        Ok(mkdirat(&self.fd, name, Mode::S_IRWXU)?)
    }

    /// Opens a file in this directory; one that is made has mode 0600, and the owner of the directory.
    pub(crate) fn file(&self, name: &str, access: Access) -> io::Result<File> {
        if access == Access::Empty
            && let Some(file) = self.find_empty(name)
        {
            return Ok(file);
        }
        if matches!(access, Access::Fresh | Access::Empty) {
            self.remove_file(name)?;
        }
        let file = match access {
            Access::Read => self.open_file(name, OFlag::O_RDONLY)?,
            Access::Existing => self.open_file(name, OFlag::O_RDWR)?,
            Access::Create => self.open_or_make_file(name)?,
            Access::CreateNew | Access::Fresh | Access::Empty => self.make_file(name)?,
        };
        if file.metadata()?.is_file() { Ok(file) } else { Err(no_file()) }
    }

    fn find_empty(&self, name: &str) -> Option<File> {
        let file = self.open_file(name, OFlag::O_RDWR).ok()?;
        let metadata = file.metadata().ok()?;
        (metadata.is_file() && metadata.len() == 0 && metadata.nlink() == 1).then_some(file)
    }

    fn open_or_make_file(&self, name: &str) -> io::Result<File> {
        match self.open_file(name, OFlag::O_RDWR) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => {}
            opened => return opened,
        }
        match self.make_file(name) {
            // Another process was faster.
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists => self.open_file(name, OFlag::O_RDWR),
            made => made,
        }
    }

    fn make_file(&self, name: &str) -> io::Result<File> {
        match Owner::of_new_in(self)? {
            Some(owner) => Ok(owner.make_file(self, name, OFlag::O_RDWR | FILE, PRIVATE)?),
            None => self.open_file(name, OFlag::O_RDWR | OFlag::O_CREAT | OFlag::O_EXCL),
        }
    }

    fn open_file(&self, name: &str, flags: OFlag) -> io::Result<File> {
        Ok(File::from(openat(&self.fd, name, flags | FILE, PRIVATE)?))
    }

    /// As [`file`](Self::file) for reading, `None` where there is none.
    pub(crate) fn find_file(&self, name: &str) -> io::Result<Option<File>> {
        absent_is_none(self.file(name, Access::Read))
    }

    /// As [`dir`](Self::dir), `None` where there is none.
    pub(crate) fn find_dir(&self, name: &str) -> io::Result<Option<Self>> {
        absent_is_none(self.dir(name))
    }

    /// Moves `name` to `target` in `to`, replacing a file there.
    pub(crate) fn rename(&self, name: &str, to: &Dir, target: &str) -> io::Result<()> {
        Ok(renameat(&self.fd, name, &to.fd, target)?)
    }

    /// Gives the file `name` a second name. Errs where there is one already.
    pub(crate) fn link(&self, name: &str, to: &Dir, target: &str) -> io::Result<()> {
        Ok(linkat(&self.fd, name, &to.fd, target, AtFlags::from_bits_truncate(LinkatFlags::empty().bits()))?)
    }

    /// Removes a file; one that is not there is fine.
    pub(crate) fn remove_file(&self, name: &str) -> io::Result<()> {
        absent_is_none(unlinkat(&self.fd, name, UnlinkatFlags::NoRemoveDir).map_err(io::Error::from)).map(drop)
    }

    /// Removes a directory in this one with the files in it; deeper ones are an error.
    pub(crate) fn remove_dir(&self, name: &str) -> io::Result<()> {
        let Some(dir) = self.find_dir(name)? else { return Ok(()) };
        for file in dir.names()? {
            dir.remove_file(&file)?;
        }
        absent_is_none(unlinkat(&self.fd, name, UnlinkatFlags::RemoveDir).map_err(io::Error::from)).map(drop)
    }

    /// The names in this directory that are UTF-8, in no order; isobox makes no others.
    pub(crate) fn names(&self) -> io::Result<Vec<String>> {
        let mut names = Vec::new();
        self.for_each_name(|name| names.extend(name.to_str().ok().map(str::to_owned)))?;
        Ok(names)
    }

    fn for_each_name(&self, mut take: impl FnMut(&CStr)) -> io::Result<()> {
        // Opened once more: how far a directory was read is the same for all who share a descriptor.
        let dir = openat(&self.fd, ".", DIRECTORY, Mode::empty())?;
        let mut buffer = [MaybeUninit::uninit(); 8192];
        let mut entries = RawDir::new(dir, &mut buffer);
        while let Some(entry) = entries.next() {
            let entry = entry?;
            if !matches!(entry.file_name().to_bytes(), b"." | b"..") {
                take(entry.file_name());
            }
        }
        Ok(())
    }

    /// Whether this directory has no names but `known` ones.
    pub(crate) fn has_only(&self, known: &[&str]) -> io::Result<bool> {
        let mut has_only = true;
        self.for_each_name(|name| has_only &= known.iter().any(|known| known.as_bytes() == name.to_bytes()))?;
        Ok(has_only)
    }

    /// Whether this directory is the one that is called `name` in `parent`.
    pub(crate) fn is_named(&self, parent: &Dir, name: &str) -> io::Result<bool> {
        let (own, named) = (fstat(self)?, fstatat(&parent.fd, name, AtFlags::AT_SYMLINK_NOFOLLOW));
        let named = absent_is_none(named.map_err(io::Error::from))?;
        Ok(named.is_some_and(|named| (named.st_dev, named.st_ino) == (own.st_dev, own.st_ino)))
    }

    /// The inode and the length of a file in this directory, `None` where there is none.
    pub(crate) fn identity(&self, name: &str) -> io::Result<Option<(u64, u64)>> {
        let stat = fstatat(&self.fd, name, AtFlags::AT_SYMLINK_NOFOLLOW).map_err(io::Error::from);
        // A length is never negative.
        Ok(absent_is_none(stat)?.map(|stat| (stat.st_ino, stat.st_size as u64)))
    }

    /// The length of a file in this directory; `None` where there is none, [`is_no_file`] where there is something else.
    pub(crate) fn file_length(&self, name: &str) -> io::Result<Option<u64>> {
        let stat = fstatat(&self.fd, name, AtFlags::AT_SYMLINK_NOFOLLOW).map_err(io::Error::from);
        match absent_is_none(stat)? {
            Some(stat) if SFlag::from_bits_truncate(stat.st_mode) & SFlag::S_IFMT != SFlag::S_IFREG => Err(no_file()),
            // A length is never negative.
            found => Ok(found.map(|stat| stat.st_size as u64)),
        }
    }

    /// When names in this directory last changed, in seconds and nanoseconds.
    pub(crate) fn modified(&self) -> io::Result<(i64, i64)> {
        let stat = fstat(&self.fd)?;
        Ok((stat.st_mtime, stat.st_mtime_nsec))
    }

    /// The same for the directory `name` in this one; `None` where there is none, but perhaps something else.
    pub(crate) fn modified_below(&self, name: &str) -> io::Result<Option<(i64, i64)>> {
        let stat = absent_is_none(fstatat(&self.fd, name, AtFlags::AT_SYMLINK_NOFOLLOW).map_err(io::Error::from))?;
        let is_directory = |mode| SFlag::from_bits_truncate(mode) & SFlag::S_IFMT == SFlag::S_IFDIR;
        Ok(stat.filter(|stat| is_directory(stat.st_mode)).map(|stat| (stat.st_mtime, stat.st_mtime_nsec)))
    }

    /// Makes what was created, renamed and removed in this directory survive a power cut.
    pub(crate) fn sync(&self) -> io::Result<()> {
        Ok(nix::unistd::fsync(&self.fd)?)
    }

    /// The path of `name` in this directory, for people.
    pub(crate) fn shown<'a>(&'a self, name: &'a str) -> Subject<impl Fn() -> String + 'a> {
        Subject(move || shown(&self.path.join(name)))
    }

    /// The directory as a file, to be locked or looked at.
    pub(crate) fn as_file(&self) -> io::Result<File> {
        Ok(File::from(self.fd.try_clone()?))
    }

    /// The path of this directory.
    pub(crate) fn path(&self) -> &Path {
        &self.path
    }
}

impl AsFd for Dir {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.fd.as_fd()
    }
}

fn no_file() -> io::Error {
    io::Error::other("it is no regular file")
}

/// Whether a file was not opened because something else lies in its place: a link, a pipe, a directory.
pub(crate) fn is_no_file(error: &io::Error) -> bool {
    matches!(error.kind(), io::ErrorKind::NotADirectory | io::ErrorKind::IsADirectory | io::ErrorKind::Other)
        || error.raw_os_error() == Some(Errno::ELOOP as i32)
}

/// `None` in place of the error that something is not there.
pub(crate) fn absent_is_none<T>(result: io::Result<T>) -> io::Result<Option<T>> {
    match result {
        Ok(value) => Ok(Some(value)),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
        Err(error) => Err(error),
    }
}
