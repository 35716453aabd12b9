//! What an Archive does not do: nothing is ever written to one.

use super::FsArchive;
use crate::error::error;
use isobox_domain::record::TaskRecord;
use isobox_ports::{Attempt, Attempts, OpenAttempt, OpenAttempts, Room, StoreError, StoreErrorKind, Turn, Turns};

/// The failure of whoever wants to.
pub(super) fn read_only(operation: &'static str, shown: &str) -> StoreError {
    let reason = "it is an archive, to which nothing is ever added; `isobox import` takes its records over";
    error(StoreErrorKind::Unsuitable, operation, shown, reason)
}

impl Attempts for FsArchive {
    fn probe(&self, _room_bytes: u64) -> Result<(), StoreError> {
        Err(read_only("write to", &self.shown))
    }

    fn begin(&self, _draft: &TaskRecord) -> Result<Box<dyn Attempt>, StoreError> {
        Err(read_only("begin attempt in", &self.shown))
    }

    fn abandoned(&self) -> Result<Vec<Box<dyn Attempt>>, StoreError> {
        Ok(Vec::new())
    }
}

impl OpenAttempts for FsArchive {
    fn look(&self) -> Result<Vec<Box<dyn OpenAttempt>>, StoreError> {
        Ok(Vec::new())
    }
}

impl Turns for FsArchive {
    fn begin_if(
        &self,
        _draft: &TaskRecord,
        _has_room: &mut dyn FnMut(&Room<'_>) -> bool,
    ) -> Result<Option<Box<dyn Attempt>>, StoreError> {
        Err(read_only("begin attempt in", &self.shown))
    }

    fn queue(&self) -> Result<Box<dyn Turn>, StoreError> {
        Err(read_only("begin attempt in", &self.shown))
    }
}
