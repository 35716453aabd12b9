//! The table of an Archive: one row for each object, in the order in which they stand.

use super::{ArchiveError, Head, ROW_LEN, Section};
use crate::entry::le_u64;
use crate::limits::{MAX_LARGE_RAW, MAX_PACKED_RAW};
use isobox_domain::content::ContentId;

/// One object of an Archive.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Row {
    /// BLAKE3 of its bytes.
    pub id: ContentId,
    /// Its length in bytes.
    pub length: u64,
    /// Where it starts in the file.
    pub offset: u64,
    /// For a record, how many events there are about it and the records in the rows before; else 0.
    pub events_until: u64,
}

impl Row {
    /// The bytes of the row.
    pub fn encode(&self) -> [u8; ROW_LEN as usize] {
        let mut bytes = [0; ROW_LEN as usize];
        bytes[..32].copy_from_slice(self.id.as_bytes());
        for (at, number) in [(32, self.length), (40, self.offset), (48, self.events_until)] {
            bytes[at..at + 8].copy_from_slice(&number.to_le_bytes());
        }
        bytes
    }

    /// Reads a row. Whether its numbers may be believed, [`TableCheck`] says.
    pub(super) fn decode(bytes: &[u8; ROW_LEN as usize]) -> Self {
        let mut id = [0; 32];
        id.copy_from_slice(&bytes[..32]);
        let [length, offset, events_until] = [32, 40, 48].map(|at| le_u64(bytes, at));
        Self { id: ContentId::new(id), length, offset, events_until }
    }
}

/// The rules of a table, checked row by row: there is one table for one set of objects.
#[derive(Debug)]
pub(super) struct TableCheck {
    head: Head,
    next: u64,
    offset: u64,
    last: Option<Row>,
}

impl TableCheck {
    /// Begins with the first row.
    pub(super) fn new(head: Head) -> Self {
        Self { head, next: 0, offset: head.contents_at(), last: None }
    }

    /// Where the object of the next row starts.
    pub(super) const fn offset(&self) -> u64 {
        self.offset
    }

    /// Takes the next row.
    pub(super) fn admit(&mut self, row: &Row) -> Result<(), ArchiveError> {
        if let Some(reason) = self.refused(row) {
            return Err(ArchiveError::Row { row: self.next, reason });
        }
        self.next += 1;
        // Lengths were checked, and so many rows cannot overflow.
        self.offset += row.length;
        self.last = Some(*row);
        Ok(())
    }

    /// Ends behind the last row.
    pub(super) fn end(&self) -> Result<(), ArchiveError> {
        let is_whole = self.next == self.head.rows() && self.offset == self.head.digest_at();
        let reason = "the objects of its table do not fill it";
        if is_whole { Ok(()) } else { Err(ArchiveError::Head { reason }) }
    }

    fn refused(&self, row: &Row) -> Option<&'static str> {
        let Some(section) = self.section() else { return Some("is one too many") };
        let is_first = self.next == self.head.rows_of(section).start;
        let last = self.last.filter(|_| !is_first);
        let limit = if section == Section::Artifacts { MAX_LARGE_RAW } else { MAX_PACKED_RAW };
        let is_ordered = section == Section::Events || last.is_none_or(|last| last.id < row.id);
        let rules = [
            (row.length > limit, "is longer than is accepted"),
            (row.offset != self.offset, "does not start where the one before ends"),
            (!is_ordered, "is out of order"),
            (!self.has_events_of(section, row), "has a wrong number of events"),
        ];
        rules.into_iter().find_map(|(is_broken, reason)| is_broken.then_some(reason))
    }

    fn section(&self) -> Option<Section> {
        let sections = [Section::Records, Section::Events, Section::Artifacts];
        sections.into_iter().find(|section| self.head.rows_of(*section).contains(&self.next))
    }

    fn has_events_of(&self, section: Section, row: &Row) -> bool {
        if section != Section::Records {
            return row.events_until == 0;
        }
        let before = self.last.map_or(0, |last| last.events_until);
        let is_last = self.next + 1 == self.head.records;
        let all = self.head.events;
        (before..=all).contains(&row.events_until) && (!is_last || row.events_until == all)
    }
}
