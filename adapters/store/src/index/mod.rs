//! What is committed, and where: from derived tables where there are some, else by a scan of the headers.

mod by_id;
mod contents;
mod event_filter;
mod in_order;
mod pack;
mod paged;
mod rows;
mod search;
mod snapshot;
mod source;
mod table;

pub(crate) use by_id::ById;
pub(crate) use in_order::InOrder;
pub(crate) use pack::{ChainEnd, Location, Pack, Row, lane_name, readable};
pub(crate) use snapshot::Extent;
pub(crate) use source::remove_lane_table;

use crate::dir::is_no_file;
use crate::error::{error, failed};
use crate::layout::Layout;
use crate::steps::step;
use isobox_domain::content::{ContentId, parse_hex};
use isobox_domain::listing::Direction;
use isobox_ports::{StoreError, StoreErrorKind};
use isobox_store_format::limits::LANES;
use source::{Keep, Source};
use std::collections::{HashMap, HashSet};
use std::fs::File;
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
/// So many tables are kept open; those of more packs are opened whenever they are read.
const KEPT: usize = 128;

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
    /// Takes in what was written, sealed and removed since.
    pub(crate) fn refresh(&mut self, layout: &Layout) -> Result<(), StoreError> {
        let packs_at = layout.packs.modified().map_err(failed("look at", &layout.packs.shown("")))?;
        if self.packs_at == Some(packs_at) && self.lanes_are(layout, Source::is_all_of)? {
            return Ok(());
        }
        self.packs_at = None;
        let mut tries = 0;
        while !self.take_all(layout)? {
            // Compaction removes packs after others have come in their place, which the next look finds.
            tries += 1;
            if tries > MOST_LOOKS {
                let reason = "packs go faster than they can be read";
                return Err(error(StoreErrorKind::Locked, "read", layout.packs.shown(""), reason));
            }
        }
        self.named = self.sources.iter().flat_map(Source::named).collect();
        self.packs_at = Some(packs_at);
        Ok(())
    }

    /// Takes in what there is; whether nothing went meanwhile.
    fn take_all(&mut self, layout: &Layout) -> Result<bool, StoreError> {
        // Lanes come first: one that is sealed in between is then found among the packs at the latest.
        let lanes = open_lanes(layout)?;
        let packs = list_packs(layout)?;
        self.sources.retain(|source| match source.pack {
            Pack::Lane(lane) => lanes.iter().any(|(number, file)| *number == lane && file.is_some()),
            Pack::Sealed(id) => packs.contains(&id),
        });
        self.foreign.clear();
        for (lane, file) in &lanes {
            let pack = Pack::Lane(*lane);
            match file {
                Some(file) => self.take_lane(layout, pack, file).map_err(failed("read", &pack.shown(layout)))?,
                None => self.foreign.push(pack),
            }
        }
        let known: HashSet<Pack> = self.sources.iter().map(|source| source.pack).collect();
        for pack in packs.into_iter().map(Pack::Sealed).filter(|pack| !known.contains(pack)) {
            step("listed the packs");
            match self.take_sealed(layout, pack) {
                Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(false),
                Err(error) if is_no_file(&error) => self.foreign.push(pack),
                taken => taken.map_err(failed("read", &pack.shown(layout)))?,
            }
        }
        Ok(true)
    }

    /// Whether no file has come, gone, or become longer or shorter since the last refresh.
    pub(crate) fn is_as_refreshed(&self, layout: &Layout) -> Result<bool, StoreError> {
        let packs_at = layout.packs.modified().map_err(failed("look at", &layout.packs.shown("")))?;
        Ok(self.packs_at == Some(packs_at) && self.lanes_are(layout, Source::is_as_seen)?)
    }

    /// Whether there are the lanes that are known, and each is what `is_known` says of its inode and its length: none was
    /// sealed then, so there are no other packs either.
    fn lanes_are(&self, layout: &Layout, is_known: impl Fn(&Source, u64, u64) -> bool) -> Result<bool, StoreError> {
        let known = self.sources.iter().filter_map(|source| match source.pack {
            Pack::Lane(lane) => Some((lane, source)),
            Pack::Sealed(_) => None,
        });
        let known: Vec<_> = known.collect();
        let names = lane_numbers(layout)?;
        if names.len() != known.len() {
            return Ok(false);
        }
        for (lane, source) in known {
            let name = lane_name(lane);
            let found = layout.lanes.identity(&name).map_err(failed("look at", &layout.lanes.shown(&name)))?;
            if !found.is_some_and(|(inode, length)| is_known(source, inode, length)) {
                return Ok(false);
            }
        }
        Ok(true)
    }

    fn take_lane(&mut self, layout: &Layout, pack: Pack, file: &File) -> io::Result<()> {
        if let Some(at) = self.sources.iter().position(|source| source.pack == pack) {
            if self.sources[at].go_on(layout, file)? {
                return Ok(());
            }
            self.sources.remove(at);
        }
        self.sources.push(Source::open(layout, pack, file, Keep::Open)?);
        Ok(())
    }

    fn take_sealed(&mut self, layout: &Layout, pack: Pack) -> io::Result<()> {
        let keep = if self.sources.len() < KEPT { Keep::Open } else { Keep::Closed };
        self.sources.push(Source::open(layout, pack, &pack.open(layout)?, keep)?);
        Ok(())
    }

    /// Every place where the content or record `id` was committed, the surest first.
    pub(crate) fn locations(&mut self, layout: &Layout, id: &ContentId) -> Result<Vec<Location>, StoreError> {
        let mut all = Vec::new();
        for source in &mut self.sources {
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

    /// How many entries a lane has.
    pub(crate) fn entries_in(&self, lane: u8) -> u64 {
        self.sources.iter().find(|source| source.pack == Pack::Lane(lane)).map_or(0, Source::len)
    }
}

// The path is put into words only where it is told: a listing looks into every pack for every record.
fn unread(pack: Pack, layout: &Layout, error: io::Error) -> StoreError {
    failed("look up in", &pack.shown(layout))(error)
}

/// Opens every lane that is there; `None` where something else lies in its place.
pub(crate) fn open_lanes(layout: &Layout) -> Result<Vec<(u8, Option<File>)>, StoreError> {
    let mut lanes = Vec::new();
    for lane in lane_numbers(layout)? {
        match layout.lanes.find_file(&lane_name(lane)) {
            Ok(None) => {}
            Ok(file) => lanes.push((lane, file)),
            Err(error) if is_no_file(&error) => lanes.push((lane, None)),
            Err(error) => return Err(failed("open lane", &layout.lanes.shown(&lane_name(lane)))(error)),
        }
    }
    Ok(lanes)
}

fn lane_numbers(layout: &Layout) -> Result<Vec<u8>, StoreError> {
    let names = layout.lanes.names().map_err(failed("list", &layout.lanes.shown("")))?;
    Ok((0..LANES).filter(|lane| names.contains(&lane_name(*lane))).collect())
}

/// The sealed packs that are there.
pub(crate) fn list_packs(layout: &Layout) -> Result<HashSet<ContentId>, StoreError> {
    let names = layout.packs.names().map_err(failed("list", &layout.packs.shown("")))?;
    let ids = names.iter().filter_map(|name| parse_hex(name.strip_suffix(".pack")?)).map(ContentId::new);
    Ok(ids.collect())
}
