//! Beginning attempts only while not too many run.

use crate::{Attempt, OpenAttempt, StoreError};
use isobox_domain::record::TaskRecord;

/// What a store looks like to whoever wants to begin an attempt.
pub struct Room<'a> {
    /// The attempts that are neither published nor discarded, running or not.
    pub open: &'a [Box<dyn OpenAttempt>],
    /// Whether somebody holds a place in the queue.
    pub is_queued_for: bool,
}

/// A place at the head of the queue. Dropping it lets the next one come.
pub trait Turn: Send {}

/// Attempts that begin only while there is room for them.
///
/// - Between the question whether there is room and the beginning nobody else begins in this way, in any process: where
///   all who begin ask the same question, never more run than it allows.
/// - Where there is no room nothing is begun, and nothing is left.
/// - At most one holds the head of the queue. A killed process holds neither that nor anything else.
pub trait Turns: Send + Sync {
    /// Begins an attempt, as [`Attempts::begin`](crate::Attempts::begin) does, if `has_room` says so; `None` if not.
    fn begin_if(
        &self,
        draft: &TaskRecord,
        has_room: &mut dyn FnMut(&Room<'_>) -> bool,
    ) -> Result<Option<Box<dyn Attempt>>, StoreError>;

    /// Waits, as long as it takes, until everybody has gone who came to the queue before.
    fn queue(&self) -> Result<Box<dyn Turn>, StoreError>;
}
