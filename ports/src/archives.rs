//! Writing records as an Archive.

use crate::{StoreError, TellAdvance};
use isobox_domain::content::ContentId;
use std::io::{self, Write};

/// What an Archive that was written holds.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Archived {
    /// Records.
    pub records: u64,
    /// Events about them.
    pub events: u64,
    /// Everything else.
    pub artifacts: u64,
    /// How long it is, in bytes.
    pub bytes: u64,
}

/// Why an Archive was not written. What was written of it is none.
#[derive(Debug, thiserror::Error)]
pub enum ArchivingError {
    /// A record, or something below it, could not be read.
    #[error(transparent)]
    Store(#[from] StoreError),
    /// What was read could not be written.
    #[error("write the archive")]
    Write(#[source] io::Error),
}

/// Writes records, the events about them and everything below them as one Archive.
///
/// - The same records and events are the same bytes, in whichever order the records are named and whatever holds them.
/// - What is damaged or missing ends the Archive with an error.
/// - Memory grows by no more than 64 bytes a record or event, and with nothing else.
pub trait Archiver {
    /// Writes `records`, each once, to `to`.
    fn archive(
        &self,
        records: &[ContentId],
        to: &mut dyn Write,
        tell: TellAdvance<'_>,
    ) -> Result<Archived, ArchivingError>;
}
