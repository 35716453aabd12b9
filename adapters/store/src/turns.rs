//! Beginning attempts one after the other, so that they can be counted.

use crate::error::failed;
use crate::locks::{Lock, QUEUE, Sharing, TURNSTILE, lock, try_lock, wait_and_lock};
use crate::store::FsTaskStore;
use isobox_domain::record::TaskRecord;
use isobox_ports::{Attempt, Attempts, OpenAttempts, Room, StoreError, Turn, Turns};

impl Turn for Lock {}

impl Turns for FsTaskStore {
    fn begin_if(
        &self,
        draft: &TaskRecord,
        has_room: &mut dyn FnMut(&Room<'_>) -> bool,
    ) -> Result<Option<Box<dyn Attempt>>, StoreError> {
        let locks = self.shared.layout.locks()?;
        // Held until the attempt has a lock of its own, by which whoever comes next counts it.
        let _turnstile = lock(locks, TURNSTILE, Sharing::Exclusive)?;
        // Only who waits holds it exclusively. Looks share it, so that they do not take one another for such.
        let is_queued_for = try_lock(locks, QUEUE, Sharing::Shared)?.is_none();
        let has_room = has_room(&Room { open: &self.look()?, is_queued_for });
        has_room.then(|| self.begin(draft)).transpose()
    }

    fn queue(&self) -> Result<Box<dyn Turn>, StoreError> {
        let locks = self.shared.layout.locks()?;
        let turn = wait_and_lock(locks, QUEUE).map_err(failed("wait for", &locks.shown(QUEUE)))?;
        Ok(Box::new(turn))
    }
}
