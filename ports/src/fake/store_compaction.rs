//! What compaction means in memory: nothing is ever stored in more room than it needs.

use super::store::InMemoryStore;
use crate::{Compactor, StoreError, TellAdvance};
use isobox_domain::compaction::{Compaction, Scope};

impl Compactor for InMemoryStore {
    fn compact(&self, _: Scope, _: TellAdvance<'_>) -> Result<Compaction, StoreError> {
        Ok(Compaction::default())
    }

    fn compaction_pays(&self) -> Result<bool, StoreError> {
        Ok(false)
    }
}
