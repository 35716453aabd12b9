//! The Archive: one self-verifying file that carries records to another store.
//!
//! A head, a table with one row for each object, the objects one after the other, and a digest of all that. Objects stand as
//! they are, uncompressed: the same records and events are the same bytes, whichever store and version they come from.

mod content;
mod head;
mod reader;
mod table;
mod writer;

pub use content::ArchiveContent;
pub use head::{Head, Section};
pub use reader::Archive;
pub use table::Row;
pub use writer::{ArchiveWriter, WriteArchiveError};

use isobox_domain::content::ContentId;
use std::io;

/// Length of the head in bytes.
pub const HEAD_LEN: u64 = 48;
/// Length of a row of the table in bytes.
pub const ROW_LEN: u64 = 56;
/// Length of a digest, behind the table and at the end, in bytes.
pub const DIGEST_LEN: u64 = 32;
/// Most records of an Archive.
pub const MAX_RECORDS: u64 = 1 << 20;
/// Most events of an Archive.
pub const MAX_EVENTS: u64 = 1 << 20;
/// Most artifacts of an Archive.
pub const MAX_ARTIFACTS: u64 = 1 << 24;

/// Why some bytes are no Archive, or not the one that was written.
#[derive(Debug, thiserror::Error)]
pub enum ArchiveError {
    /// They could not be read.
    #[error("it cannot be read")]
    Io(#[from] io::Error),
    /// They start as something else.
    #[error("it is no archive of isobox")]
    NotAnArchive,
    /// They were written by a later version.
    #[error("it is an archive of version {found}, which this isobox does not know")]
    Version {
        /// The version.
        found: u32,
    },
    /// The head breaks a rule.
    #[error("its head is damaged: {reason}")]
    Head {
        /// Which.
        reason: &'static str,
    },
    /// A row of the table breaks a rule.
    #[error("its table is damaged: row {row} {reason}")]
    Row {
        /// Which row, counted from 0.
        row: u64,
        /// Which rule.
        reason: &'static str,
    },
    /// Head and table are not what was written.
    #[error("its head or its table is damaged: their digest is another")]
    HeadDigest,
    /// It is shorter or longer than its head says.
    #[error("it has {found} bytes, expected {expected}: {}", if found < expected { "its end is missing" } else { "something follows it" })]
    Length {
        /// What the head says, in bytes.
        expected: u64,
        /// How long it is, in bytes.
        found: u64,
    },
    /// The digest at the end is not that of what stands before it.
    #[error("the digest at its end is not that of what stands before it")]
    Digest,
    /// An object is not the one that its row names.
    #[error("the content of {expected} is damaged")]
    Content {
        /// What the row names.
        expected: ContentId,
    },
}
