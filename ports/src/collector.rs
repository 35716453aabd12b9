//! Collecting what nothing refers to any more.

use crate::{StoreError, TellAdvance};
use isobox_domain::pruning::Swept;

/// Removes the content of records that an event says were pruned.
///
/// - Only what no other record refers to goes; every other record reads as before.
/// - What a record refers to that is published meanwhile stays.
/// - Whenever it ends, also by a kill or a full disk, every record that was not pruned can be read.
/// - Nothing is removed while a record that stays is damaged: what that refers to is not known.
/// - One sweep or compaction runs at a time: a second one is [`Locked`](crate::StoreErrorKind::Locked).
pub trait Collector {
    /// Removes what is to go; `tell` hears how far it has come.
    fn sweep(&self, tell: TellAdvance<'_>) -> Result<Swept, StoreError>;
}
