//! Lists the records of a store, newest first.

use crate::failure::Failure;
use isobox_domain::content::ContentId;
use isobox_domain::event::Event;
use isobox_domain::record::{RecordEntry, TaskRecord};
use isobox_ports::{RecordLog, StoreError};

/// What a listing touches.
#[derive(Clone, Copy)]
pub(crate) struct Ports<'a> {
    pub(crate) records: &'a dyn RecordLog,
}

/// One line of a listing.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Listed {
    pub(crate) digest: ContentId,
    pub(crate) record: TaskRecord,
    /// Oldest first.
    pub(crate) events: Vec<Event>,
}

/// Hands every record to `each` in turn, until that fails. What is damaged is handed over as its error, and passed by.
pub(crate) fn list(
    ports: &Ports<'_>,
    each: &mut dyn FnMut(Result<Listed, StoreError>) -> Result<(), Failure>,
) -> Result<(), Failure> {
    for entry in ports.records.list()? {
        match entry.and_then(|entry| listed(ports.records, &entry)) {
            Ok(None) => {}
            Ok(Some(listed)) => each(Ok(listed))?,
            Err(error) => each(Err(error))?,
        }
    }
    Ok(())
}

/// The record of `entry` with what happened to it; `None` if it is gone.
pub(crate) fn listed(records: &dyn RecordLog, entry: &RecordEntry) -> Result<Option<Listed>, StoreError> {
    let Some(record) = records.load(&entry.record)? else { return Ok(None) };
    let events = events(records, &entry.record)?;
    Ok(Some(Listed { digest: entry.record, record, events }))
}

/// The events about a record, oldest first.
pub(crate) fn events(records: &dyn RecordLog, subject: &ContentId) -> Result<Vec<Event>, StoreError> {
    Ok(records.events(subject)?.into_iter().map(|stored| stored.event).collect())
}
