//! Whether a record that is committed can be read with all that it refers to: after a power cut it may not.

use crate::store::FsTaskStore;
use isobox_domain::change::{ChangeLine, ChangeSetRef};
use isobox_domain::content::ContentId;
use isobox_ports::{ObjectStore, RecordLog, StoreError, StoreErrorKind};
use isobox_store_format::entry::EntryKind;
use isobox_store_format::record::children;

impl FsTaskStore {
    /// Whether the record `id` is committed, durable, and whole. It is read from end to end.
    pub(crate) fn is_published_whole(&self, id: &ContentId) -> Result<bool, StoreError> {
        if !self.shared.is_published(id)? {
            return Ok(false);
        }
        match self.is_whole(id) {
            Err(error) if error.kind == StoreErrorKind::Damaged => Ok(false),
            looked => looked,
        }
    }

    fn is_whole(&self, id: &ContentId) -> Result<bool, StoreError> {
        let Some(record) = self.load(id)? else { return Ok(false) };
        let bytes = self.read_small(id, EntryKind::Record)?.unwrap_or_default();
        for child in children(&bytes).unwrap_or_default() {
            if self.open(&child.reference.id)?.is_none() {
                return Ok(false);
            }
        }
        let has_files = |set| self.has_files(&set);
        record.artifacts.change_sets().map(has_files).try_fold(true, |whole, has_files| Ok(whole && has_files?))
    }

    fn has_files(&self, set: &ChangeSetRef) -> Result<bool, StoreError> {
        for line in self.changes(set)? {
            let Ok(line) = line else { return Ok(false) };
            let ChangeLine::Change(change) = line else { continue };
            if let Some(after) = change.after
                && self.open(&after.content.id)?.is_none()
            {
                return Ok(false);
            }
        }
        Ok(true)
    }
}
