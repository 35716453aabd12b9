//! The Task Store on this machine's file system.

use crate::error::failed;
use crate::index::{Index, Location, MOST_LOOKS};
use crate::layout::Layout;
use crate::object_reader::RecentBlocks;
use crate::pack_dictionary::RecentDictionaries;
use isobox_domain::content::ContentId;
use isobox_ports::StoreError;
use std::io;
use std::path::Path;
use std::sync::atomic::{AtomicU8, Ordering};
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
    pub(crate) recent_blocks: Mutex<RecentBlocks>,
    recent_dictionaries: Mutex<RecentDictionaries>,
    last_lane: AtomicU8,
}

impl FsTaskStore {
    /// Opens the store in the directory `records` for reading and writing, or makes one.
    pub fn create(records: &Path) -> Result<Self, StoreError> {
        Layout::create(records).map(Self::new)
    }

    /// Opens the store in the directory `records`, `None` if there is none. Writes nothing but derived tables,
    /// and works on read-only media.
    pub fn open(records: &Path) -> Result<Option<Self>, StoreError> {
        Ok(Layout::open(records)?.map(Self::new))
    }

    /// Opens the store that the directory `store` is, to be read only; `None` if it is none. Nothing in it is changed, not
    /// even what is derived.
    pub fn open_untouched(store: &Path) -> Result<Option<Self>, StoreError> {
        Ok(Layout::open_untouched(store)?.map(Self::new))
    }

    /// As [`open_untouched`](Self::open_untouched) for the store in the directory `records`, reached through no link.
    pub fn open_untouched_in(records: &Path) -> Result<Option<Self>, StoreError> {
        Ok(Layout::open_untouched_in(records)?.map(Self::new))
    }

    fn new(layout: Layout) -> Self {
        let (index, recent_blocks, recent_dictionaries, last_lane) = Default::default();
        Self { shared: Arc::new(Shared { layout, index, recent_blocks, recent_dictionaries, last_lane }) }
    }
}

impl Shared {
    /// The index as of now.
    pub(crate) fn fresh_index(&self) -> Result<MutexGuard<'_, Index>, StoreError> {
        let mut index = self.known_index();
        index.refresh(&self.layout)?;
        Ok(index)
    }

    /// The index as of now, as far as a put into the lane `own` needs it.
    pub(crate) fn index_for_put(&self, own: u8) -> Result<MutexGuard<'_, Index>, StoreError> {
        let mut index = self.known_index();
        index.refresh_for_put(&self.layout, own)?;
        Ok(index)
    }

    /// The lane that was put into last. What it holds is known, and counts as stored.
    pub(crate) fn last_lane(&self) -> u8 {
        self.last_lane.load(Ordering::Relaxed)
    }

    /// Remembers the lane that is put into.
    pub(crate) fn remember_lane(&self, lane: u8) {
        self.last_lane.store(lane, Ordering::Relaxed);
    }

    /// Forgets what is known of all files.
    pub(crate) fn forget_index(&self) {
        *self.known_index() = Index::default();
    }

    /// The index as it was last refreshed.
    pub(crate) fn known_index(&self) -> MutexGuard<'_, Index> {
        self.index.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Dictionaries that were read lately.
    pub(crate) fn recent_dictionaries(&self) -> MutexGuard<'_, RecentDictionaries> {
        self.recent_dictionaries.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Whether `id` is known to be committed; if so, it is durable now: the one that did so may have been killed before
    /// its flush.
    pub(crate) fn make_durable(&self, id: &ContentId) -> Result<bool, StoreError> {
        let mut found = self.known_locations(id)?;
        found.retain(|found| found.is_certain);
        for location in &found {
            let subject = location.pack.shown(&self.layout);
            match location.pack.open(&self.layout).and_then(|file| file.sync_data()) {
                // Compaction removed the pack after what was in it was durable in another one.
                Err(error) if error.kind() == io::ErrorKind::NotFound => {}
                flushed => flushed.map_err(failed("flush", &subject))?,
            }
        }
        Ok(!found.is_empty())
    }

    /// Whether `id` is committed as of now; if so, it is durable.
    pub(crate) fn is_published(&self, id: &ContentId) -> Result<bool, StoreError> {
        drop(self.fresh_index()?);
        self.make_durable(id)
    }

    /// Where `id` was committed, by what is known without looking for more.
    pub(crate) fn known_locations(&self, id: &ContentId) -> Result<Vec<Location>, StoreError> {
        self.ask(|index, layout| index.locations(layout, id))
    }

    /// Where `id` was committed, as of now.
    pub(crate) fn fresh_locations(&self, id: &ContentId) -> Result<Vec<Location>, StoreError> {
        drop(self.fresh_index()?);
        self.known_locations(id)
    }

    /// What the index says as it is known; as of now, where a pack went that it knows.
    pub(crate) fn ask<T>(
        &self,
        question: impl Fn(&mut Index, &Layout) -> Result<T, StoreError>,
    ) -> Result<T, StoreError> {
        let mut answer = question(&mut self.known_index(), &self.layout);
        for _ in 0..MOST_LOOKS {
            if answer.is_ok() {
                break;
            }
            answer = question(&mut *self.fresh_index()?, &self.layout);
        }
        answer
    }
}
