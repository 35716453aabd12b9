//! What capture compares with: the content of the pinned commit, as isobox materialised it.

use crate::stat_cache::StatCacheEntry;
use crate::workspace::materialiser::Materialiser;
use std::io;

/// Gives the materialised content of paths of the pinned commit. It comes from the trusted repository and from the
/// attributes of the pinned commit, never from the Workspace.
pub(super) trait BaseContent {
    /// The bytes that checkout wrote for `entry`; the target of a link. A submodule has none.
    fn read(&mut self, entry: &StatCacheEntry) -> io::Result<Vec<u8>>;
}

impl BaseContent for Materialiser {
    fn read(&mut self, entry: &StatCacheEntry) -> io::Result<Vec<u8>> {
        self.materialise(&entry.path, entry.mode, &entry.oid).map_err(io::Error::other)
    }
}
