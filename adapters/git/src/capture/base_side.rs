//! The pinned commit's side of the walk: which of its paths are there no more, as the walk passes them by.
//!
//! A path of the commit that the walk does not name is gone if it is hidden, and untouched if it is not. Where the walk
//! goes through all of a Workspace, everything is hidden: its names are all there is. In the upper directory of an
//! overlay, that holds below what replaced or removed a directory alone.

use super::base_cursor::BaseCursor;
use crate::stat_cache::StatCacheEntry;
use isobox_domain::repo_path::RepoPath;
use std::io;
use std::path::Path;

/// The pinned commit's side.
pub(super) struct BaseSide {
    cursor: BaseCursor,
    /// Prefixes below which the commit's paths are hidden. The one that is reached first is last: a later one begins with
    /// the name of an earlier one, or with all of it.
    hidden: Vec<Vec<u8>>,
    /// Prefixes of directories about which nothing is known, so that nothing in them counts as deleted.
    unknown: Vec<Vec<u8>>,
}

impl BaseSide {
    /// Opens the stat cache at `host_path`, at its first entry. Nothing is hidden.
    pub(super) fn open(host_path: &Path) -> io::Result<Self> {
        Ok(Self { cursor: BaseCursor::open(host_path)?, hidden: Vec::new(), unknown: Vec::new() })
    }

    /// The next path that is gone, among those that come before `path` or up to the end.
    pub(super) fn next_deleted(&mut self, path: Option<&[u8]>) -> io::Result<Option<StatCacheEntry>> {
        loop {
            self.forget_passed();
            let is_passed = |next: &&[u8]| path.is_none_or(|path| *next < path);
            let Some(next) = self.cursor.next_path().filter(is_passed) else { return Ok(None) };
            match (self.hidden.last(), path) {
                (Some(prefix), _) if next.starts_with(prefix) => {
                    let is_unknown = self.unknown.iter().any(|prefix| next.starts_with(prefix));
                    let entry = self.cursor.take()?;
                    if !is_unknown {
                        return Ok(entry);
                    }
                }
                (Some(prefix), Some(path)) => self.cursor.seek(path.min(prefix))?,
                (Some(prefix), None) => self.cursor.seek(prefix)?,
                (None, Some(path)) => self.cursor.seek(path)?,
                (None, None) => return Ok(None),
            }
        }
    }

    /// Takes the commit's entry of `path`, which the walk names and has reached.
    pub(super) fn take_at(&mut self, path: &[u8]) -> io::Result<Option<StatCacheEntry>> {
        self.cursor.take_at(path)
    }

    /// Hides all that is below a prefix: nothing, or the path of a directory with its slash.
    pub(super) fn hide(&mut self, prefix: Vec<u8>) {
        if !self.is_hidden(&prefix) {
            self.hidden.push(prefix);
        }
    }

    /// Whether `path` is below a prefix that was hidden. One that the commit has nothing more below may be forgotten.
    pub(super) fn is_hidden(&self, path: &[u8]) -> bool {
        self.hidden.iter().any(|prefix| path.starts_with(prefix))
    }

    /// Keeps what is below the path of a directory, with its slash, from counting as deleted.
    pub(super) fn keep_unknown(&mut self, prefix: Vec<u8>) {
        self.unknown.push(prefix);
    }

    /// Whether the commit has a path below `directory`, which lies ahead.
    pub(super) fn has_below(&self, directory: &[u8]) -> io::Result<bool> {
        self.cursor.has_below(directory)
    }

    /// The commit's entry of `path`, which lies ahead.
    pub(super) fn find(&self, path: &[u8]) -> io::Result<Option<StatCacheEntry>> {
        self.cursor.find(path)
    }

    /// The innermost submodule that `path` lies in.
    pub(super) fn submodule_of(&self, path: &RepoPath) -> Option<RepoPath> {
        self.cursor.submodule_of(path)
    }

    fn forget_passed(&mut self) {
        let next = self.cursor.next_path();
        let is_ahead = |prefix: &Vec<u8>| next.is_some_and(|next| next < prefix.as_slice() || next.starts_with(prefix));
        while self.hidden.pop_if(|prefix| !is_ahead(prefix)).is_some() {}
        self.unknown.retain(is_ahead);
    }
}
