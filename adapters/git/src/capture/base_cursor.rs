//! The paths of the pinned commit as checkout left them, read in step with the walk.

use crate::stat_cache::{Position, StatCache, StatCacheEntry};
use isobox_domain::repo_path::RepoPath;
use std::io;
use std::path::Path;

/// Entries that are read one after the other before one that is looked for is searched.
const NEAR: usize = 16;

/// The stat cache at some position.
pub(super) struct BaseCursor {
    cache: StatCache,
    position: Position,
    /// In ascending order.
    submodules: Vec<RepoPath>,
}

impl BaseCursor {
    /// Opens the stat cache at `host_path`, at its first entry.
    pub(super) fn open(host_path: &Path) -> io::Result<Self> {
        let cache = StatCache::open(host_path)?;
        Ok(Self { position: cache.first()?, submodules: cache.submodules()?, cache })
    }

    /// The path of the next entry; `None` at the end.
    pub(super) fn next_path(&self) -> Option<&[u8]> {
        self.position.next.as_ref().map(|next| next.path.as_bytes())
    }

    /// Takes the next entry.
    pub(super) fn take(&mut self) -> io::Result<Option<StatCacheEntry>> {
        self.position.take()
    }

    /// Takes the next entry if it is the one of `path`.
    pub(super) fn take_at(&mut self, path: &[u8]) -> io::Result<Option<StatCacheEntry>> {
        if self.next_path() == Some(path) { self.take() } else { Ok(None) }
    }

    /// Passes by the entries before `path`.
    pub(super) fn seek(&mut self, path: &[u8]) -> io::Result<()> {
        for _ in 0..NEAR {
            if self.next_path().is_none_or(|next| next >= path) {
                return Ok(());
            }
            self.take()?;
        }
        self.position = self.cache.seek(path, &self.position)?;
        Ok(())
    }

    /// The innermost submodule that `path` lies in.
    pub(super) fn submodule_of(&self, path: &RepoPath) -> Option<RepoPath> {
        if self.submodules.is_empty() {
            return None;
        }
        let bytes = path.as_bytes();
        let around = (0..bytes.len()).rev().filter(|&end| bytes[end] == b'/').map(|end| &bytes[..end]);
        let find = |path: &[u8]| self.submodules.binary_search_by(|submodule| submodule.as_bytes().cmp(path)).ok();
        around.into_iter().find_map(find).map(|index| self.submodules[index].clone())
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

    /// The first entry from `path` on.
    fn find_from(&self, path: &[u8]) -> io::Result<Option<StatCacheEntry>> {
        match &self.position.next {
            Some(next) if next.path.as_bytes() < path => Ok(self.cache.seek(path, &self.position)?.next),
            next => Ok(next.clone()),
        }
    }
}
