//! An Archive as a Task Store that is only read: what reads records need not know where they lie.

mod objects;
mod read_only;
mod records;
mod verify;
mod write;

use crate::error::{error, failed, shown};
use isobox_ports::{StoreError, StoreErrorKind};
use isobox_store_format::archive::{Archive, ArchiveError, Row};
use nix::fcntl::OFlag;
use std::fs::{File, OpenOptions};
use std::io;
use std::os::unix::fs::OpenOptionsExt;
use std::path::Path;
use std::sync::Arc;

/// An Archive in a file. Its head and table were checked when it was opened, every object is verified when it is read.
#[derive(Clone, Debug)]
pub struct FsArchive {
    archive: Archive<Arc<File>>,
    shown: String,
    /// How long the file is, in bytes.
    length: u64,
}

impl FsArchive {
    /// Opens the Archive at `path`, links followed: the caller chose it. One that is not as long as it says is refused.
    pub fn open(path: &Path) -> Result<Self, StoreError> {
        let archive = Self::open_incomplete(path)?;
        archive.require_length()?;
        Ok(archive)
    }

    /// As [`open`](Self::open), but also one whose end is missing or that something follows: its objects may be whole.
    pub fn open_incomplete(path: &Path) -> Result<Self, StoreError> {
        let subject = shown(path);
        let file = open_file(path).map_err(failed("open archive", &subject))?;
        let length = file.metadata().map_err(failed("open archive", &subject))?.len();
        let archive = Archive::open(Arc::new(file)).map_err(|e| refused("open archive", &subject, e))?;
        Ok(Self { archive, shown: subject, length })
    }

    /// Fails unless the file is as long as it says.
    pub fn require_length(&self) -> Result<(), StoreError> {
        self.archive.require_length(self.length).map_err(|e| refused("open archive", &self.shown, e))
    }

    fn refused(&self, operation: &'static str) -> impl Fn(ArchiveError) -> StoreError + '_ {
        move |error| refused(operation, &self.shown, error)
    }

    /// The whole of a small object, verified.
    fn small(&self, row: &Row) -> Result<Vec<u8>, StoreError> {
        self.archive.small(row).map_err(self.refused("read from archive"))
    }
}

// O_NONBLOCK: a pipe must not hang the open.
fn open_file(path: &Path) -> io::Result<File> {
    let no_file = || io::Error::other("it is no regular file");
    // Looked at before it is opened: opening a device may do something by itself.
    if !std::fs::metadata(path)?.is_file() {
        return Err(no_file());
    }
    let flags = OFlag::O_NONBLOCK | OFlag::O_NOCTTY;
    let file = OpenOptions::new().read(true).custom_flags(flags.bits()).open(path)?;
    if file.metadata()?.is_file() { Ok(file) } else { Err(no_file()) }
}

fn refused(operation: &'static str, subject: &str, why: ArchiveError) -> StoreError {
    match why {
        // The file was as long as it should be when it was opened.
        ArchiveError::Io(cause) if cause.kind() == io::ErrorKind::UnexpectedEof => {
            error(StoreErrorKind::Damaged, operation, subject, "its end is missing")
        }
        ArchiveError::Io(cause) => failed(operation, subject)(cause),
        ArchiveError::NotAnArchive | ArchiveError::Version { .. } => {
            error(StoreErrorKind::Unsuitable, operation, subject, why)
        }
        why => error(StoreErrorKind::Damaged, operation, subject, why),
    }
}
