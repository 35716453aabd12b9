//! What capture compares with: the content of the pinned commit, as isobox materialised it.

use super::snapshot::open_kept;
use crate::GixRepository;
use crate::stat_cache::StatCacheEntry;
use crate::workspace::base::Base;
use crate::workspace::materialiser::Materialiser;
use std::io::{self, Read};
use std::path::Path;

/// Gives the materialised content of paths of the pinned commit. It comes from the trusted repository and from the
/// attributes of the pinned commit, never from the Workspace.
pub(super) struct BaseContent<'a> {
    base: &'a Base,
    /// One that is open, most often the one that the base is of.
    repository: &'a GixRepository,
    /// Opened when a first path is asked for: most captures find nothing that is touched.
    materialiser: Option<Materialiser>,
    /// Where the content of uncommitted changes is that the Workspace began with.
    snapshot: Option<&'a Path>,
}

impl<'a> BaseContent<'a> {
    /// The content of `base`. Opens nothing yet.
    pub(super) fn new(base: &'a Base, repository: &'a GixRepository, snapshot: Option<&'a Path>) -> Self {
        Self { base, repository, materialiser: None, snapshot }
    }

    /// The bytes that checkout wrote for `entry`; the target of a link. A submodule has none.
    pub(super) fn read(&mut self, entry: &StatCacheEntry) -> io::Result<Vec<u8>> {
        if let Some(snapshot) = self.snapshot
            && let Some(mut kept) = open_kept(snapshot, &entry.path)?
        {
            let mut bytes = Vec::new();
            kept.read_to_end(&mut bytes)?;
            return Ok(bytes);
        }
        let materialiser = match &mut self.materialiser {
            Some(materialiser) => materialiser,
            closed => closed.insert(Materialiser::open(self.base, self.repository).map_err(io::Error::other)?),
        };
        materialiser.materialise(&entry.path, entry.mode, &entry.oid).map_err(io::Error::other)
    }
}
