//! Going through all that is known at one moment.

use super::source::Source;
use super::{ById, InOrder, Index, Location, Pack, unread};
use crate::layout::Layout;
use isobox_domain::content::ContentId;
use isobox_domain::listing::Direction;
use isobox_ports::StoreError;

impl Index {
    /// What is known, without what is known twice: a lane that was sealed while all this was found.
    pub(crate) fn snapshot(&self) -> Self {
        let mut snapshot = self.clone();
        snapshot.sources.retain(|source| match source.pack {
            Pack::Lane(lane) => !self.has_sealed(lane, source),
            Pack::Sealed(_) => true,
        });
        snapshot
    }

    /// Whether a pack ends with the last COMMIT of this source of `lane`.
    fn has_sealed(&self, lane: u8, source: &Source) -> bool {
        let Some(end) = source.chain_end(lane) else { return false };
        let mut packs = self.sources.iter().filter(|source| matches!(source.pack, Pack::Sealed(_)));
        packs.any(|pack| pack.chain_end(lane).is_some_and(|sealed| sealed.id == end.id))
    }

    /// Every committed record, by the time of its commit, as of now.
    pub(crate) fn in_order(&self, direction: Direction) -> InOrder {
        InOrder::new(self.sources.iter().map(|source| source.rows(direction)).collect(), direction)
    }

    /// How many records are committed; one that is stored twice counts twice.
    pub(crate) fn row_count(&self) -> u64 {
        self.sources.iter().map(Source::row_count).sum()
    }

    /// Every committed entry in the order of what it names, as of now.
    pub(crate) fn by_id(&self) -> ById {
        let streams = self.sources.iter().flat_map(|source| source.streams(self.is_named(source.pack)));
        ById::new(streams.collect())
    }

    /// The files, each with the end of its last COMMIT in memory.
    pub(crate) fn packs(&self) -> Vec<(Pack, u64)> {
        self.sources.iter().map(|source| (source.pack, source.settled_end())).collect()
    }

    /// Whether the entries of a pack that no COMMIT of it follows belong to a COMMIT elsewhere.
    pub(crate) fn is_named(&self, pack: Pack) -> bool {
        matches!(pack, Pack::Sealed(pack) if self.named.contains(&pack))
    }

    /// Where the content or record `id` stands in one of the sources that rows came from.
    pub(crate) fn locations_in(
        &mut self,
        layout: &Layout,
        source: usize,
        id: &ContentId,
    ) -> Result<Vec<Location>, StoreError> {
        let Some(pack) = self.sources.get(source).map(|source| source.pack) else { return Ok(Vec::new()) };
        let is_named = self.is_named(pack);
        let found = self.sources[source].locations(layout, id, is_named);
        found.map_err(|error| unread(pack, layout, error))
    }
}
