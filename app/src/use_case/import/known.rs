//! Which attempts of some Tasks a store has already.

use crate::failure::Failure;
use isobox_domain::content::ContentId;
use isobox_domain::task_id::TaskId;
use isobox_ports::RecordLog;
use std::collections::HashMap;

/// The attempts of a bounded number of Tasks.
pub(super) struct Known {
    attempts: HashMap<TaskId, Vec<KnownAttempt>>,
}

struct KnownAttempt {
    attempt: u32,
    record: ContentId,
    v1_record: Option<ContentId>,
}

impl Known {
    /// Looks for `tasks` in one pass over the list of records.
    pub(super) fn of(records: &dyn RecordLog, tasks: impl Iterator<Item = TaskId>) -> Result<Self, Failure> {
        let mut known = Self { attempts: tasks.map(|task| (task, Vec::new())).collect() };
        // What is damaged is no reason not to import; at worst a directory becomes one more attempt.
        for entry in records.list()?.filter_map(Result::ok) {
            if !known.attempts.contains_key(&entry.task) {
                continue;
            }
            let v1_record = records.load(&entry.record).ok().flatten().and_then(|record| record.artifacts.v1_record);
            known.add(entry.task, entry.attempt, entry.record, v1_record.map(|json| json.id));
        }
        Ok(known)
    }

    /// The record that was imported from the `record.json` with this hash.
    pub(super) fn find(&self, task: TaskId, json: &ContentId) -> Option<ContentId> {
        let attempts = self.attempts.get(&task)?.iter();
        attempts.filter(|known| known.v1_record == Some(*json)).map(|known| known.record).next()
    }

    /// The number of the next attempt, and the record before it.
    pub(super) fn next(&self, task: TaskId) -> (u32, Vec<ContentId>) {
        let newest = self.attempts.get(&task).and_then(|known| known.iter().max_by_key(|known| known.attempt));
        newest.map_or((1, Vec::new()), |newest| (newest.attempt.saturating_add(1), vec![newest.record]))
    }

    /// Adds an attempt.
    pub(super) fn add(&mut self, task: TaskId, attempt: u32, record: ContentId, v1_record: Option<ContentId>) {
        self.attempts.entry(task).or_default().push(KnownAttempt { attempt, record, v1_record });
    }
}
