//! Taking in what was written, sealed and removed since.

use super::pack::lane_number;
use super::source::{Depth, Keep, Source};
use super::{Index, MOST_LOOKS, Pack, lane_name};
use crate::dir::is_no_file;
use crate::error::{error, failed};
use crate::layout::Layout;
use crate::steps::step;
use isobox_domain::content::{ContentId, parse_hex};
use isobox_ports::{StoreError, StoreErrorKind};
use std::collections::HashSet;
use std::fs::File;
use std::io;

/// So many tables are kept open; those of more packs are opened whenever they are read.
const KEPT: usize = 128;

impl Index {
    /// Takes in what was written, sealed and removed since.
    pub(crate) fn refresh(&mut self, layout: &Layout) -> Result<(), StoreError> {
        self.take_in(layout, |_| Depth::Entries)
    }

    /// As [`refresh`](Self::refresh) for a put into the lane `own`. Where another lane just became longer, no more may be
    /// known of that than [which records](Self::has_noted) it has: nothing there counts as stored for this put.
    pub(crate) fn refresh_for_put(&mut self, layout: &Layout, own: u8) -> Result<(), StoreError> {
        self.take_in(layout, |lane| if lane == own { Depth::Entries } else { Depth::Records })
    }

    fn take_in(&mut self, layout: &Layout, depth: impl Fn(u8) -> Depth) -> Result<(), StoreError> {
        let packs_at = layout.packs.modified().map_err(failed("look at", layout.packs.shown("")))?;
        if self.packs_at == Some(packs_at) && self.take_grown(layout, depth)? {
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

    /// Takes in what lanes became longer by; whether they are the lanes that are known, each still the same file: none was
    /// sealed then, so there are no other packs either.
    fn take_grown(&mut self, layout: &Layout, depth: impl Fn(u8) -> Depth) -> Result<bool, StoreError> {
        if !self.has_lanes(&lane_numbers(layout)?) {
            return Ok(false);
        }
        for source in &mut self.sources {
            let Pack::Lane(lane) = source.pack else { continue };
            let found = identity(layout, lane)?;
            let Some((inode, length)) = found else { return Ok(false) };
            let grown = source.grow(layout, (inode, length), depth(lane));
            if !grown.map_err(failed("read", source.pack.shown(layout)))? {
                return Ok(false);
            }
        }
        Ok(true)
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
                Some(file) => self.take_lane(layout, pack, file).map_err(failed("read", pack.shown(layout)))?,
                None => self.foreign.push(pack),
            }
        }
        let known: HashSet<Pack> = self.sources.iter().map(|source| source.pack).collect();
        for pack in packs.into_iter().map(Pack::Sealed).filter(|pack| !known.contains(pack)) {
            step("listed the packs");
            match self.take_sealed(layout, pack) {
                Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(false),
                Err(error) if is_no_file(&error) => self.foreign.push(pack),
                taken => taken.map_err(failed("read", pack.shown(layout)))?,
            }
        }
        Ok(true)
    }

    /// Whether no file has come, gone, or become longer or shorter since the last refresh.
    pub(crate) fn is_as_refreshed(&self, layout: &Layout) -> Result<bool, StoreError> {
        let packs_at = layout.packs.modified().map_err(failed("look at", layout.packs.shown("")))?;
        if self.packs_at != Some(packs_at) || !self.has_lanes(&lane_numbers(layout)?) {
            return Ok(false);
        }
        for (lane, source) in self.lanes() {
            if !identity(layout, lane)?.is_some_and(|(inode, length)| source.is_as_seen(inode, length)) {
                return Ok(false);
            }
        }
        Ok(true)
    }

    fn lanes(&self) -> impl Iterator<Item = (u8, &Source)> {
        self.sources.iter().filter_map(|source| match source.pack {
            Pack::Lane(lane) => Some((lane, source)),
            Pack::Sealed(_) => None,
        })
    }

    // Where something else lies in the place of one, that is among the numbers and not known.
    fn has_lanes(&self, numbers: &[u8]) -> bool {
        numbers.len() == self.lanes().count()
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
}

fn identity(layout: &Layout, lane: u8) -> Result<Option<(u64, u64)>, StoreError> {
    let name = lane_name(lane);
    layout.lanes.identity(&name).map_err(failed("look at", layout.lanes.shown(&name)))
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

/// The numbers of the lanes in whose places something lies, in ascending order.
fn lane_numbers(layout: &Layout) -> Result<Vec<u8>, StoreError> {
    let names = layout.lanes.names().map_err(failed("list", layout.lanes.shown("")))?;
    let mut numbers: Vec<_> = names.iter().filter_map(|name| lane_number(name)).collect();
    numbers.sort_unstable();
    Ok(numbers)
}

/// The sealed packs that are there.
pub(crate) fn list_packs(layout: &Layout) -> Result<HashSet<ContentId>, StoreError> {
    let names = layout.packs.names().map_err(failed("list", &layout.packs.shown("")))?;
    let ids = names.iter().filter_map(|name| parse_hex(name.strip_suffix(".pack")?)).map(ContentId::new);
    Ok(ids.collect())
}
