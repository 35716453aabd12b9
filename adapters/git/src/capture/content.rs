//! The content of one file or link of a Workspace, read through one handle as often as it is needed.

use super::found::{Entry, unreadable};
use crate::beneath::{self, Kind, Seen};
use crate::{oid, patch};
use isobox_domain::change::{Mode, NotCapturedReason};
use isobox_domain::git_oid::GitOid;
use nix::errno::Errno;
use std::fs::File;
use std::io::{self, Read, Seek};

/// Longest file that is captured, in bytes: the longest object of a Task Store.
const MAX_FILE_BYTES: u64 = 64 * 1024 * 1024 * 1024;
/// Holes that are read in one capture, in bytes. A hole costs a workload nothing and isobox the time to read it.
pub(super) const MAX_HOLE_BYTES: u64 = 16 * 1024 * 1024 * 1024;
/// Git takes content for binary when a NUL byte is among its first 8,000 bytes.
const BINARY_HEAD: usize = 8_000;
/// How much is compared at a time, in bytes.
const PIECE_BYTES: usize = 64 * 1024;

/// The content of a file or link.
pub(super) struct Content {
    source: Source,
    seen: Seen,
}

enum Source {
    File(File),
    Target(Vec<u8>),
}

impl Content {
    /// Opens the content of `entry`. `holes_left` counts down the holes that may still be read.
    pub(super) fn open(entry: &Entry, holes_left: &mut u64) -> Result<Self, NotCapturedReason> {
        let seen = entry.seen;
        let name = entry.path.file_name();
        if seen.kind() == Kind::Symlink {
            let target = beneath::read_link(&*entry.directory, name).map_err(unreadable)?;
            return Ok(Self { source: Source::Target(target), seen });
        }
        let length = seen.stat.size;
        let holes = length.saturating_sub(seen.allocated);
        if length.max(seen.allocated) > MAX_FILE_BYTES || holes > *holes_left {
            return Err(NotCapturedReason::TooLarge { length });
        }
        *holes_left -= holes;
        let file = beneath::open_file(&*entry.directory, name).map_err(|errno| match errno {
            // It was a regular file when it was looked at.
            Errno::EINVAL | Errno::ELOOP | Errno::ENOENT | Errno::ENXIO => moved(),
            errno => unreadable(errno),
        })?;
        let content = Self { source: Source::File(file), seen };
        if content.is_as_seen() { Ok(content) } else { Err(moved()) }
    }

    /// Its kind, as far as Git can tell.
    pub(super) fn mode(&self) -> Mode {
        match self.source {
            Source::Target(_) => Mode::Symlink,
            // Git looks at the owner's bit alone.
            Source::File(_) if self.seen.stat.mode & 0o100 != 0 => Mode::Executable,
            Source::File(_) => Mode::File,
        }
    }

    /// Its length in bytes.
    pub(super) fn length(&self) -> u64 {
        match &self.source {
            Source::Target(target) => target.len() as u64,
            Source::File(_) => self.seen.stat.size,
        }
    }

    /// Whether its bytes are exactly those of `expected`.
    pub(super) fn is_equal_to(&mut self, expected: &mut dyn Read) -> io::Result<bool> {
        let mut content = self.read()?;
        let (mut found, mut wanted) = (vec![0; PIECE_BYTES], vec![0; PIECE_BYTES]);
        loop {
            let count = content.read(&mut found)?;
            if count == 0 {
                return Ok(expected.read(&mut wanted[..1])? == 0);
            }
            match expected.read_exact(&mut wanted[..count]) {
                Err(error) if error.kind() == io::ErrorKind::UnexpectedEof => return Ok(false),
                read => read?,
            }
            if found[..count] != wanted[..count] {
                return Ok(false);
            }
        }
    }

    /// Whether it is Git's blob `oid`.
    pub(super) fn is_blob(&mut self, oid: &GitOid) -> io::Result<bool> {
        let oid = oid::to_gix(oid);
        let mut hasher = oid::blob_hasher(oid.kind(), self.length());
        oid::hash_all(&mut hasher, &mut self.read()?)?;
        Ok(hasher.try_finalize().is_ok_and(|found| found == oid))
    }

    /// Opens it at its beginning, up to the length that was seen.
    pub(super) fn read(&mut self) -> io::Result<Box<dyn Read + '_>> {
        match &mut self.source {
            Source::Target(target) => Ok(Box::new(target.as_slice())),
            Source::File(file) => {
                file.rewind()?;
                Ok(Box::new(file.take(self.seen.stat.size)))
            }
        }
    }

    /// Whether the file is still the one, with the size and times, that was looked at.
    pub(super) fn is_as_seen(&self) -> bool {
        match &self.source {
            Source::Target(_) => true,
            // Not what it takes on disk: a file system may settle that later.
            Source::File(file) => beneath::look_at_open(file)
                .is_ok_and(|now| (now.stat, now.device) == (self.seen.stat, self.seen.device)),
        }
    }
}

impl patch::Content for Content {
    fn open(&mut self) -> io::Result<Box<dyn Read + '_>> {
        self.read()
    }
}

/// Why a file is left out that is not what it was when it was looked at.
pub(super) fn moved() -> NotCapturedReason {
    NotCapturedReason::Unreadable("it changed while it was being read".to_owned())
}

/// A reader that remembers what a store asks about content, and whether it was the reading that failed.
pub(super) struct Tap<R> {
    inner: R,
    head_left: usize,
    /// Whether a NUL byte was among the first bytes.
    pub(super) is_binary: bool,
    /// Why reading failed.
    pub(super) error: Option<String>,
}

impl<R> Tap<R> {
    pub(super) fn new(inner: R) -> Self {
        Self { inner, head_left: BINARY_HEAD, is_binary: false, error: None }
    }
}

impl<R: Read> Read for Tap<R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let count = self.inner.read(buffer).inspect_err(|error| self.error = Some(error.to_string()))?;
        let head = count.min(self.head_left);
        self.is_binary |= buffer[..head].contains(&0);
        self.head_left -= head;
        Ok(count)
    }
}
