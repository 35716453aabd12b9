//! Small private files of the user: read only where nobody else could have known or chosen them, made whole and once.

use crate::directories::{Directories, DirectoriesError};
use isobox_domain::escape::Escaped;
use nix::fcntl::OFlag;
use nix::unistd::geteuid;
use std::fs::{File, Metadata, OpenOptions};
use std::io::{self, Read, Write};
use std::os::unix::fs::{MetadataExt, OpenOptionsExt};
use std::path::Path;
use tempfile::NamedTempFile;

/// A private file cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum PrivateFileError {
    /// Its directory cannot be used.
    #[error(transparent)]
    Directory(#[from] DirectoriesError),
    /// What is there is no private file, or not what it should be.
    #[error("{host_path} is not a key that isobox trusts: {reason}")]
    Untrusted {
        /// The file, escaped for people.
        host_path: String,
        /// Why not.
        reason: String,
    },
    /// The system refused.
    #[error("{operation} {host_path}")]
    Io {
        /// What was being done.
        operation: &'static str,
        /// The file, escaped for people.
        host_path: String,
        /// What the system said.
        #[source]
        source: io::Error,
    },
}

/// Whether a file was made.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Made {
    /// It was.
    Now,
    /// There was one already, which was left as it is.
    Before,
}

/// What is in a file of at most `limit` bytes; `None` where there is none.
pub(crate) fn load(host_path: &Path, limit: usize) -> Result<Option<Vec<u8>>, PrivateFileError> {
    // O_NONBLOCK: a FIFO in the place of the file must not block.
    let flags = OFlag::O_NOFOLLOW | OFlag::O_NONBLOCK | OFlag::O_NOCTTY;
    let file = match OpenOptions::new().read(true).custom_flags(flags.bits()).open(host_path) {
        Ok(file) => file,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
        Err(error) if error.raw_os_error() == Some(nix::libc::ELOOP) => {
            return Err(untrusted(host_path, "it is a symbolic link".to_owned()));
        }
        Err(source) => return Err(io_error("open", host_path, source)),
    };
    let found = file.metadata().map_err(|source| io_error("look at", host_path, source))?;
    if let Some(reason) = distrust(&found, limit) {
        return Err(untrusted(host_path, reason));
    }
    let mut bytes = Vec::new();
    let read = file.take(limit as u64).read_to_end(&mut bytes);
    read.map_err(|source| io_error("read", host_path, source))?;
    Ok(Some(bytes))
}

fn distrust(found: &Metadata, limit: usize) -> Option<String> {
    let user = geteuid().as_raw();
    if !found.is_file() {
        return Some("it is not a regular file".to_owned());
    }
    if found.uid() != user {
        return Some(format!("it belongs to user {}, and this is user {user}", found.uid()));
    }
    if found.mode() & 0o077 != 0 {
        return Some(format!("others can get at it (mode {:04o}, expected 0600)", found.mode() & 0o7777));
    }
    let length = found.len();
    (length > limit as u64).then(|| format!("it has {length} bytes, expected at most {limit}"))
}

/// Makes a file, unless there is one. Whole and on disk before it has its name: nothing may refer to what a crash takes away.
pub(crate) fn create(host_path: &Path, bytes: &[u8]) -> Result<Made, PrivateFileError> {
    let (folder, file) = written(host_path, bytes)?;
    match file.persist_noclobber(host_path) {
        Ok(_) => {
            sync(folder).map(|()| Made::Now).map_err(|source| io_error("flush the directory of", host_path, source))
        }
        Err(lost) if lost.error.kind() == io::ErrorKind::AlreadyExists => Ok(Made::Before),
        Err(failed) => Err(io_error("create", host_path, failed.error)),
    }
}

/// Writes a file whole and durably, over one that is there.
pub(crate) fn replace(host_path: &Path, bytes: &[u8]) -> Result<(), PrivateFileError> {
    let (folder, file) = written(host_path, bytes)?;
    file.persist(host_path).map_err(|failed| io_error("replace", host_path, failed.error))?;
    sync(folder).map_err(|source| io_error("flush the directory of", host_path, source))
}

fn written<'a>(host_path: &'a Path, bytes: &[u8]) -> Result<(&'a Path, NamedTempFile), PrivateFileError> {
    let io = |operation| move |source| io_error(operation, host_path, source);
    let folder = host_path.parent().unwrap_or(Path::new("/"));
    Directories::create(folder)?;
    let mut file = tempfile::Builder::new().prefix(".new-").tempfile_in(folder).map_err(io("create"))?;
    file.write_all(bytes).map_err(io("write"))?;
    file.as_file().sync_all().map_err(io("flush"))?;
    Ok((folder, file))
}

fn sync(folder: &Path) -> io::Result<()> {
    File::open(folder).and_then(|folder| folder.sync_all())
}

/// A file that is not what it should be.
pub(crate) fn untrusted(host_path: &Path, reason: String) -> PrivateFileError {
    PrivateFileError::Untrusted { host_path: Escaped::path(host_path).to_string(), reason }
}

/// What the system said.
pub(crate) fn io_error(operation: &'static str, host_path: &Path, source: io::Error) -> PrivateFileError {
    PrivateFileError::Io { operation, host_path: Escaped::path(host_path).to_string(), source }
}
