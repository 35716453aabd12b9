//! Looking at attempts that are not over, without touching them.

use crate::{Flow, Role, StoreError};
use isobox_domain::record::TaskRecord;

/// The attempts of a store that are neither published nor discarded.
///
/// - An attempt is seen, as running, from when it was begun until it is published, discarded or its process is gone.
/// - One whose process is gone is seen as not running until a later start has finished it.
/// - Looking changes nothing: an abandoned attempt is still found by `abandoned`.
pub trait OpenAttempts: Send + Sync {
    /// Looks at all of them, in no order.
    fn look(&self) -> Result<Vec<Box<dyn OpenAttempt>>, StoreError>;
}

/// What came of asking the process of an attempt to end.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Asked {
    /// It was asked.
    Sent,
    /// No process runs the attempt any more.
    Over,
    /// The process cannot be seen, or not be signalled, from here.
    OutOfReach,
}

/// An attempt as it was when it was looked at.
pub trait OpenAttempt: Send + Sync {
    /// The newest draft of its record.
    fn draft(&self) -> &TaskRecord;

    /// What was noted under `name`.
    fn noted(&self, name: &str) -> Option<&[u8]>;

    /// Whether a process ran it.
    fn is_running(&self) -> bool;

    /// Asks the process that runs it to end, as a terminal's hang-up would. Never another process.
    fn interrupt(&self) -> Result<Asked, StoreError>;

    /// Waits until no process runs it.
    fn wait(&self) -> Result<(), StoreError>;

    /// Hands over what is written to its outputs, from the first byte on, as it comes, until no process runs it or
    /// `receive` wants no more. What was written of their timeline before a piece is handed over before it. Of an attempt that was published, the last bytes may be in the record alone.
    fn follow(&self, receive: &mut dyn FnMut(Role, &[u8]) -> Flow) -> Result<(), StoreError>;
}
