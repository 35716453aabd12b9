//! Listings of the store in memory.

use super::store::InMemoryStore;
use crate::{Entries, Listing, Listings, RecordLog, StoreError, StoredEvent};
use isobox_domain::listing::Direction;
use isobox_domain::record::{RecordEntry, TaskRecord};

/// What was there when it began.
#[derive(Debug)]
struct InMemoryListing {
    store: InMemoryStore,
    /// Oldest first.
    entries: Vec<RecordEntry>,
    events: Vec<StoredEvent>,
}

impl Listings for InMemoryStore {
    fn begin_listing(&self) -> Result<Box<dyn Listing + '_>, StoreError> {
        let state = self.state();
        let pruned = state.pruned();
        let kept = state.records.iter().filter(|(entry, _)| !pruned.contains(&entry.record));
        let entries = kept.map(|(entry, _)| *entry).collect();
        Ok(Box::new(InMemoryListing { store: self.clone(), entries, events: state.events.clone() }))
    }
}

impl Listing for InMemoryListing {
    fn count(&self) -> u64 {
        self.entries.len() as u64
    }

    fn entries(&self, direction: Direction) -> Entries<'_> {
        match direction {
            Direction::Ascending => Box::new(self.entries.iter().copied().map(Ok)),
            Direction::Descending => Box::new(self.entries.iter().rev().copied().map(Ok)),
        }
    }

    fn damage(&self) -> Vec<StoreError> {
        Vec::new()
    }

    fn load(&self, entry: &RecordEntry) -> Result<Option<TaskRecord>, StoreError> {
        self.store.load(&entry.record)
    }

    fn events(&self, entry: &RecordEntry) -> Result<Vec<StoredEvent>, StoreError> {
        Ok(self.events.iter().filter(|stored| stored.event.subject == entry.record).cloned().collect())
    }
}
