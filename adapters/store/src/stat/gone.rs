//! What only pruned records refer to, and no sweep has removed yet.

use crate::index::Index;
use crate::store::FsTaskStore;
use crate::sweep::unswept;
use isobox_domain::content::ContentId;
use isobox_ports::StoreError;
use std::cell::RefCell;
use std::collections::HashSet;

/// What is there and on its way out.
pub(super) struct Gone<'a> {
    store: &'a FsTaskStore,
    index: RefCell<Index>,
    content: HashSet<ContentId>,
}

impl<'a> Gone<'a> {
    /// Looks for it. Where damaged records may refer to something, that is not known to be gone.
    pub(super) fn find(store: &'a FsTaskStore, index: &Index) -> Self {
        Self { store, index: RefCell::new(index.clone()), content: unswept(store).unwrap_or_default() }
    }

    /// Whether the record `id` was pruned.
    pub(super) fn is_pruned(&self, id: &ContentId) -> Result<bool, StoreError> {
        self.index.borrow_mut().is_pruned(&self.store.shared.layout, id).or_else(|_| self.store.is_pruned(id))
    }

    /// Whether a sweep removes this.
    pub(super) fn has(&self, id: &ContentId) -> bool {
        self.content.contains(id)
    }
}
