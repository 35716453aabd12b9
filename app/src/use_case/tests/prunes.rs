//! What a prune leaves when something happens to a record meanwhile.

use crate::use_case::fixture::clock;
use crate::use_case::prune::{Clockwork, Ports, perform, plan};
use isobox_domain::content::ContentId;
use isobox_domain::event::{Event, EventKind};
use isobox_domain::record::{RecordEntry, TaskRecord};
use isobox_domain::retention::{Retention, Unpromoted};
use isobox_ports::contract::sample::{draft, promoted, record};
use isobox_ports::fake::InMemoryStore;
use isobox_ports::{AppendError, Attempt, Attempts, RecordLog, StoreError, StoredEvent};
use std::sync::atomic::{AtomicBool, Ordering};

/// A log in which somebody pins a record right after its events were read for the first time.
struct PinnedMeanwhile {
    inner: InMemoryStore,
    is_pinned: AtomicBool,
}

impl RecordLog for PinnedMeanwhile {
    fn publish_keeping(
        &self,
        attempt: Box<dyn Attempt>,
        record: &TaskRecord,
    ) -> Result<(ContentId, Box<dyn Attempt>), StoreError> {
        self.inner.publish_keeping(attempt, record)
    }

    fn append(&self, event: &Event) -> Result<ContentId, AppendError> {
        self.inner.append(event)
    }

    fn bytes(&self, id: &ContentId) -> Result<Option<Vec<u8>>, StoreError> {
        self.inner.bytes(id)
    }

    fn load(&self, id: &ContentId) -> Result<Option<TaskRecord>, StoreError> {
        self.inner.load(id)
    }

    fn events(&self, subject: &ContentId) -> Result<Vec<StoredEvent>, StoreError> {
        let events = self.inner.events(subject)?;
        if !self.is_pinned.swap(true, Ordering::Relaxed) {
            let previous = events.last().map(|stored| stored.id);
            let pin = Event { kind: EventKind::Pinned, ..promoted(1, *subject, previous) };
            self.inner.append(&pin).expect("it follows the newest one");
        }
        Ok(events)
    }

    fn list(&self) -> Result<Box<dyn Iterator<Item = Result<RecordEntry, StoreError>> + '_>, StoreError> {
        self.inner.list()
    }
}

#[test]
fn a_record_that_is_pinned_while_it_is_judged_is_spared() {
    let store = InMemoryStore::default();
    let attempt = store.begin(&draft(1)).expect("the fake begins");
    let id = store.publish(attempt, &record(1)).expect("the fake publishes");
    let records = PinnedMeanwhile { inner: store.clone(), is_pinned: AtomicBool::new(false) };
    let ports = Ports { records: &records, objects: &store, views: &store, collector: &store, clock: &clock() };
    let retention = Retention { last: Some(0), unpromoted: Unpromoted::MayGo, ..Retention::default() };
    let planned = plan(&ports, retention, Clockwork::Trusted, &mut |_| Ok(())).expect("nothing fails");
    assert_eq!(planned.doomed.len(), 1, "nobody had pinned it yet");
    let (spared, swept) = perform(&ports, &planned, retention, &|_| {}).expect("nothing fails");
    assert_eq!((spared, swept.records), (1, 0));
    let left: Vec<_> = store.list().expect("the fake lists").map(|entry| entry.expect("whole").record).collect();
    assert_eq!(left, [id]);
}
