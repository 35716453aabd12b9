//! The contents of a pack as a derived file of sorted rows, searched where it lies.

use super::contents::{Contents, location};
use super::paged::{PagedFile, Pages};
use super::search::{lower_bound, portion};
use super::table_reader::{EntryReader, Reader, RowReader};
use super::{ChainEnd, Damage, Location, Pack};
use isobox_domain::content::ContentId;
use std::collections::{BTreeMap, BTreeSet};
use std::io;

pub(super) const MAGIC: [u8; 8] = *b"ISOIDX3\n";
pub(super) const HEADER: u64 = 80;
pub(super) const FAN_OUT: u64 = 256 * 4;
pub(super) const ENTRY: u64 = 42;
pub(super) const ROW: u64 = 61;
const EVENT: u64 = 64;
const PRUNED: u64 = 32;
/// Most packs that are named, and most pieces of damage, that a table is believed: they are kept in memory. A pack with more of
/// them is gone through.
const MOST_KEPT: u32 = 1 << 16;
pub(super) const CERTAIN: u8 = 1;
pub(super) const LOOSE: u8 = 2;
pub(super) const MEMBER: u8 = 4;

/// An open table.
#[derive(Clone, Debug)]
pub(crate) struct Table {
    file: PagedFile,
    /// How much of the pack it covers: of a sealed one, all.
    pub(super) covered: u64,
    /// What it belongs to: the id of a sealed pack, or the last COMMIT that is covered.
    pub(super) belongs_to: ContentId,
    entries: u32,
    rows: u32,
    events: u32,
    /// Records that were pruned.
    pub(super) pruned: u32,
    /// Entries that stand for themselves, outside of blocks.
    pub(super) alone: u32,
    /// How many entries have ids that begin with this byte or a lesser one.
    fan_out: Box<[u32]>,
    pub(super) named: BTreeSet<ContentId>,
    pub(super) damage: Vec<Damage>,
    pub(super) chain_ends: BTreeMap<u8, ChainEnd>,
}

impl Table {
    /// Opens a table of `pack`; `InvalidData` if it is none.
    pub(super) fn open(file: PagedFile, pack: Pack) -> io::Result<Self> {
        let mut reader = Reader::new(Pages::new(file.kept()?));
        if reader.array()? != MAGIC {
            return Err(invalid());
        }
        let (covered, belongs_to) = (reader.u64()?, reader.id()?);
        let [entries, rows, events, named, damage, chains, alone, pruned] = [0; 8].map(|_: u8| reader.u32());
        let (entries, rows, events, alone, pruned) = (entries?, rows?, events?, alone?, pruned?);
        let fan_out = (0..256).map(|_| reader.u32()).collect::<io::Result<_>>()?;
        reader.seek(pruned_at(entries, rows, events) + PRUNED * u64::from(pruned));
        let (named, damage, chains) = (named?, damage?, chains?);
        if named > MOST_KEPT || damage > MOST_KEPT {
            return Err(invalid());
        }
        let named = (0..named).map(|_| reader.id()).collect::<io::Result<_>>()?;
        let damage = (0..damage).map(|_| reader.damage(pack)).collect::<io::Result<_>>()?;
        let chain_ends = (0..chains).map(|_| reader.chain_end()).collect::<io::Result<_>>()?;
        Ok(Self { file, covered, belongs_to, entries, rows, events, pruned, alone, fan_out, named, damage, chain_ends })
    }

    /// All that it says, in memory.
    pub(super) fn contents(&self) -> io::Result<Contents> {
        let (mut entries, mut rows, mut reader) = (self.entry_reader(), self.row_reader(), self.reader()?);
        let entries =
            (0..self.entry_count()).map(|n| entries.entry(n).map(|(id, offset, found)| ((id, offset), found)));
        let entries = entries.collect::<io::Result<_>>()?;
        let rows = (0..self.row_count()).map(|n| rows.row(n)).collect::<io::Result<_>>()?;
        reader.seek(events_at(self.entries, self.rows));
        let events = (0..self.events).map(|_| Ok((reader.id()?, reader.id()?))).collect::<io::Result<_>>()?;
        let pruned = (0..self.pruned).map(|_| reader.id()).collect::<io::Result<_>>()?;
        let (named, damage, chain_ends) = (self.named.clone(), self.damage.clone(), self.chain_ends.clone());
        let (end, last) = (self.covered, Some(self.belongs_to));
        Ok(Contents { entries, rows, events, pruned, chain_ends, named, damage, end, last })
    }

    /// How many entries there are.
    pub(super) fn entry_count(&self) -> u64 {
        u64::from(self.entries)
    }

    /// How many records there are.
    pub(super) fn row_count(&self) -> u64 {
        u64::from(self.rows)
    }

    /// A reader of its rows.
    pub(super) fn row_reader(&self) -> RowReader {
        RowReader::new(Reader::new(Pages::new(self.file.clone())), rows_at(self.entries))
    }

    /// A reader of its entries.
    pub(super) fn entry_reader(&self) -> EntryReader {
        EntryReader::new(Reader::new(Pages::new(self.file.clone())))
    }

    /// Where `id` stands.
    pub(super) fn locations(&self, pack: Pack, id: &ContentId, is_named: bool) -> io::Result<Vec<Location>> {
        let first = usize::from(id.as_bytes()[0]);
        let start = if first == 0 { 0 } else { u64::from(self.fan_out[first - 1]) };
        let end = u64::from(self.fan_out[first].min(self.entries));
        if start >= end {
            return Ok(Vec::new());
        }
        let mut entries = EntryReader::new(self.reader()?);
        let guess = start + portion(&id.as_bytes()[1..], end - start);
        let mut at = lower_bound(start..end, guess, |number| Ok(entries.id(number)? < *id))?;
        let mut found = Vec::new();
        while at < end && entries.id(at)? == *id {
            let (_, offset, entry) = entries.entry(at)?;
            if is_named || !entry.is_loose {
                found.push(location(pack, offset, entry));
            }
            at += 1;
        }
        Ok(found)
    }

    /// The events about `subject`.
    pub(super) fn events(&self, subject: &ContentId) -> io::Result<Vec<ContentId>> {
        let (start, end) = (events_at(self.entries, self.rows), u64::from(self.events));
        if end == 0 {
            return Ok(Vec::new());
        }
        let mut reader = self.reader()?;
        let guess = portion(subject.as_bytes(), end);
        let mut at = lower_bound(0..end, guess, |number| Ok(reader.seek(start + EVENT * number).id()? < *subject))?;
        let mut found = Vec::new();
        while at < end && reader.seek(start + EVENT * at).id()? == *subject {
            found.push(reader.id()?);
            at += 1;
        }
        Ok(found)
    }

    /// Whether the record `id` was pruned.
    pub(super) fn is_pruned(&self, id: &ContentId) -> io::Result<bool> {
        if self.pruned == 0 {
            return Ok(false);
        }
        let mut reader = self.reader()?;
        let (start, end) = (pruned_at(self.entries, self.rows, self.events), u64::from(self.pruned));
        let guess = portion(id.as_bytes(), end);
        let at = lower_bound(0..end, guess, |number| Ok(reader.seek(start + PRUNED * number).id()? < *id))?;
        Ok(at < end && reader.seek(start + PRUNED * at).id()? == *id)
    }

    /// The records that were pruned, from the `from`-th on, at most `most` of them.
    pub(super) fn pruned(&self, from: u64, most: u64) -> io::Result<Vec<ContentId>> {
        let mut reader = self.reader()?;
        reader.seek(pruned_at(self.entries, self.rows, self.events) + PRUNED * from);
        (from..u64::from(self.pruned).min(from + most)).map(|_| reader.id()).collect()
    }

    /// How many events there are.
    pub(super) fn event_count(&self) -> u64 {
        u64::from(self.events)
    }

    /// Hands the subject of every event to `each`.
    pub(super) fn each_subject(&self, mut each: impl FnMut(&ContentId)) -> io::Result<()> {
        let mut reader = self.reader()?;
        let start = events_at(self.entries, self.rows);
        (0..u64::from(self.events)).try_for_each(|number| {
            each(&reader.seek(start + EVENT * number).id()?);
            Ok(())
        })
    }

    fn reader(&self) -> io::Result<Reader> {
        Ok(Reader::new(Pages::new(self.file.kept()?)))
    }
}

fn rows_at(entries: u32) -> u64 {
    HEADER + FAN_OUT + ENTRY * u64::from(entries)
}

fn events_at(entries: u32, rows: u32) -> u64 {
    rows_at(entries) + ROW * u64::from(rows)
}

fn pruned_at(entries: u32, rows: u32, events: u32) -> u64 {
    events_at(entries, rows) + EVENT * u64::from(events)
}

/// What a table that is none is told by.
pub(super) fn invalid() -> io::Error {
    io::ErrorKind::InvalidData.into()
}

#[cfg(test)]
mod tests {
    use super::super::table_writer::encode;
    use super::*;
    use isobox_domain::timestamp::Timestamp;
    use isobox_store_format::limits::MAX_SEQUENCE;

    fn opened(contents: &Contents) -> io::Result<Table> {
        let pack = Pack::Lane(0);
        let file = tempfile::tempfile()?;
        encode(contents, 0, &ContentId::new([1; 32]), &file)?;
        Table::open(PagedFile::whole(file), pack)
    }

    #[test]
    fn a_table_that_takes_more_memory_than_a_table_should_is_not_believed() {
        let piece = Damage { pack: Pack::Lane(0), offset: 1, end: 2, record: None };
        let damaged = |pieces| Contents { damage: vec![piece.clone(); pieces], ..Contents::default() };
        let most = MOST_KEPT as usize;
        assert_eq!(opened(&damaged(most)).unwrap().damage.len(), most);
        assert_eq!(opened(&damaged(most + 1)).unwrap_err().kind(), io::ErrorKind::InvalidData);
        let id = |n: u32| ContentId::new(std::array::from_fn(|at| n.to_le_bytes()[at % 4]));
        let named = Contents { named: (0..=MOST_KEPT).map(id).collect(), ..Contents::default() };
        assert_eq!(opened(&named).unwrap_err().kind(), io::ErrorKind::InvalidData);
    }

    #[test]
    fn an_end_of_a_chain_that_no_commit_can_be_is_not_believed() {
        let time = Timestamp::from_unix_ms(1_800_000_000_000).unwrap();
        for (lane, sequence, is_believed) in
            [(0, 1, true), (31, MAX_SEQUENCE, true), (32, 1, false), (0, 0, false), (0, MAX_SEQUENCE + 1, false)]
        {
            let end = ChainEnd { id: ContentId::new([2; 32]), sequence, time };
            let contents = Contents { chain_ends: [(lane, end)].into(), ..Contents::default() };
            assert_eq!(opened(&contents).is_ok(), is_believed, "lane {lane}, sequence {sequence}");
        }
    }
}
