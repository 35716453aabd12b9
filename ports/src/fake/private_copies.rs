//! Private copies of which nothing is on disk.

use crate::{Access, CaptureSink, Exposed, PrivateCopies, PrivateCopyError};
use isobox_domain::escape::Escaped;
use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// Copies that are there by name alone.
#[derive(Clone, Debug, Default)]
pub struct NamedCopies {
    made: Arc<Mutex<Vec<Vec<u8>>>>,
    reserved: Arc<Mutex<u8>>,
    is_broken: Arc<AtomicBool>,
}

impl NamedCopies {
    /// States of copies that were made and not disposed.
    pub fn made(&self) -> Vec<Vec<u8>> {
        self.lock().clone()
    }

    /// Makes every capture fail from now on.
    pub fn break_captures(&self) {
        self.is_broken.store(true, Ordering::Relaxed);
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
            shown.source = PathBuf::from(self.shown(reserved));
        }
        self.lock().push(reserved.to_vec());
        Ok(())
    }

    fn capture(&self, _: &[u8], _: &mut dyn CaptureSink) -> Result<(), PrivateCopyError> {
        match self.is_broken.load(Ordering::Relaxed) {
            false => Ok(()),
            true => Err(PrivateCopyError::Io { operation: "read a copy".to_owned(), source: "it is gone".into() }),
        }
    }

    fn shown(&self, state: &[u8]) -> String {
        format!("/copies/{}", Escaped(state))
    }

    fn dispose(&self, state: &[u8]) -> Result<(), PrivateCopyError> {
        self.lock().retain(|made| made != state);
        Ok(())
    }
}
