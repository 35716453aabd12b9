//! The head of an Archive: how much of everything follows.

use super::{ArchiveError, DIGEST_LEN, HEAD_LEN, MAX_ARTIFACTS, MAX_EVENTS, MAX_RECORDS, ROW_LEN};
use crate::entry::{le_u32, le_u64};
use std::ops::Range;

const MAGIC: [u8; 8] = *b"\xb1isoarc\n";
const VERSION: u32 = 1;

/// The part of the table that an object is listed in, which says what it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Section {
    /// Task Records.
    Records,
    /// Events.
    Events,
    /// Everything else.
    Artifacts,
}

/// How many objects an Archive holds, and how long it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Head {
    /// Task Records, at least one.
    pub records: u64,
    /// Events about them.
    pub events: u64,
    /// Artifacts.
    pub artifacts: u64,
    /// Length of the whole file in bytes.
    pub length: u64,
}

impl Head {
    /// The head for so many objects, whose contents have `content_bytes` together; `None` if that is over a limit.
    pub fn of(records: u64, events: u64, artifacts: u64, content_bytes: u64) -> Option<Self> {
        let without = Self { records, events, artifacts, length: 0 };
        without.refused().is_none().then_some(())?;
        let length = without.contents_at().checked_add(content_bytes)?.checked_add(DIGEST_LEN)?;
        Some(Self { length, ..without })
    }

    /// How many rows the table has.
    pub const fn rows(&self) -> u64 {
        self.records + self.events + self.artifacts
    }

    /// The rows of a section.
    pub const fn rows_of(&self, section: Section) -> Range<u64> {
        match section {
            Section::Records => 0..self.records,
            Section::Events => self.records..self.records + self.events,
            Section::Artifacts => self.records + self.events..self.rows(),
        }
    }

    /// Where the first object starts, in bytes.
    pub const fn contents_at(&self) -> u64 {
        HEAD_LEN + self.rows() * ROW_LEN + DIGEST_LEN
    }

    /// Where the digest at the end starts, in bytes.
    pub const fn digest_at(&self) -> u64 {
        self.length - DIGEST_LEN
    }

    /// The bytes of the head.
    pub fn encode(&self) -> [u8; HEAD_LEN as usize] {
        let mut bytes = [0; HEAD_LEN as usize];
        bytes[..8].copy_from_slice(&MAGIC);
        bytes[8..12].copy_from_slice(&VERSION.to_le_bytes());
        for (at, number) in [(16, self.records), (24, self.events), (32, self.artifacts), (40, self.length)] {
            bytes[at..at + 8].copy_from_slice(&number.to_le_bytes());
        }
        bytes
    }

    /// Reads a head. Its numbers are within their limits.
    pub fn decode(bytes: &[u8; HEAD_LEN as usize]) -> Result<Self, ArchiveError> {
        if bytes[..8] != MAGIC {
            return Err(ArchiveError::NotAnArchive);
        }
        match le_u32(bytes, 8) {
            VERSION => {}
            found => return Err(ArchiveError::Version { found }),
        }
        let [records, events, artifacts, length] = [16, 24, 32, 40].map(|at| le_u64(bytes, at));
        let head = Self { records, events, artifacts, length };
        if bytes[12..16] != [0; 4] {
            return Err(ArchiveError::Head { reason: "bytes 12 to 15 are not zero" });
        }
        if let Some(reason) = head.refused() {
            return Err(ArchiveError::Head { reason });
        }
        if length < head.contents_at() + DIGEST_LEN {
            return Err(ArchiveError::Head { reason: "the file is shorter than its table" });
        }
        Ok(head)
    }

    fn refused(&self) -> Option<&'static str> {
        let over = [
            (self.records == 0, "it holds no record"),
            (self.records > MAX_RECORDS, "it holds more records than are accepted"),
            (self.events > MAX_EVENTS, "it holds more events than are accepted"),
            (self.artifacts > MAX_ARTIFACTS, "it holds more artifacts than are accepted"),
        ];
        over.into_iter().find_map(|(is_over, reason)| is_over.then_some(reason))
    }
}
