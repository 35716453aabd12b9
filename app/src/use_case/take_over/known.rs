//! Which attempts of some Tasks a store has already.

use crate::failure::Failure;
use isobox_domain::content::ContentId;
use isobox_domain::record::{RecordEntry, TaskRecord};
use isobox_domain::task_id::TaskId;
use isobox_ports::RecordLog;
use std::collections::HashMap;

/// The records of a bounded number of attempts.
pub(super) struct Known(HashMap<(TaskId, u32), Option<ContentId>>);

impl Known {
    /// Looks for the attempts of `entries` in one pass over the list of records.
    pub(super) fn of(records: &dyn RecordLog, entries: &[RecordEntry]) -> Result<Self, Failure> {
        let mut known: HashMap<_, _> = entries.iter().map(|entry| ((entry.task, entry.attempt), None)).collect();
        let wanted: HashMap<_, _> = entries.iter().map(|entry| (entry.record, ())).collect();
        // What is damaged is no reason not to import: it is then put once more.
        for entry in records.list()?.filter_map(Result::ok) {
            if let Some(found) = known.get_mut(&(entry.task, entry.attempt))
                // Two that attempted a Task once more at the same time got one number.
                && (found.is_none() || wanted.contains_key(&entry.record))
            {
                *found = Some(entry.record);
            }
        }
        Ok(Self(known))
    }

    /// The record of the same attempt.
    pub(super) fn find(&self, record: &TaskRecord) -> Option<ContentId> {
        self.0.get(&(record.task, record.attempt)).copied().flatten()
    }

    /// Adds a record.
    pub(super) fn add(&mut self, record: &TaskRecord, digest: ContentId) {
        self.0.insert((record.task, record.attempt), Some(digest));
    }
}
