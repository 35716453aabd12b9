//! What is committed, and where: found by one scan of the headers of lanes and packs, continued when they grow.

use crate::dir::{Access, Dir};
use crate::error::failed;
use crate::layout::Layout;
use isobox_domain::content::{ContentId, parse_hex};
use isobox_domain::record::RecordEntry;
use isobox_domain::timestamp::Timestamp;
use isobox_ports::StoreError;
use isobox_store_format::commit::{Commit, Committed};
use isobox_store_format::entry::EntryKind;
use isobox_store_format::limits::LANES;
use std::collections::{HashMap, HashSet};
use std::fs::File;
use std::os::unix::fs::MetadataExt;

use crate::pack_scan::{PackScan, Step};

/// A file of entries.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) enum Pack {
    /// Open for appending.
    Lane(u8),
    /// Sealed, named by the BLAKE3 of its bytes.
    Sealed(ContentId),
}

impl Pack {
    /// Opens the file for reading.
    pub(crate) fn open(self, layout: &Layout) -> std::io::Result<File> {
        let (dir, name) = self.place(layout);
        dir.file(&name, Access::Read)
    }

    /// The path, for people.
    pub(crate) fn shown(self, layout: &Layout) -> String {
        let (dir, name) = self.place(layout);
        dir.shown(&name)
    }

    fn place(self, layout: &Layout) -> (&Dir, String) {
        match self {
            Self::Lane(lane) => (&layout.lanes, lane_name(lane)),
            Self::Sealed(id) => (&layout.packs, format!("{}.pack", id.to_hex())),
        }
    }
}

/// The file name of a lane.
pub(crate) fn lane_name(lane: u8) -> String {
    format!("lane-{lane:02}.pack")
}

/// Where an entry stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Location {
    /// The file.
    pub(crate) pack: Pack,
    /// Where its header starts.
    pub(crate) offset: u64,
    /// What it is.
    pub(crate) kind: EntryKind,
    /// Whether it was reached by lengths alone, not by searching after damage: content may imitate an entry.
    pub(crate) is_certain: bool,
}

/// The last COMMIT of a lane.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct ChainEnd {
    /// The digest of its payload.
    pub(crate) id: ContentId,
    /// Its number in the lane.
    pub(crate) sequence: u64,
    /// Its time.
    pub(crate) time: Timestamp,
}

/// One committed record.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Row {
    pub(crate) entry: RecordEntry,
    pub(crate) lane: u8,
    pub(crate) sequence: u64,
}

/// Bytes that are no entry.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Damage {
    pub(crate) pack: Pack,
    pub(crate) offset: u64,
    pub(crate) end: u64,
    /// The record before them that no COMMIT follows: theirs may have been its COMMIT.
    pub(crate) record: Option<ContentId>,
}

/// How far a lane was scanned.
#[derive(Clone, Copy, Debug)]
struct LaneMark {
    inode: u64,
    /// The end of its last COMMIT.
    end: u64,
}

/// The committed entries that are known so far.
#[derive(Debug, Default)]
pub(crate) struct Index {
    entries: HashMap<ContentId, Location>,
    /// Further copies of entries.
    copies: HashMap<ContentId, Vec<Location>>,
    rows: Vec<Row>,
    row_ids: HashSet<(u8, u64)>,
    records: HashSet<ContentId>,
    events: HashMap<ContentId, Vec<ContentId>>,
    chain_ends: HashMap<u8, ChainEnd>,
    /// Entries after the last COMMIT of a sealed pack: committed if a COMMIT elsewhere names the pack.
    loose: HashMap<ContentId, Vec<(ContentId, Location)>>,
    named: HashSet<ContentId>,
    lanes: HashMap<u8, LaneMark>,
    packs: HashSet<ContentId>,
    damage: Vec<Damage>,
}

impl Index {
    /// Takes in what was written since; starts over where files were sealed or replaced.
    pub(crate) fn refresh(&mut self, layout: &Layout) -> Result<(), StoreError> {
        // Lanes come first: one that is sealed in between is then found among the packs at the latest.
        let lanes = open_lanes(layout)?;
        let packs = list_packs(layout)?;
        if !self.fits(&lanes, &packs) {
            *self = Self::default();
        }
        for (lane, file, inode, length) in &lanes {
            self.scan_lane(layout, *lane, file, *inode, *length)?;
        }
        for id in packs {
            self.scan_sealed(layout, id)?;
        }
        self.admit_named();
        Ok(())
    }

    /// Every place where the content or record `id` was committed, the surest first.
    pub(crate) fn locations(&self, id: &ContentId) -> Vec<Location> {
        let copies = self.copies.get(id).into_iter().flatten();
        let mut all: Vec<Location> = self.entries.get(id).into_iter().chain(copies).copied().collect();
        all.sort_by_key(|location| !location.is_certain);
        all
    }

    /// Whether a record with this digest was committed.
    pub(crate) fn has_record(&self, id: &ContentId) -> bool {
        self.records.contains(id)
    }

    /// Every committed record, newest first.
    pub(crate) fn newest_first(&self) -> Vec<Row> {
        let mut rows = self.rows.clone();
        rows.sort_by_key(|row| std::cmp::Reverse((row.entry.committed_at, row.sequence, row.lane)));
        let mut seen = HashSet::new();
        rows.retain(|row| seen.insert(row.entry.record));
        rows
    }

    /// The events about `subject`, in no order.
    pub(crate) fn events(&self, subject: &ContentId) -> &[ContentId] {
        self.events.get(subject).map_or(&[], Vec::as_slice)
    }

    /// The last COMMIT of a lane.
    pub(crate) fn chain_end(&self, lane: u8) -> Option<ChainEnd> {
        self.chain_ends.get(&lane).copied()
    }

    /// Bytes that were found to be no entries.
    pub(crate) fn damage(&self) -> &[Damage] {
        &self.damage
    }

    fn fits(&self, lanes: &[(u8, File, u64, u64)], packs: &HashSet<ContentId>) -> bool {
        let has_all_packs = self.packs.is_subset(packs);
        let has_lanes = self.lanes.iter().all(|(lane, mark)| {
            let found = lanes.iter().find(|(number, ..)| number == lane);
            found.is_some_and(|(_, _, inode, length)| *inode == mark.inode && *length >= mark.end)
        });
        has_all_packs && has_lanes
    }

    fn scan_lane(&mut self, layout: &Layout, lane: u8, file: &File, inode: u64, length: u64) -> Result<(), StoreError> {
        let start = self.lanes.get(&lane).map_or(0, |mark| mark.end);
        let end = self.scan(layout, Pack::Lane(lane), file, start, length)?.end;
        self.lanes.insert(lane, LaneMark { inode, end });
        Ok(())
    }

    fn scan_sealed(&mut self, layout: &Layout, id: ContentId) -> Result<(), StoreError> {
        if self.packs.contains(&id) {
            return Ok(());
        }
        let pack = Pack::Sealed(id);
        let subject = pack.shown(layout);
        let file = pack.open(layout).map_err(failed("open pack", &subject))?;
        let length = file.metadata().map_err(failed("open pack", &subject))?.len();
        let rest = self.scan(layout, pack, &file, 0, length)?;
        self.packs.insert(id);
        self.loose.insert(id, rest.loose);
        Ok(())
    }

    fn scan(&mut self, layout: &Layout, pack: Pack, file: &File, start: u64, length: u64) -> Result<Rest, StoreError> {
        let subject = pack.shown(layout);
        let mut scan = PackScan::new(layout.format.store, pack, file, start, length);
        let mut rest = Rest { loose: Vec::new(), end: start };
        while let Some(step) = scan.find_next().map_err(failed("read", &subject))? {
            match step {
                Step::Entry(id, location) => rest.loose.push((id, location)),
                Step::Commit { id, commit, end } => {
                    rest.loose.drain(..).for_each(|(id, location)| self.admit(id, location));
                    self.admit_commit(id, &commit);
                    rest.end = end;
                }
                Step::Damage { offset, end } => {
                    let record = self.rescue(&mut rest.loose);
                    self.note_damage(Damage { pack, offset, end, record });
                }
            }
        }
        Ok(rest)
    }

    // What stands before damage may have been committed there. It is read, but never taken for stored already.
    fn rescue(&mut self, loose: &mut Vec<(ContentId, Location)>) -> Option<ContentId> {
        let record = loose.iter().rfind(|(_, location)| location.kind == EntryKind::Record).map(|(id, _)| *id);
        for (id, location) in loose.drain(..) {
            self.admit(id, Location { is_certain: false, ..location });
        }
        record
    }

    // The tail of a lane is scanned again and again until a COMMIT follows it.
    fn note_damage(&mut self, damage: Damage) {
        if !self.damage.contains(&damage) {
            self.damage.push(damage);
        }
    }

    fn admit(&mut self, id: ContentId, location: Location) {
        use std::collections::hash_map::Entry;
        match self.entries.entry(id) {
            Entry::Vacant(vacant) => {
                vacant.insert(location);
            }
            Entry::Occupied(first) => {
                let copies = self.copies.entry(id).or_default();
                if *first.get() != location && !copies.contains(&location) {
                    copies.push(location);
                }
            }
        }
    }

    fn admit_commit(&mut self, id: ContentId, commit: &Commit) {
        let end = ChainEnd { id, sequence: commit.sequence, time: commit.time };
        let newest = self.chain_ends.entry(commit.lane).or_insert(end);
        if newest.sequence < end.sequence {
            *newest = end;
        }
        self.named.extend(&commit.packs);
        // A lane that is sealed while it is read is met twice.
        if !self.row_ids.insert((commit.lane, commit.sequence)) {
            return;
        }
        match commit.committed {
            Committed::Record => self.admit_record(commit),
            Committed::Event { subject } => {
                let events = self.events.entry(subject).or_default();
                if !events.contains(&commit.record.id) {
                    events.push(commit.record.id);
                }
            }
        }
    }

    fn admit_record(&mut self, commit: &Commit) {
        let record = commit.record.id;
        self.records.insert(record);
        let entry = RecordEntry { task: commit.task, attempt: commit.attempt, record, committed_at: commit.time };
        self.rows.push(Row { entry, lane: commit.lane, sequence: commit.sequence });
    }

    fn admit_named(&mut self) {
        let named: Vec<ContentId> = self.loose.keys().filter(|id| self.named.contains(id)).copied().collect();
        for pack in named {
            let loose = self.loose.remove(&pack).unwrap_or_default();
            loose.into_iter().for_each(|(id, location)| self.admit(id, location));
        }
    }
}

/// What a scan leaves over.
struct Rest {
    /// Entries that no COMMIT follows.
    loose: Vec<(ContentId, Location)>,
    /// The end of the last COMMIT.
    end: u64,
}

fn open_lanes(layout: &Layout) -> Result<Vec<(u8, File, u64, u64)>, StoreError> {
    let names = layout.lanes.names().map_err(failed("list", &layout.lanes.shown("")))?;
    let mut lanes = Vec::new();
    for lane in (0..LANES).filter(|lane| names.contains(&lane_name(*lane))) {
        let subject = layout.lanes.shown(&lane_name(lane));
        let found = layout.lanes.find_file(&lane_name(lane)).map_err(failed("open lane", &subject))?;
        if let Some(file) = found {
            let metadata = file.metadata().map_err(failed("open lane", &subject))?;
            lanes.push((lane, file, metadata.ino(), metadata.len()));
        }
    }
    Ok(lanes)
}

fn list_packs(layout: &Layout) -> Result<HashSet<ContentId>, StoreError> {
    let names = layout.packs.names().map_err(failed("list", &layout.packs.shown("")))?;
    let ids = names.iter().filter_map(|name| parse_hex(name.strip_suffix(".pack")?)).map(ContentId::new);
    Ok(ids.collect())
}
