//! Going through all that was pruned.

use crate::index::Pass;
use crate::store::FsTaskStore;
use isobox_domain::content::ContentId;
use isobox_ports::StoreError;

/// So many pruned records are looked up at a time.
const AT_ONCE: u64 = 1024;

/// The records that were pruned, in an order that stays while nothing is written.
pub(super) struct Pruned<'a> {
    store: &'a FsTaskStore,
    pass: Pass,
    ahead: std::vec::IntoIter<ContentId>,
}

impl<'a> Pruned<'a> {
    pub(super) fn new(store: &'a FsTaskStore) -> Self {
        Self { store, pass: Pass::default(), ahead: Vec::new().into_iter() }
    }

    /// The next one, by what is known without looking for more.
    pub(super) fn next(&mut self) -> Result<Option<ContentId>, StoreError> {
        if self.ahead.as_slice().is_empty() {
            let shared = &self.store.shared;
            let (records, next) = shared.known_index().pruned(&shared.layout, self.pass, AT_ONCE)?;
            (self.ahead, self.pass) = (records.into_iter(), next);
        }
        Ok(self.ahead.next())
    }
}
