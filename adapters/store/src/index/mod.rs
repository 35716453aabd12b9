//! What is committed, and where: from derived tables where there are some, else by a scan of the headers.

mod aside;
mod by_id;
mod contents;
mod event_filter;
mod in_order;
mod noted;
mod pack;
mod paged;
mod refresh;
mod rows;
mod search;
mod snapshot;
mod source;
mod table;
mod table_files;
mod table_reader;
mod table_writer;

pub(crate) use aside::Aside;
pub(crate) use by_id::ById;
pub(crate) use contents::Appended;
pub(crate) use in_order::InOrder;
pub(crate) use pack::{ChainEnd, Location, Pack, Row, lane_name, readable};
pub(crate) use refresh::{list_packs, open_lanes};
pub(crate) use snapshot::Extent;
pub(crate) use table_files::remove_lane_table;

use crate::error::failed;
use crate::layout::Layout;
use isobox_domain::content::ContentId;
use isobox_domain::listing::Direction;
use isobox_ports::StoreError;
use isobox_store_format::limits::LANES;
use source::Source;
use std::collections::{HashMap, HashSet};
use std::io;

/// How far somebody has come who goes through all that was pruned.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Pass {
    source: usize,
    from: u64,
}

/// What an index held at a moment.
#[derive(Clone, Debug, Default)]
pub(crate) struct Mark {
    sealed: HashSet<ContentId>,
    /// The number of the last COMMIT of each lane.
    ends: HashMap<u8, u64>,
}

impl Mark {
    /// A sealed pack stays as it is; a lane may have become longer.
    fn has_all_of(&self, pack: Pack) -> bool {
        matches!(pack, Pack::Sealed(id) if self.sealed.contains(&id))
    }

    /// Whether a row was committed after it.
    fn is_before(&self, row: &Row) -> bool {
        self.ends.get(&row.lane).is_none_or(|end| row.sequence > *end)
    }
}

/// What is known of a sealed pack as a whole.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Sealed {
    pub(crate) id: ContentId,
    /// Whether blocks and COMMITs are all that it holds.
    pub(crate) is_compacted: bool,
}

/// Bytes that are no entry; none at all where something else lies in the place of a pack.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Damage {
    pub(crate) pack: Pack,
    pub(crate) offset: u64,
    pub(crate) end: u64,
    /// The record before them that no COMMIT follows: theirs may have been its COMMIT.
    pub(crate) record: Option<ContentId>,
}

/// So often the packs are listed once more because one of them went.
pub(crate) const MOST_LOOKS: usize = 16;

/// The lanes and packs that are known so far.
#[derive(Clone, Debug, Default)]
pub(crate) struct Index {
    sources: Vec<Source>,
    /// Packs in whose place something else lies.
    foreign: Vec<Pack>,
    /// Packs whose loose entries are committed.
    named: HashSet<ContentId>,
    /// When the directory of packs had last changed before all this was found; `None` if it was not found whole.
    packs_at: Option<(i64, i64)>,
}

impl Index {
    /// Every place where the content or record `id` was committed, the surest first.
    pub(crate) fn locations(&mut self, layout: &Layout, id: &ContentId) -> Result<Vec<Location>, StoreError> {
        self.locations_among(layout, id, |_| true)
    }

    /// As [`locations`](Self::locations), only in those lanes and packs that `is_asked` names.
    pub(crate) fn locations_among(
        &mut self,
        layout: &Layout,
        id: &ContentId,
        is_asked: impl Fn(Pack) -> bool,
    ) -> Result<Vec<Location>, StoreError> {
        let mut all = Vec::new();
        for source in self.sources.iter_mut().filter(|source| is_asked(source.pack)) {
            let is_named = matches!(source.pack, Pack::Sealed(pack) if self.named.contains(&pack));
            let found = source.locations(layout, id, is_named);
            all.extend(found.map_err(|error| unread(source.pack, layout, error))?);
        }
        all.sort_by_key(|location| !location.is_certain);
        Ok(all)
    }

    /// The events about `subject`, in no order.
    pub(crate) fn events(&mut self, layout: &Layout, subject: &ContentId) -> Result<Vec<ContentId>, StoreError> {
        let mut all = Vec::new();
        for source in &mut self.sources {
            let found = source.events(layout, subject);
            all.extend(found.map_err(|error| unread(source.pack, layout, error))?);
        }
        // A lane that is sealed while it is read is met twice.
        all.sort();
        all.dedup();
        Ok(all)
    }

    /// Whether the record `id` was pruned.
    pub(crate) fn is_pruned(&mut self, layout: &Layout, id: &ContentId) -> Result<bool, StoreError> {
        for source in &mut self.sources {
            let found = source.is_pruned(layout, id);
            if found.map_err(|error| unread(source.pack, layout, error))? {
                return Ok(true);
            }
        }
        Ok(false)
    }

    /// At most `most` of the records that were pruned, in an order that stays while nothing is written.
    pub(crate) fn pruned(
        &mut self,
        layout: &Layout,
        pass: Pass,
        most: u64,
    ) -> Result<(Vec<ContentId>, Pass), StoreError> {
        let mut pass = pass;
        while let Some(source) = self.sources.get_mut(pass.source) {
            let found = source.pruned(layout, pass.from, most);
            let found = found.map_err(failed("look up in", &source.pack.shown(layout)))?;
            if !found.is_empty() {
                pass.from += found.len() as u64;
                return Ok((found, pass));
            }
            pass = Pass { source: pass.source + 1, from: 0 };
        }
        Ok((Vec::new(), pass))
    }

    /// What is there now, to be told later from what came after it.
    pub(crate) fn mark(&self) -> Mark {
        Mark {
            sealed: self.sealed().iter().map(|sealed| sealed.id).collect(),
            ends: (0..LANES).filter_map(|lane| Some((lane, self.chain_end(lane)?.sequence))).collect(),
        }
    }

    /// The records that were committed after `mark`.
    pub(crate) fn rows_after(&self, layout: &Layout, mark: &Mark) -> Result<Vec<Row>, StoreError> {
        let mut found = Vec::new();
        for source in self.sources.iter().filter(|source| !mark.has_all_of(source.pack)) {
            let mut rows = source.rows(Direction::Ascending);
            while let Some(row) = rows.next_row(layout).map_err(failed("list", &source.pack.shown(layout)))? {
                found.extend(mark.is_before(&row).then_some(row));
            }
        }
        Ok(found)
    }

    /// The sealed packs.
    pub(crate) fn sealed(&self) -> Vec<Sealed> {
        let all = self.sources.iter().filter_map(|source| match source.pack {
            Pack::Sealed(id) => Some(Sealed { id, is_compacted: source.alone() == 0 }),
            Pack::Lane(_) => None,
        });
        all.collect()
    }

    /// Whether a COMMIT elsewhere says that the pack `id` was filled in its course.
    pub(crate) fn is_named(&self, id: &ContentId) -> bool {
        self.named.contains(id)
    }

    /// The last COMMIT of a lane.
    pub(crate) fn chain_end(&self, lane: u8) -> Option<ChainEnd> {
        self.sources.iter().filter_map(|source| source.chain_end(lane)).max_by_key(|end| end.sequence)
    }

    /// The number of the last COMMIT of every lane.
    pub(crate) fn last_sequences(&self) -> impl Iterator<Item = u64> {
        (0..LANES).filter_map(|lane| self.chain_end(lane)).map(|end| end.sequence)
    }

    /// Sealed packs that hold a COMMIT of a lane with a number over what `passed` says of that lane.
    pub(crate) fn packs_behind(&self, passed: impl Fn(u8) -> u64) -> Vec<Pack> {
        let is_behind = |source: &&Source| {
            let has_more = |lane| source.chain_end(lane).is_some_and(|end| end.sequence > passed(lane));
            matches!(source.pack, Pack::Sealed(_)) && (0..LANES).any(has_more)
        };
        self.sources.iter().filter(is_behind).map(|source| source.pack).collect()
    }

    /// Bytes that were found to be no entries.
    pub(crate) fn damage(&self) -> Vec<Damage> {
        let foreign = self.foreign.iter().map(|pack| Damage { pack: *pack, offset: 0, end: 0, record: None });
        self.sources.iter().flat_map(Source::damage).chain(foreign).collect()
    }

    /// Takes in what this process appended to a lane; what others appended meanwhile is left for the next refresh.
    pub(crate) fn take_put(&mut self, layout: &Layout, put: &Appended) {
        let source = self.sources.iter_mut().find(|source| source.pack == Pack::Lane(put.commit.lane));
        if let Some(source) = source {
            source.take_put(layout, put);
        }
    }

    /// Whether a lane that was not gone through to its end has a COMMIT of the record `id` there.
    pub(crate) fn has_noted(&self, id: &ContentId) -> bool {
        self.sources.iter().any(|source| source.has_noted(id))
    }

    /// How many entries a lane has.
    pub(crate) fn entries_in(&self, lane: u8) -> u64 {
        self.sources.iter().find(|source| source.pack == Pack::Lane(lane)).map_or(0, Source::len)
    }
}

// The path is put into words only where it is told: a listing looks into every pack for every record.
fn unread(pack: Pack, layout: &Layout, error: io::Error) -> StoreError {
    failed("look up in", &pack.shown(layout))(error)
}
