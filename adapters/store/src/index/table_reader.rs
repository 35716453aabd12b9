//! Reading what stands in a table, field by field.

use super::contents::Found;
use super::paged::Pages;
use super::table::{CERTAIN, ENTRY, FAN_OUT, HEADER, LOOSE, MEMBER, ROW, invalid};
use super::{ChainEnd, Damage, Pack, Row};
use isobox_domain::content::ContentId;
use isobox_domain::record::RecordEntry;
use isobox_domain::task_id::TaskId;
use isobox_domain::timestamp::Timestamp;
use isobox_store_format::entry::EntryKind;
use isobox_store_format::limits::{LANES, MAX_SEQUENCE};
use std::io;

/// Reads rows by their number, in the order of [`Row::order`].
#[derive(Debug)]
pub(super) struct RowReader {
    reader: Reader,
    start: u64,
}

impl RowReader {
    /// Of rows that start at `start`.
    pub(super) fn new(reader: Reader, start: u64) -> Self {
        Self { reader, start }
    }

    /// The row of this number.
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
    pub(super) fn new(reader: Reader) -> Self {
        Self { reader }
    }

    /// The entry of this number: what it names, where it stands, and how it was found.
    pub(super) fn entry(&mut self, number: u64) -> io::Result<(ContentId, u64, Found)> {
        let id = self.id(number)?;
        Ok((id, self.reader.u64()?, self.reader.found()?))
    }

    /// What the entry of this number names.
    pub(super) fn id(&mut self, number: u64) -> io::Result<ContentId> {
        self.reader.seek(HEADER + FAN_OUT + ENTRY * number).id()
    }
}

/// Reads fields, one after the other.
#[derive(Debug)]
pub(super) struct Reader {
    pages: Pages,
    at: u64,
}

impl Reader {
    /// Begins at the beginning.
    pub(super) fn new(pages: Pages) -> Self {
        Self { pages, at: 0 }
    }

    /// Goes on from there.
    pub(super) fn seek(&mut self, at: u64) -> &mut Self {
        self.at = at;
        self
    }

    pub(super) fn array<const N: usize>(&mut self) -> io::Result<[u8; N]> {
        let mut bytes = [0; N];
        self.pages.read(self.at, &mut bytes)?;
        self.at += N as u64;
        Ok(bytes)
    }

    pub(super) fn u32(&mut self) -> io::Result<u32> {
        self.array().map(u32::from_le_bytes)
    }

    pub(super) fn u64(&mut self) -> io::Result<u64> {
        self.array().map(u64::from_le_bytes)
    }

    pub(super) fn id(&mut self) -> io::Result<ContentId> {
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

    pub(super) fn damage(&mut self, pack: Pack) -> io::Result<Damage> {
        let (offset, end, [has_record], record) = (self.u64()?, self.u64()?, self.array()?, self.id()?);
        Ok(Damage { pack, offset, end, record: (has_record == 1).then_some(record) })
    }

    pub(super) fn chain_end(&mut self) -> io::Result<(u8, ChainEnd)> {
        let ([lane], sequence, time, id) = (self.array()?, self.u64()?, self.time()?, self.id()?);
        // What no COMMIT says, no table says.
        let is_in_range = lane < LANES && (1..=MAX_SEQUENCE).contains(&sequence);
        is_in_range.then_some((lane, ChainEnd { id, sequence, time })).ok_or_else(invalid)
    }
}
