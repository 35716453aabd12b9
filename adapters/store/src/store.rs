//! The Task Store on this machine's file system.

use crate::index::Index;
use crate::layout::Layout;
use isobox_ports::StoreError;
use std::path::Path;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// The Task Store in the directory `store` of a records directory.
///
/// Any number of processes and threads may use one store at once.
#[derive(Clone, Debug)]
pub struct FsTaskStore {
    pub(crate) shared: Arc<Shared>,
}

/// What a store and its attempts have in common.
#[derive(Debug)]
pub(crate) struct Shared {
    pub(crate) layout: Layout,
    index: Mutex<Index>,
}

impl FsTaskStore {
    /// Opens the store in the directory `records` for reading and writing, or makes one.
    pub fn create(records: &Path) -> Result<Self, StoreError> {
        Layout::create(records).map(Self::new)
    }

    /// Opens the store in the directory `records`, `None` if there is none. Writes nothing, and works on read-only media.
    pub fn open(records: &Path) -> Result<Option<Self>, StoreError> {
        Ok(Layout::open(records)?.map(Self::new))
    }

    fn new(layout: Layout) -> Self {
        Self { shared: Arc::new(Shared { layout, index: Mutex::default() }) }
    }
}

impl Shared {
    /// The index as of now.
    pub(crate) fn fresh_index(&self) -> Result<MutexGuard<'_, Index>, StoreError> {
        let mut index = self.known_index();
        index.refresh(&self.layout)?;
        Ok(index)
    }

    /// The index as it was last refreshed.
    pub(crate) fn known_index(&self) -> MutexGuard<'_, Index> {
        self.index.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
