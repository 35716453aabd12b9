//! Record directories through handles: nothing is reached through a link, and nothing is changed.

use crate::shown;
use isobox_domain::content::parse_hex;
use isobox_domain::repo_path::RepoPath;
use isobox_domain::v1::RECORD_FILE;
use isobox_ports::{
    FileError, MAX_V1_FILE_BYTES, MAX_V1_RECORD_BYTES, V1Directories, V1Directory, V1Error, V1File, V1Names,
};
use nix::dir::Dir;
use nix::errno::Errno;
use nix::fcntl::{AtFlags, OFlag, OpenHow, ResolveFlag, openat2};
use nix::sys::stat::{FileStat, Mode, SFlag, fstat, fstatat};
use std::ffi::OsStr;
use std::fs::File;
use std::io::{self, Read};
use std::os::fd::{AsFd, OwnedFd};
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

const DIRECTORY: OFlag = OFlag::O_DIRECTORY.union(OFlag::O_CLOEXEC);
// O_NONBLOCK: what turns into a pipe after it was looked at must not block.
const FILE: OFlag = OFlag::O_NOFOLLOW.union(OFlag::O_NONBLOCK).union(OFlag::O_NOCTTY).union(OFlag::O_CLOEXEC);

// openat2(2) takes no other flags with O_PATH.
const LOOK: OFlag = OFlag::O_PATH.union(OFlag::O_NOFOLLOW).union(OFlag::O_CLOEXEC);

/// The record directories in a directory, or a record directory itself.
#[derive(Debug)]
pub struct FsV1Directories {
    handle: OwnedFd,
    host_path: PathBuf,
    /// The name of the directory if it is a record directory itself.
    own_name: Option<Vec<u8>>,
}

impl FsV1Directories {
    /// Opens `host_path`; links on the way are followed, since the caller chose them.
    pub fn open(host_path: &Path) -> Result<Self, V1Error> {
        let failed = |errno| failure("open", host_path, errno);
        let handle = nix::fcntl::open(host_path, DIRECTORY, Mode::empty()).map_err(failed)?;
        let is_record = is_there(&handle, OsStr::new(RECORD_FILE)).map_err(failed)?;
        let own_name = is_record.then(|| own_name(host_path)).transpose()?;
        Ok(Self { handle, host_path: host_path.to_owned(), own_name })
    }

    // Besides what is named like a record directory, whatever holds a record: that somebody renamed it is worth telling.
    fn is_listed(&self, name: &[u8]) -> bool {
        let is_named = name.strip_prefix(b"task-").and_then(|digits| std::str::from_utf8(digits).ok());
        is_named.and_then(parse_hex::<8>).is_some() || self.holds_record(name)
    }

    fn holds_record(&self, name: &[u8]) -> bool {
        let is_plain = !matches!(name, b"." | b"..");
        let opened = is_plain.then(|| open_beneath(&self.handle, name, DIRECTORY | OFlag::O_PATH));
        opened.is_some_and(|opened| opened.is_ok_and(|opened| is_there(opened, OsStr::new(RECORD_FILE)) == Ok(true)))
    }
}

fn own_name(host_path: &Path) -> Result<Vec<u8>, V1Error> {
    let failed = |source: io::Error| FileError {
        operation: "find the name of",
        host_path: shown(host_path),
        source: source.into(),
    };
    let real = host_path.canonicalize().map_err(failed)?;
    Ok(real.file_name().unwrap_or_default().as_bytes().to_vec())
}

impl V1Directories for FsV1Directories {
    fn names(&self) -> Result<V1Names<'_>, V1Error> {
        if let Some(name) = &self.own_name {
            return Ok(Box::new(std::iter::once(Ok(name.clone()))));
        }
        let failed = |errno| failure("list", &self.host_path, errno);
        let listing = Dir::openat(&self.handle, ".", DIRECTORY, Mode::empty()).map_err(failed)?;
        let names = listing.into_iter().map(move |entry| entry.map(|entry| entry.file_name().to_bytes().to_vec()));
        let is_listed = |name: &Result<Vec<u8>, Errno>| name.as_ref().map_or(true, |name| self.is_listed(name));
        Ok(Box::new(names.filter(is_listed).map(move |name| name.map_err(failed))))
    }

    fn open(&self, name: &[u8]) -> Result<Box<dyn V1Directory>, V1Error> {
        let (host_path, opened) = match &self.own_name {
            Some(_) => (self.host_path.clone(), open_beneath(&self.handle, b".", DIRECTORY)),
            None => (self.host_path.join(OsStr::from_bytes(name)), open_beneath(&self.handle, name, DIRECTORY)),
        };
        let handle = opened.map_err(|errno| failure("open", &host_path, errno))?;
        Ok(Box::new(RecordDirectory { handle, host_path }))
    }
}

struct RecordDirectory {
    handle: OwnedFd,
    host_path: PathBuf,
}

impl V1Directory for RecordDirectory {
    fn record_json(&self) -> Result<Option<Vec<u8>>, V1Error> {
        let Some((mut content, length)) = self.open_file(RECORD_FILE.as_bytes(), MAX_V1_RECORD_BYTES)? else {
            return Ok(None);
        };
        let mut json = Vec::with_capacity(usize::try_from(length).unwrap_or_default());
        let read = content.read_to_end(&mut json);
        read.map_err(|source| FileError {
            operation: "read",
            host_path: shown(&self.host_path.join(RECORD_FILE)),
            source: source.into(),
        })?;
        Ok(Some(json))
    }

    fn file(&self, path: &RepoPath) -> Result<Option<V1File>, V1Error> {
        let opened = self.open_file(path.as_bytes(), MAX_V1_FILE_BYTES)?;
        Ok(opened.map(|(content, length)| V1File { length, content: Box::new(content) }))
    }
}

impl RecordDirectory {
    fn open_file(&self, path: &[u8], limit: u64) -> Result<Option<(Whole, u64)>, V1Error> {
        let host_path = self.host_path.join(OsStr::from_bytes(path));
        let refused = |found| V1Error::Refused { host_path: shown(&host_path), found };
        // Looked at before it is opened: opening a device may do something by itself.
        let file = match self.look_and_open(path) {
            Ok(Ok(file)) => file,
            Ok(Err(found)) => return Err(refused(found)),
            Err(Errno::ENOENT) => return Ok(None),
            Err(errno) => return Err(failure("open", &host_path, errno)),
        };
        let stat = fstat(&file).map_err(|errno| failure("look at", &host_path, errno))?;
        let length = u64::try_from(stat.st_size).unwrap_or_default();
        match (kind(&stat), length <= limit) {
            (None, true) => Ok(Some((Whole { file: File::from(file), left: length }, length))),
            (None, false) => Err(refused("larger than isobox reads")),
            (Some(found), _) => Err(refused(found)),
        }
    }

    fn look_and_open(&self, path: &[u8]) -> Result<Result<OwnedFd, &'static str>, Errno> {
        let seen = fstat(open_beneath(&self.handle, path, LOOK)?)?;
        match kind(&seen) {
            Some(found) => Ok(Err(found)),
            None => open_beneath(&self.handle, path, FILE).map(Ok),
        }
    }
}

/// What something is, in words, unless it is a regular file.
fn kind(stat: &FileStat) -> Option<&'static str> {
    match SFlag::from_bits_truncate(stat.st_mode & SFlag::S_IFMT.bits()) {
        SFlag::S_IFREG => None,
        SFlag::S_IFLNK => Some("a symbolic link"),
        SFlag::S_IFDIR => Some("a directory"),
        SFlag::S_IFIFO => Some("a pipe"),
        SFlag::S_IFSOCK => Some("a socket"),
        _ => Some("a device"),
    }
}

fn open_beneath(handle: impl AsFd, path: &[u8], flags: OFlag) -> Result<OwnedFd, Errno> {
    let resolve = ResolveFlag::RESOLVE_BENEATH
        | ResolveFlag::RESOLVE_NO_SYMLINKS
        | ResolveFlag::RESOLVE_NO_MAGICLINKS
        | ResolveFlag::RESOLVE_NO_XDEV;
    openat2(handle, OsStr::from_bytes(path), OpenHow::new().flags(flags).resolve(resolve))
}

fn is_there(handle: impl AsFd, name: &OsStr) -> Result<bool, Errno> {
    match fstatat(handle, name, AtFlags::AT_SYMLINK_NOFOLLOW) {
        Ok(_) => Ok(true),
        Err(Errno::ENOENT) => Ok(false),
        Err(errno) => Err(errno),
    }
}

fn failure(operation: &'static str, host_path: &Path, errno: Errno) -> V1Error {
    let host_path = shown(host_path);
    match errno {
        Errno::ELOOP => V1Error::Refused { host_path, found: "a symbolic link, or lies behind one" },
        Errno::EXDEV => V1Error::Refused { host_path, found: "outside of the directory, or on another file system" },
        Errno::ENOTDIR => V1Error::Refused { host_path, found: "no directory, or lies behind something that is none" },
        errno => V1Error::Io(FileError { operation, host_path, source: io::Error::from(errno).into() }),
    }
}

/// A file of exactly the length that it had when it was opened.
struct Whole {
    file: File,
    left: u64,
}

impl Read for Whole {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let wanted = buffer.len().min(usize::try_from(self.left).unwrap_or(usize::MAX));
        let count = self.file.read(&mut buffer[..wanted])?;
        self.left -= count as u64;
        match count == 0 && wanted > 0 {
            true => Err(io::Error::other("it became shorter while it was read")),
            false => Ok(count),
        }
    }
}
