//! Lists the records of a store, newest first.

use crate::failure::Failure;
use isobox_domain::content::ContentId;
use isobox_domain::event::Event;
use isobox_domain::record::{RecordEntry, TaskRecord};
use isobox_domain::task_id::TaskId;
use isobox_domain::task_state::{Standing, TaskState};
use isobox_ports::{RecordLog, StoreError, StoredEvent};
use std::collections::HashMap;

/// What a listing touches.
#[derive(Clone, Copy)]
pub(crate) struct Ports<'a> {
    pub(crate) records: &'a dyn RecordLog,
}

/// Attempts that were met, newest first: of each Task, the first. Tasks with one attempt alone are not kept: their number
/// grows.
#[derive(Debug, Default)]
pub(crate) struct Met(HashMap<TaskId, First>);

/// The newest attempt of a Task.
#[derive(Clone, Copy, Debug)]
enum First {
    /// It is not on record.
    Open,
    Recorded(RecordEntry),
}

impl Met {
    /// Meets an attempt that is not on record yet, by the draft of its record.
    pub(crate) fn meet_open(&mut self, draft: &TaskRecord) {
        self.meet(draft.task, draft.attempt, First::Open);
    }

    /// Meets an attempt that is on record.
    pub(crate) fn meet_recorded(&mut self, entry: &RecordEntry) {
        self.meet(entry.task, entry.attempt, First::Recorded(*entry));
    }

    /// How an attempt that was met stands among those of its Task that were.
    pub(crate) fn standing(&self, entry: &RecordEntry) -> Standing {
        match self.0.get(&entry.task) {
            None => Standing::Newest,
            Some(First::Recorded(first)) if first.record == entry.record => Standing::Newest,
            // A record of a first attempt that came after those of others was met before them.
            Some(First::Recorded(first)) if first.committed_at < entry.committed_at => Standing::Newest,
            Some(First::Open | First::Recorded(_)) => Standing::Followed,
        }
    }

    fn meet(&mut self, task: TaskId, attempt: u32, first: First) {
        if attempt > 1 {
            self.0.entry(task).or_insert(first);
        }
    }
}

/// One line of a listing.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Listed {
    pub(crate) digest: ContentId,
    pub(crate) record: TaskRecord,
    /// Oldest first.
    pub(crate) events: Vec<Event>,
    pub(crate) standing: Standing,
    /// The last of `events`: what follows the record's history as it is told here names this one.
    pub(crate) newest: Option<ContentId>,
}

impl Listed {
    /// A record with what happened to it, oldest first.
    pub(crate) fn new(digest: ContentId, record: TaskRecord, events: Vec<StoredEvent>, standing: Standing) -> Self {
        let newest = events.last().map(|stored| stored.id);
        let events = events.into_iter().map(|stored| stored.event).collect();
        Self { digest, record, events, standing, newest }
    }

    /// Where it stands.
    pub(crate) fn state(&self) -> TaskState {
        TaskState::of(&self.record, &self.events, self.standing)
    }
}

/// Hands every record to `each` in turn, until that fails. What is damaged is handed over as its error, and passed by.
/// `met` are attempts that are not on record yet.
pub(crate) fn list(
    ports: &Ports<'_>,
    mut met: Met,
    each: &mut dyn FnMut(Result<Listed, StoreError>) -> Result<(), Failure>,
) -> Result<(), Failure> {
    for entry in ports.records.list()? {
        match entry.and_then(|entry| listed(ports.records, &entry, &mut met)) {
            Ok(None) => {}
            Ok(Some(listed)) => each(Ok(listed))?,
            Err(error) => each(Err(error))?,
        }
    }
    Ok(())
}

/// The record of `entry` with what happened to it; `None` if it is gone. `met` are newer attempts.
pub(crate) fn listed(
    records: &dyn RecordLog,
    entry: &RecordEntry,
    met: &mut Met,
) -> Result<Option<Listed>, StoreError> {
    met.meet_recorded(entry);
    let standing = met.standing(entry);
    let Some(record) = records.load(&entry.record)? else { return Ok(None) };
    let events = records.events(&entry.record)?;
    Ok(Some(Listed::new(entry.record, record, events, standing)))
}

/// The events about a record, oldest first.
pub(crate) fn events(records: &dyn RecordLog, subject: &ContentId) -> Result<Vec<Event>, StoreError> {
    Ok(records.events(subject)?.into_iter().map(|stored| stored.event).collect())
}
