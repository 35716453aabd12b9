//! What only pruned records refer to, and no sweep has removed yet.

use crate::index::Index;
use crate::store::FsTaskStore;
use crate::sweep::each_unswept;
use isobox_domain::content::ContentId;
use isobox_ports::{StoreError, StoreErrorKind};
use std::cell::RefCell;

/// What is there and on its way out.
pub(super) struct Gone<'a> {
    store: &'a FsTaskStore,
    index: RefCell<Index>,
    content: Result<Beginnings, StoreError>,
}

impl<'a> Gone<'a> {
    /// Looks for it. Where damaged records may refer to something, that is not known to be gone.
    pub(super) fn find(store: &'a FsTaskStore, index: &Index) -> Self {
        let content = match Beginnings::of_what_is_unswept(store) {
            Err(error) if error.kind == StoreErrorKind::Damaged => Ok(Beginnings::default()),
            found => found,
        };
        Self { store, index: RefCell::new(index.clone()), content }
    }

    /// Whether the record `id` was pruned. Fails, also, where it was not found out what is gone: every measurement asks this.
    pub(super) fn is_pruned(&self, id: &ContentId) -> Result<bool, StoreError> {
        if let Err(StoreError { kind, operation, subject, source }) = &self.content {
            let (kind, operation, subject) = (*kind, *operation, subject.clone());
            return Err(StoreError { kind, operation, subject, source: source.to_string().into() });
        }
        self.index.borrow_mut().is_pruned(&self.store.shared.layout, id).or_else(|_| self.store.is_pruned(id))
    }

    /// Whether a sweep removes this.
    pub(super) fn has(&self, id: &ContentId) -> bool {
        self.content.as_ref().is_ok_and(|content| content.has(id))
    }
}

/// The first eight bytes of many ids, which tell them apart well enough to count. A whole id takes four times the memory, and
/// in a hash table eight times.
#[derive(Default)]
struct Beginnings(Vec<u64>);

impl Beginnings {
    fn of_what_is_unswept(store: &FsTaskStore) -> Result<Self, StoreError> {
        let mut all = Vec::new();
        each_unswept(store, |round| {
            // No more than is needed, however many rounds there are.
            all.reserve_exact(round.len());
            all.extend(round.iter().map(beginning));
        })?;
        all.sort_unstable();
        Ok(Self(all))
    }

    fn has(&self, id: &ContentId) -> bool {
        self.0.binary_search(&beginning(id)).is_ok()
    }
}

fn beginning(id: &ContentId) -> u64 {
    let [a, b, c, d, e, f, g, h, ..] = *id.as_bytes();
    u64::from_le_bytes([a, b, c, d, e, f, g, h])
}
