//! Looking through all records, as they were at one moment.

use crate::error::damaged;
use crate::index::{InOrder, Index};
use crate::record_log::{Seen, in_order};
use crate::store::FsTaskStore;
use isobox_domain::content::{ContentId, ContentRef};
use isobox_domain::listing::Direction;
use isobox_domain::record::{RecordEntry, TaskRecord};
use isobox_ports::{Entries, Listing, Listings, RecordLog, StoreError, StoredEvent};
use isobox_store_format::entry::EntryKind;
use isobox_store_format::record::{ChildRole, children, decode_record};
use std::cell::{Cell, RefCell};
use std::collections::VecDeque;
use std::rc::Rc;

/// So many policies are remembered, as long as they are together: those of a project are few.
const POLICIES: usize = 32;
/// Longer policies are not remembered, in bytes.
const LONG_POLICY: u64 = 64 * 1024;

/// What was committed when it began.
struct FsListing<'a> {
    store: &'a FsTaskStore,
    index: RefCell<Index>,
    /// The record that was handed out last, and which source it came from: there it stands, mostly.
    last: Cell<Option<(ContentId, usize)>>,
    policies: RefCell<VecDeque<(ContentId, Rc<Vec<u8>>)>>,
}

impl Listings for FsTaskStore {
    fn begin_listing(&self) -> Result<Box<dyn Listing + '_>, StoreError> {
        let index = RefCell::new(self.shared.fresh_index()?.snapshot());
        Ok(Box::new(FsListing { store: self, index, last: Cell::default(), policies: RefCell::default() }))
    }
}

impl Listing for FsListing<'_> {
    fn count(&self) -> u64 {
        self.index.borrow().row_count()
    }

    fn entries(&self, direction: Direction) -> Entries<'_> {
        let mut rows = self.index.borrow().in_order(direction);
        let mut seen = Seen::default();
        Box::new(std::iter::from_fn(move || {
            let mut entry = self.next_kept(&mut rows).transpose();
            while entry.as_ref().is_some_and(|entry| entry.as_ref().is_ok_and(|it| seen.has(&it.record))) {
                entry = self.next_kept(&mut rows).transpose();
            }
            if let Some(Ok(entry)) = &entry {
                self.last.set(rows.last_source().map(|source| (entry.record, source)));
            }
            entry
        }))
    }

    fn damage(&self) -> Vec<StoreError> {
        self.index.borrow().damage().iter().map(|damage| self.store.damage_error(damage)).collect()
    }

    fn load(&self, entry: &RecordEntry) -> Result<Option<TaskRecord>, StoreError> {
        let id = &entry.record;
        let Some(bytes) = self.record_bytes(id)? else { return Ok(None) };
        let refused = |e| damaged("load record", id.to_string(), e);
        let policy = children(&bytes).map_err(refused)?.into_iter().find(|child| child.role == ChildRole::Policy);
        let policy = policy.map(|policy| self.policy(id, &policy.reference)).transpose()?.unwrap_or_default();
        decode_record(&bytes, &policy).map(Some).map_err(refused)
    }

    fn events(&self, entry: &RecordEntry) -> Result<Vec<StoredEvent>, StoreError> {
        let ids = self.index.borrow_mut().events(&self.store.shared.layout, &entry.record);
        match ids {
            Ok(ids) => {
                let events = ids.into_iter().map(|id| self.store.load_event(id));
                Ok(in_order(events.collect::<Result<_, _>>()?))
            }
            // A pack went while this went on: what was in it is elsewhere now.
            Err(_) => self.store.events(&entry.record),
        }
    }
}

impl FsListing<'_> {
    /// The next entry of a record that was not pruned when this began.
    fn next_kept(&self, rows: &mut InOrder) -> Result<Option<RecordEntry>, StoreError> {
        loop {
            match self.store.next_row(rows)?.map(|row| row.entry) {
                Some(entry) if self.was_pruned(&entry.record)? => {}
                entry => return Ok(entry),
            }
        }
    }

    fn was_pruned(&self, id: &ContentId) -> Result<bool, StoreError> {
        let known = self.index.borrow_mut().is_pruned(&self.store.shared.layout, id);
        // A pack went while this went on: what was in it is elsewhere now.
        known.or_else(|_| self.store.is_pruned(id))
    }

    /// The bytes of a record: from the pack that its entry came from, else from wherever it is stored.
    fn record_bytes(&self, id: &ContentId) -> Result<Option<Vec<u8>>, StoreError> {
        if let Some((_, source)) = self.last.get().filter(|(last, _)| last == id) {
            let found = self.index.borrow_mut().locations_in(&self.store.shared.layout, source, id);
            let records = found.unwrap_or_default().into_iter().filter(|found| found.kind == EntryKind::Record);
            if let Some(bytes) = records.filter_map(|found| self.store.read_at(id, found).ok().flatten()).next() {
                return Ok(Some(bytes));
            }
        }
        self.store.read_small(id, EntryKind::Record)
    }

    fn policy(&self, record: &ContentId, policy: &ContentRef) -> Result<Rc<Vec<u8>>, StoreError> {
        if let Some((_, bytes)) = self.policies.borrow().iter().find(|(id, _)| *id == policy.id) {
            return Ok(Rc::clone(bytes));
        }
        let bytes = Rc::new(self.store.read_policy(record, policy)?);
        if policy.length <= LONG_POLICY {
            let mut policies = self.policies.borrow_mut();
            policies.truncate(POLICIES - 1);
            policies.push_front((policy.id, Rc::clone(&bytes)));
        }
        Ok(bytes)
    }
}
