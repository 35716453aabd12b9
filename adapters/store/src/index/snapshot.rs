//! Going through all that is known at one moment.

use super::rows::Rows;
use super::source::Source;
use super::{ById, InOrder, Index, Location, Pack, readable, unread};
use crate::layout::Layout;
use isobox_domain::content::ContentId;
use isobox_domain::listing::Direction;
use isobox_ports::StoreError;
use std::fs::File;
use std::io;
use std::os::unix::fs::MetadataExt;

/// What is known of a file of entries without going through it.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Extent {
    pub(crate) pack: Pack,
    inode: u64,
    /// The end of its last COMMIT in memory.
    pub(crate) settled_end: u64,
    /// Whether what no COMMIT of it follows belongs to one elsewhere.
    pub(crate) is_whole: bool,
    /// Whether it holds blocks.
    pub(crate) has_blocks: bool,
}

impl Extent {
    /// Opens the file, to read so many bytes; `NotFound` if it is not there any more, also if it was sealed and another lane
    /// begun in its place.
    pub(crate) fn open(&self, layout: &Layout) -> io::Result<(File, u64)> {
        let file = self.pack.open(layout)?;
        let metadata = file.metadata()?;
        let is_known = metadata.ino() == self.inode;
        if is_known { Ok((file, readable(metadata.len()))) } else { Err(io::ErrorKind::NotFound.into()) }
    }
}

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
        InOrder::new(self.rows(direction), direction, self.mark())
    }

    /// What `rows` has not handed out yet of what was there when it began, from where it stands by now.
    pub(crate) fn resume(&self, rows: &InOrder) -> InOrder {
        rows.resumed(self.rows(rows.direction()))
    }

    fn rows(&self, direction: Direction) -> Vec<Rows> {
        self.sources.iter().map(|source| source.rows(direction)).collect()
    }

    /// How many records are committed and were not pruned; one that is stored twice counts twice.
    pub(crate) fn row_count(&self) -> u64 {
        let rows: u64 = self.sources.iter().map(Source::row_count).sum();
        rows.saturating_sub(self.pruned_count())
    }

    /// How many records were pruned; one that is stored twice counts twice.
    pub(crate) fn pruned_count(&self) -> u64 {
        self.sources.iter().map(Source::pruned_count).sum()
    }

    /// Every committed entry in the order of what it names, as of now.
    pub(crate) fn by_id(&self) -> ById {
        let streams = self.sources.iter().flat_map(|source| source.streams(self.is_whole(source.pack)));
        ById::new(streams.collect())
    }

    /// The files.
    pub(crate) fn packs(&self) -> Vec<Extent> {
        let extent = |source: &Source| Extent {
            pack: source.pack,
            inode: source.inode(),
            settled_end: source.settled_end(),
            is_whole: self.is_whole(source.pack),
            has_blocks: source.alone() < source.len(),
        };
        self.sources.iter().map(extent).collect()
    }

    /// Whether the entries of a pack that no COMMIT of it follows belong to a COMMIT elsewhere.
    fn is_whole(&self, pack: Pack) -> bool {
        matches!(pack, Pack::Sealed(pack) if self.is_named(&pack))
    }

    /// Where the content or record `id` stands in one of the sources that rows came from.
    pub(crate) fn locations_in(
        &mut self,
        layout: &Layout,
        source: usize,
        id: &ContentId,
    ) -> Result<Vec<Location>, StoreError> {
        let Some(pack) = self.sources.get(source).map(|source| source.pack) else { return Ok(Vec::new()) };
        let is_named = self.is_whole(pack);
        let found = self.sources[source].locations(layout, id, is_named);
        found.map_err(|error| unread(pack, layout, error))
    }
}
