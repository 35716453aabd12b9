//! Publishing records and events, and reading them back.

use crate::{Attempt, StoreError};
use isobox_domain::content::ContentId;
use isobox_domain::event::Event;
use isobox_domain::record::{RecordEntry, TaskRecord};

/// An event and its own digest.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct StoredEvent {
    /// The digest of the event's bytes.
    pub id: ContentId,
    /// The event.
    pub event: Event,
}

/// Why an event was not appended.
#[derive(Debug, thiserror::Error)]
pub enum AppendError {
    /// Something else happened to the subject in the meantime; nothing was appended.
    #[error("another event about the record came first")]
    Stale {
        /// The newest event about the subject.
        newest: Option<ContentId>,
    },
    /// The store failed.
    #[error(transparent)]
    Store(#[from] StoreError),
}

/// The records and events of a Task Store.
///
/// - When `publish` or `publish_keeping` returns, the record and everything staged in its attempt survive a power cut; this is the only
///   durable step, with one flush when nothing is as large as 1 MiB.
/// - A record is visible whole or not at all.
/// - When they fail, the attempt is left to be found as abandoned.
/// - `append` succeeds only if the newest event about the subject is the event's `previous`: of two processes at once, one wins.
/// - A record that was published twice with equal bytes is the same record.
/// - Listing is newest first, and goes on past damaged entries. Records that were pruned are not listed, also if they are
///   published once more.
pub trait RecordLog: Send + Sync {
    /// Makes an attempt durable as `record`, and hands it back: whoever is killed before it was discarded leaves it to be
    /// found as abandoned, so that its notes can name what is still to be cleared up.
    fn publish_keeping(
        &self,
        attempt: Box<dyn Attempt>,
        record: &TaskRecord,
    ) -> Result<(ContentId, Box<dyn Attempt>), StoreError>;

    /// Makes an attempt durable as `record`, and forgets it.
    fn publish(&self, attempt: Box<dyn Attempt>, record: &TaskRecord) -> Result<ContentId, StoreError> {
        let (id, attempt) = self.publish_keeping(attempt, record)?;
        match attempt.discard() {
            // The record is durable. Whoever finds what is left of its attempt finds the record, too.
            Ok(()) | Err(_) => Ok(id),
        }
    }

    /// Appends an event. Durable when it returns.
    fn append(&self, event: &Event) -> Result<ContentId, AppendError>;

    /// The exact bytes whose BLAKE3 is the digest of a record or event, verified.
    fn bytes(&self, id: &ContentId) -> Result<Option<Vec<u8>>, StoreError>;

    /// The record with this digest, verified.
    fn load(&self, id: &ContentId) -> Result<Option<TaskRecord>, StoreError>;

    /// The events about a record, oldest first.
    fn events(&self, subject: &ContentId) -> Result<Vec<StoredEvent>, StoreError>;

    /// Every record, newest first.
    fn list(&self) -> Result<Box<dyn Iterator<Item = Result<RecordEntry, StoreError>> + '_>, StoreError>;
}
