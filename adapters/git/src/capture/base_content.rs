//! What capture compares with: the content of the pinned commit, as isobox materialised it.

use crate::GixRepository;
use crate::stat_cache::StatCacheEntry;
use crate::workspace::base::Base;
use crate::workspace::materialiser::Materialiser;
use std::io;

/// Gives the materialised content of paths of the pinned commit. It comes from the trusted repository and from the
/// attributes of the pinned commit, never from the Workspace.
pub(super) struct BaseContent<'a> {
    base: &'a Base,
    /// One that is open, most often the one that the base is of.
    repository: &'a GixRepository,
    /// Opened when a first path is asked for: most captures find nothing that is touched.
    materialiser: Option<Materialiser>,
}

impl<'a> BaseContent<'a> {
    /// The content of `base`. Opens nothing yet.
    pub(super) fn new(base: &'a Base, repository: &'a GixRepository) -> Self {
        Self { base, repository, materialiser: None }
    }

    /// The bytes that checkout wrote for `entry`; the target of a link. A submodule has none.
    pub(super) fn read(&mut self, entry: &StatCacheEntry) -> io::Result<Vec<u8>> {
        let materialiser = match &mut self.materialiser {
            Some(materialiser) => materialiser,
            closed => closed.insert(Materialiser::open(self.base, self.repository).map_err(io::Error::other)?),
        };
        materialiser.materialise(&entry.path, entry.mode, &entry.oid).map_err(io::Error::other)
    }
}
