//! The paths of the pinned commit as checkout left them, read in step with the walk.

use crate::fields::open_regular;
use crate::stat_cache::{StatCacheEntry, StatCacheReader};
use isobox_domain::change::Mode;
use isobox_domain::repo_path::RepoPath;
use std::fs::File;
use std::io::{self, Read};
use std::os::unix::fs::FileExt;
use std::path::Path;
use std::sync::Arc;

/// The stat cache at some position.
pub(super) struct BaseCursor {
    reader: StatCacheReader<Window>,
    next: Option<StatCacheEntry>,
    /// The submodules that were passed.
    submodules: Vec<RepoPath>,
}

impl BaseCursor {
    /// Opens the stat cache at `host_path`, at its first entry.
    pub(super) fn open(host_path: &Path) -> io::Result<Self> {
        let mut reader = StatCacheReader::new(Window::new(open_regular(host_path)?))?;
        let next = reader.next().transpose()?;
        Ok(Self { reader, next, submodules: Vec::new() })
    }

    /// Takes the next entry.
    pub(super) fn take(&mut self) -> io::Result<Option<StatCacheEntry>> {
        let following = if self.next.is_some() { self.reader.next().transpose()? } else { None };
        let taken = std::mem::replace(&mut self.next, following);
        self.submodules.extend(taken.iter().filter(|entry| entry.mode == Mode::Submodule).map(|e| e.path.clone()));
        Ok(taken)
    }

    /// The innermost submodule that `path`, which was reached, lies in.
    pub(super) fn submodule_of(&self, path: &RepoPath) -> Option<RepoPath> {
        self.submodules.iter().rfind(|submodule| path.is_below(submodule)).cloned()
    }

    /// Takes the next entry if its path comes before `path`.
    pub(super) fn take_before(&mut self, path: &[u8]) -> io::Result<Option<StatCacheEntry>> {
        if self.next.as_ref().is_some_and(|next| next.path.as_bytes() < path) { self.take() } else { Ok(None) }
    }

    /// Takes the next entry if it is the one of `path`.
    pub(super) fn take_at(&mut self, path: &[u8]) -> io::Result<Option<StatCacheEntry>> {
        if self.next.as_ref().is_some_and(|next| next.path.as_bytes() == path) { self.take() } else { Ok(None) }
    }

    /// Whether the commit has a path below `directory`, which lies ahead.
    pub(super) fn has_below(&self, directory: &[u8]) -> io::Result<bool> {
        let prefix = [directory, b"/"].concat();
        Ok(self.find_from(&prefix)?.is_some_and(|entry| entry.path.as_bytes().starts_with(&prefix)))
    }

    /// The entry of `path`, which lies ahead.
    pub(super) fn find(&self, path: &[u8]) -> io::Result<Option<StatCacheEntry>> {
        Ok(self.find_from(path)?.filter(|entry| entry.path.as_bytes() == path))
    }

    /// The first entry from `path` on. Entries in between are read twice, but only as often as a directory that is
    /// looked at has a name which theirs begins with: few, and never more than the length of their path.
    fn find_from(&self, path: &[u8]) -> io::Result<Option<StatCacheEntry>> {
        let is_there = |entry: &StatCacheEntry| entry.path.as_bytes() >= path;
        match &self.next {
            None => Ok(None),
            Some(next) if is_there(next) => Ok(Some(next.clone())),
            Some(_) => self.reader.clone().find(|entry| entry.as_ref().map_or(true, is_there)).transpose(),
        }
    }
}

/// A buffered reader that can be cloned to read ahead.
#[derive(Clone)]
struct Window {
    file: Arc<File>,
    /// Where in the file the buffer ends.
    end: u64,
    buffer: Vec<u8>,
    position: usize,
}

impl Window {
    const BYTES: usize = 16 * 1024;

    fn new(file: File) -> Self {
        Self { file: Arc::new(file), end: 0, buffer: Vec::new(), position: 0 }
    }
}

impl Read for Window {
    fn read(&mut self, out: &mut [u8]) -> io::Result<usize> {
        if self.position == self.buffer.len() {
            self.position = 0;
            self.buffer.resize(Self::BYTES, 0);
            let length = self.file.read_at(&mut self.buffer, self.end);
            self.buffer.truncate(*length.as_ref().unwrap_or(&0));
            self.end += length? as u64;
        }
        let mut rest = &self.buffer[self.position..];
        let length = rest.read(out)?;
        self.position += length;
        Ok(length)
    }
}
