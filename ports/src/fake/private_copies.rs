//! Private copies of which nothing is on disk.

use crate::{Access, Exposed, PrivateCopies, PrivateCopyError};
use std::path::PathBuf;
use std::sync::{Mutex, MutexGuard, PoisonError};

/// Copies that are there by name alone.
#[derive(Debug, Default)]
pub struct NamedCopies {
    made: Mutex<Vec<Vec<u8>>>,
    reserved: Mutex<u8>,
}

impl NamedCopies {
    /// States of copies that were made and not disposed.
    pub fn made(&self) -> Vec<Vec<u8>> {
        self.lock().clone()
    }

    /// How many places were chosen.
    pub fn reserved(&self) -> u8 {
        *self.reserved.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn lock(&self) -> MutexGuard<'_, Vec<Vec<u8>>> {
        self.made.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl PrivateCopies for NamedCopies {
    fn reserve(&self) -> Result<Vec<u8>, PrivateCopyError> {
        let mut reserved = self.reserved.lock().unwrap_or_else(PoisonError::into_inner);
        *reserved += 1;
        Ok(vec![*reserved])
    }

    fn make(&self, reserved: &[u8], exposed: &mut Exposed) -> Result<(), PrivateCopyError> {
        for shown in exposed.shown.iter_mut().filter(|shown| shown.access != Access::ReadOnly) {
            shown.source = PathBuf::from("/copy");
        }
        self.lock().push(reserved.to_vec());
        Ok(())
    }

    fn dispose(&self, state: &[u8]) -> Result<(), PrivateCopyError> {
        self.lock().retain(|made| made != state);
        Ok(())
    }
}
