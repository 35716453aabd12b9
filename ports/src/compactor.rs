//! Compacting a Task Store.

use crate::{StoreError, TellAdvance};
use isobox_domain::compaction::{Compaction, Scope};

/// Stores what is there in less room.
///
/// - Every record, event and artifact reads as before, and every COMMIT stays, byte for byte.
/// - Whenever it ends, also by a kill or a full disk, everything can be read.
/// - What is damaged is left as it is, and named.
/// - Others publish and read meanwhile. One compaction runs at a time: a second one is [`Locked`](crate::StoreErrorKind::Locked).
/// - Compacting once more changes nothing.
/// - Memory does not grow with the store.
pub trait Compactor {
    /// Compacts what `scope` says; `tell` hears how far it has come.
    fn compact(&self, scope: Scope, tell: TellAdvance<'_>) -> Result<Compaction, StoreError>;

    /// Whether there is so much to compact that it pays, by what is known: nothing is looked at.
    fn compaction_pays(&self) -> Result<bool, StoreError>;
}
