//! The contents of a pack as a derived file of sorted rows, searched where it lies.

use super::contents::{Contents, Found, location};
use super::paged::{PagedFile, Pages, to_pages};
use super::search::{lower_bound, portion};
use super::{ChainEnd, Damage, Location, Pack, Row};
use isobox_domain::content::ContentId;
use isobox_domain::record::RecordEntry;
use isobox_domain::task_id::TaskId;
use isobox_domain::timestamp::Timestamp;
use isobox_store_format::entry::EntryKind;
use isobox_store_format::limits::{LANES, MAX_SEQUENCE};
use std::collections::{BTreeMap, BTreeSet};
use std::io;

const MAGIC: [u8; 8] = *b"ISOIDX3\n";
const HEADER: u64 = 80;
const FAN_OUT: u64 = 256 * 4;
const ENTRY: u64 = 42;
const ROW: u64 = 61;
const EVENT: u64 = 64;
const PRUNED: u64 = 32;
/// Most packs that are named, and most pieces of damage, that a table is believed: they are kept in memory. A pack with more of
/// them is gone through.
const MOST_KEPT: u32 = 1 << 16;
const CERTAIN: u8 = 1;
const LOOSE: u8 = 2;
const MEMBER: u8 = 4;

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

/// The bytes of a table of `contents`.
pub(super) fn encode(contents: &Contents, covered: u64, belongs_to: &ContentId) -> Vec<u8> {
    let mut bytes = MAGIC.to_vec();
    bytes.extend(covered.to_le_bytes());
    bytes.extend(belongs_to.as_bytes());
    let counts = [
        contents.entries.len(),
        contents.rows.len(),
        contents.events.len(),
        contents.named.len(),
        contents.damage.len(),
        contents.chain_ends.len(),
        contents.alone(),
        contents.pruned.len(),
    ];
    // A pack of 64 MiB holds at most a million entries, of 64 bytes each; one of isobox's own many fewer.
    counts.iter().for_each(|count| bytes.extend((*count as u32).to_le_bytes()));
    encode_entries(contents, &mut bytes);
    let mut rows = contents.rows.clone();
    rows.sort_by_key(Row::order);
    rows.iter().for_each(|row| encode_row(row, &mut bytes));
    contents.events.iter().for_each(|(subject, event)| bytes.extend([*subject.as_bytes(), *event.as_bytes()].concat()));
    contents.pruned.iter().for_each(|record| bytes.extend(record.as_bytes()));
    contents.named.iter().for_each(|pack| bytes.extend(pack.as_bytes()));
    for damage in &contents.damage {
        bytes.extend(damage.offset.to_le_bytes());
        bytes.extend(damage.end.to_le_bytes());
        bytes.push(u8::from(damage.record.is_some()));
        bytes.extend(damage.record.unwrap_or(ContentId::new([0; 32])).as_bytes());
    }
    for (lane, end) in &contents.chain_ends {
        bytes.push(*lane);
        bytes.extend(end.sequence.to_le_bytes());
        bytes.extend(end.time.unix_ms().to_le_bytes());
        bytes.extend(end.id.as_bytes());
    }
    to_pages(&bytes)
}

fn encode_entries(contents: &Contents, bytes: &mut Vec<u8>) {
    let mut ends = [0u32; 256];
    contents.entries.keys().for_each(|(id, _)| ends[usize::from(id.as_bytes()[0])] += 1);
    let mut total = 0;
    for end in ends {
        total += end;
        bytes.extend(total.to_le_bytes());
    }
    for ((id, offset), found) in &contents.entries {
        bytes.extend(id.as_bytes());
        bytes.extend(offset.to_le_bytes());
        bytes.extend([found.kind as u8, flags(found)]);
    }
}

fn flags(found: &Found) -> u8 {
    let all = [(found.is_certain, CERTAIN), (found.is_loose, LOOSE), (found.is_member, MEMBER)];
    all.into_iter().filter(|(holds, _)| *holds).map(|(_, flag)| flag).sum()
}

fn encode_row(row: &Row, bytes: &mut Vec<u8>) {
    bytes.extend(row.entry.committed_at.unix_ms().to_le_bytes());
    bytes.extend(row.sequence.to_le_bytes());
    bytes.push(row.lane);
    bytes.extend(row.entry.task.as_bytes());
    bytes.extend(row.entry.attempt.to_le_bytes());
    bytes.extend(row.entry.record.as_bytes());
}

impl Table {
    /// Opens a table of `pack`; `InvalidData` if it is none.
    pub(super) fn open(file: PagedFile, pack: Pack) -> io::Result<Self> {
        let mut reader = Reader { pages: Pages::new(PagedFile::Kept(file.opened()?)), at: 0 };
        if reader.array()? != MAGIC {
            return Err(invalid());
        }
        let (covered, belongs_to) = (reader.u64()?, reader.id()?);
        let [entries, rows, events, named, damage, chains, alone, pruned] = [0; 8].map(|_: u8| reader.u32());
        let (entries, rows, events, alone, pruned) = (entries?, rows?, events?, alone?, pruned?);
        let fan_out = (0..256).map(|_| reader.u32()).collect::<io::Result<_>>()?;
        reader.at = pruned_at(entries, rows, events) + PRUNED * u64::from(pruned);
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
        RowReader { reader: Reader { pages: Pages::new(self.file.clone()), at: 0 }, start: rows_at(self.entries) }
    }

    /// A reader of its entries.
    pub(super) fn entry_reader(&self) -> EntryReader {
        EntryReader { reader: Reader { pages: Pages::new(self.file.clone()), at: 0 } }
    }

    /// Where `id` stands.
    pub(super) fn locations(&self, pack: Pack, id: &ContentId, is_named: bool) -> io::Result<Vec<Location>> {
        let first = usize::from(id.as_bytes()[0]);
        let start = if first == 0 { 0 } else { u64::from(self.fan_out[first - 1]) };
        let end = u64::from(self.fan_out[first].min(self.entries));
        if start >= end {
            return Ok(Vec::new());
        }
        let mut entries = EntryReader { reader: self.reader()? };
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
        Ok(Reader { pages: Pages::new(PagedFile::Kept(self.file.opened()?)), at: 0 })
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

/// Reads rows by their number, in the order of [`Row::order`].
#[derive(Debug)]
pub(super) struct RowReader {
    reader: Reader,
    start: u64,
}

impl RowReader {
    pub(super) fn row(&mut self, number: u64) -> io::Result<Row> {
        let reader = self.reader.seek(self.start + ROW * number);
        let committed_at = reader.time()?;
        let sequence = reader.u64()?;
        let [lane] = reader.array()?;
        let (task, attempt) = (TaskId::new(reader.array()?), reader.u32()?);
        let entry = RecordEntry { task, attempt, record: reader.id()?, committed_at };
        Ok(Row { entry, lane, sequence })
    }
}

/// Reads entries by their number, in ascending order of what they name and where they stand.
#[derive(Debug)]
pub(super) struct EntryReader {
    reader: Reader,
}

impl EntryReader {
    pub(super) fn entry(&mut self, number: u64) -> io::Result<(ContentId, u64, Found)> {
        let id = self.id(number)?;
        Ok((id, self.reader.u64()?, self.reader.found()?))
    }

    fn id(&mut self, number: u64) -> io::Result<ContentId> {
        self.reader.seek(HEADER + FAN_OUT + ENTRY * number).id()
    }
}

#[derive(Debug)]
struct Reader {
    pages: Pages,
    at: u64,
}

impl Reader {
    fn seek(&mut self, at: u64) -> &mut Self {
        self.at = at;
        self
    }

    fn array<const N: usize>(&mut self) -> io::Result<[u8; N]> {
        let mut bytes = [0; N];
        self.pages.read(self.at, &mut bytes)?;
        self.at += N as u64;
        Ok(bytes)
    }

    fn u32(&mut self) -> io::Result<u32> {
        self.array().map(u32::from_le_bytes)
    }

    fn u64(&mut self) -> io::Result<u64> {
        self.array().map(u64::from_le_bytes)
    }

    fn id(&mut self) -> io::Result<ContentId> {
        self.array().map(ContentId::new)
    }

    fn time(&mut self) -> io::Result<Timestamp> {
        Timestamp::from_unix_ms(self.u64()?).ok_or_else(invalid)
    }

    fn found(&mut self) -> io::Result<Found> {
        let [kind, flags] = self.array()?;
        let kinds = [EntryKind::Artifact, EntryKind::Record, EntryKind::Large];
        let kind = kinds.into_iter().find(|known| *known as u8 == kind).ok_or_else(invalid)?;
        let has = |flag| flags & flag != 0;
        Ok(Found { kind, is_certain: has(CERTAIN), is_loose: has(LOOSE), is_member: has(MEMBER) })
    }

    fn damage(&mut self, pack: Pack) -> io::Result<Damage> {
        let (offset, end, [has_record], record) = (self.u64()?, self.u64()?, self.array()?, self.id()?);
        Ok(Damage { pack, offset, end, record: (has_record == 1).then_some(record) })
    }

    fn chain_end(&mut self) -> io::Result<(u8, ChainEnd)> {
        let ([lane], sequence, time, id) = (self.array()?, self.u64()?, self.time()?, self.id()?);
        // What no COMMIT says, no table says.
        let is_in_range = lane < LANES && (1..=MAX_SEQUENCE).contains(&sequence);
        is_in_range.then_some((lane, ChainEnd { id, sequence, time })).ok_or_else(invalid)
    }
}

fn invalid() -> io::Error {
    io::ErrorKind::InvalidData.into()
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::Write;
    use std::sync::Arc;

    fn opened(contents: &Contents) -> io::Result<Table> {
        let pack = Pack::Lane(0);
        let mut file = tempfile::tempfile()?;
        file.write_all(&encode(contents, 0, &ContentId::new([1; 32])))?;
        Table::open(PagedFile::Kept(Arc::new(file)), pack)
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
