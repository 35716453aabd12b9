//! The turns of the store in memory.

use super::store::InMemoryStore;
use crate::{Attempt, Attempts, OpenAttempts, Room, StoreError, Turn, Turns};
use isobox_domain::record::TaskRecord;
use std::sync::{Arc, Condvar, Mutex, PoisonError};

/// Who passes, and who waits.
#[derive(Debug, Default)]
pub(super) struct Turnstile {
    passing: Mutex<()>,
    is_queued_for: Mutex<bool>,
    left: Condvar,
}

struct InMemoryTurn(Arc<Turnstile>);

impl Turn for InMemoryTurn {}

impl Drop for InMemoryTurn {
    fn drop(&mut self) {
        *self.0.is_queued_for.lock().unwrap_or_else(PoisonError::into_inner) = false;
        self.0.left.notify_one();
    }
}

impl Turns for InMemoryStore {
    fn begin_if(
        &self,
        draft: &TaskRecord,
        has_room: &mut dyn FnMut(&Room<'_>) -> bool,
    ) -> Result<Option<Box<dyn Attempt>>, StoreError> {
        let _passing = self.turnstile.passing.lock().unwrap_or_else(PoisonError::into_inner);
        let is_queued_for = *self.turnstile.is_queued_for.lock().unwrap_or_else(PoisonError::into_inner);
        let has_room = has_room(&Room { open: &self.look()?, is_queued_for });
        has_room.then(|| self.begin(draft)).transpose()
    }

    fn queue(&self) -> Result<Box<dyn Turn>, StoreError> {
        let held = self.turnstile.is_queued_for.lock().unwrap_or_else(PoisonError::into_inner);
        let held = self.turnstile.left.wait_while(held, |is_queued_for| *is_queued_for);
        *held.unwrap_or_else(PoisonError::into_inner) = true;
        Ok(Box::new(InMemoryTurn(Arc::clone(&self.turnstile))))
    }
}
