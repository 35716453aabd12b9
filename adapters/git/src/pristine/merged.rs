//! The stat cache and the index of a layer: those of the copy below with what differs, as streams.

use super::held::Held;
use crate::oid;
use crate::stat_cache::{StatCache, StatCacheEntry, StatCacheWriter};
use crate::workspace::checkout::Made;
use crate::workspace::creation;
use crate::workspace::failure;
use crate::workspace::index::IndexWriter;
use crate::workspace::layout::Destination;
use crate::workspace::pinned::Tracked;
use isobox_domain::repo_path::RepoPath;
use isobox_ports::WorkspaceError;
use std::collections::BTreeSet;
use std::io;
use std::os::unix::fs::MetadataExt;

/// What a layer changes in the copy that it lies on.
pub(super) struct Merge<'a> {
    /// That copy.
    pub(super) lower: &'a Held,
    /// Files, and directories with all that was in them.
    pub(super) gone: &'a BTreeSet<RepoPath>,
    /// What lies in the layer itself, in ascending order of path bytes.
    pub(super) tracked: &'a [Tracked],
    /// As it was made.
    pub(super) made: &'a [Made],
    /// Submodules that are checked out: what is in them is in no index.
    pub(super) submodules: Vec<&'a RepoPath>,
    /// Where the layer is made.
    pub(super) destination: &'a Destination,
}

/// Writes both: how many paths there are.
pub(super) fn write(merge: &Merge<'_>) -> Result<u64, WorkspaceError> {
    let write = || {
        let mut index = IndexWriter::create(&merge.destination.root.join(".git"))?;
        let paths = merge.write(&mut index)?;
        index.finish(oid::kind(&merge.lower.seal.commit))?;
        Ok(paths)
    };
    write().map_err(|e: io::Error| failure("write the stat cache and the index of a pristine copy", e))
}

impl Merge<'_> {
    fn write(&self, index: &mut IndexWriter) -> io::Result<u64> {
        let mut out =
            Out { cache: StatCacheWriter::create(&self.destination.stat_cache)?, index, paths: 0, merge: self };
        let created = out.cache.created_at_ns()?;
        // All that checkout made below was made for one owner, on one device.
        let around = self.lower.place.join("tree").metadata()?;
        let mut own = self
            .tracked
            .iter()
            .zip(self.made)
            .map(|(tracked, made)| (creation::entry(tracked, made, created), *made))
            .peekable();
        let mut below = StatCache::open(&self.lower.stat_cache())?.first()?;
        while let Some(entry) = below.take()? {
            while let Some((earlier, made)) = own.next_if(|(own, _)| own.path < entry.path) {
                out.add(&earlier, &made)?;
            }
            if let Some((same, made)) = own.next_if(|(own, _)| own.path == entry.path) {
                out.add(&same, &made)?;
            } else if !self.is_gone(&entry.path) {
                let made = Made { stat: entry.stat, device: around.dev(), uid: around.uid(), gid: around.gid() };
                out.add(&entry, &made)?;
            }
        }
        own.try_for_each(|(rest, made)| out.add(&rest, &made))?;
        out.cache.finish()?;
        Ok(out.paths)
    }

    fn is_gone(&self, path: &RepoPath) -> bool {
        if self.gone.is_empty() {
            return false;
        }
        let bytes = path.as_bytes();
        let ends = bytes.iter().enumerate().filter(|(_, byte)| **byte == b'/').map(|(end, _)| end);
        let mut around = ends.filter_map(|end| RepoPath::parse(&bytes[..end]).ok());
        self.gone.contains(path) || around.any(|directory| self.gone.contains(&directory))
    }
}

struct Out<'a> {
    cache: StatCacheWriter,
    index: &'a mut IndexWriter,
    paths: u64,
    merge: &'a Merge<'a>,
}

impl Out<'_> {
    fn add(&mut self, entry: &StatCacheEntry, made: &Made) -> io::Result<()> {
        self.paths += 1;
        if !self.merge.submodules.iter().any(|submodule| entry.path.is_below(submodule)) {
            self.index.add(&entry.path, entry.mode, &entry.oid, made)?;
        }
        self.cache.add(entry)
    }
}
