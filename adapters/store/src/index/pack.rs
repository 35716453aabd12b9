//! Files of entries, and what stands where in them.

use crate::dir::{Access, Dir};
use crate::error::Subject;
use crate::layout::Layout;
use isobox_domain::content::ContentId;
use isobox_domain::record::RecordEntry;
use isobox_domain::timestamp::Timestamp;
use isobox_store_format::entry::EntryKind;
use isobox_store_format::limits::{LANES, MAX_PACK};
use std::fs::File;
use std::io;

/// A file of entries.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(crate) enum Pack {
    /// Open for appending.
    Lane(u8),
    /// Sealed, named by the BLAKE3 of its bytes.
    Sealed(ContentId),
}

impl Pack {
    /// Opens the file for reading.
    pub(crate) fn open(self, layout: &Layout) -> io::Result<File> {
        let (dir, name) = self.place(layout);
        dir.file(&name, Access::Read)
    }

    /// How much of the file is read, in bytes; 0 if there is none.
    pub(crate) fn length(self, layout: &Layout) -> io::Result<u64> {
        let (dir, name) = self.place(layout);
        Ok(dir.identity(&name)?.map_or(0, |(_, length)| readable(length)))
    }

    /// The path, for people.
    pub(crate) fn shown(self, layout: &Layout) -> Subject<impl Fn() -> String + '_> {
        Subject(move || {
            let (dir, name) = self.place(layout);
            dir.shown(&name).into()
        })
    }

    fn place(self, layout: &Layout) -> (&Dir, String) {
        match self {
            Self::Lane(lane) => (&layout.lanes, lane_name(lane)),
            Self::Sealed(id) => (&layout.packs, format!("{}.pack", id.to_hex())),
        }
    }
}

/// How much is read of a file of entries that is `length` bytes long: none is made longer than a pack, and what grew beyond
/// that may be a hole that takes hours to read.
pub(crate) fn readable(length: u64) -> u64 {
    length.min(MAX_PACK)
}

/// The file name of a lane.
pub(crate) fn lane_name(lane: u8) -> String {
    format!("lane-{lane:02}.pack")
}

/// The lane of such a file name.
pub(super) fn lane_number(name: &str) -> Option<u8> {
    let number = name.strip_prefix("lane-")?.strip_suffix(".pack")?;
    let is_number = number.len() == 2 && number.bytes().all(|byte| byte.is_ascii_digit());
    number.parse().ok().filter(|lane| is_number && *lane < LANES)
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
    /// Whether the entry there is a block, of which it is a member.
    pub(crate) is_member: bool,
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

impl Row {
    /// Rows are ordered by this, the oldest first. No two rows are alike in it.
    pub(crate) fn order(&self) -> (Timestamp, u64, u8) {
        (self.entry.committed_at, self.sequence, self.lane)
    }
}
