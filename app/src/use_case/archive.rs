//! Exports records as an Archive.

use crate::failure::{Failure, FailureKind};
use crate::use_case::take_over::{self, Source};
use isobox_domain::content::ContentId;
use isobox_domain::record::RecordEntry;
use isobox_ports::{
    Archived, Archiver, ArchivingError, ObjectStore, RecordLog, StoreError, StoreErrorKind, TellAdvance,
};
use std::io::Write;

/// What it touches.
#[derive(Clone, Copy)]
pub(crate) struct Ports<'a> {
    pub(crate) records: &'a dyn RecordLog,
    pub(crate) objects: &'a dyn ObjectStore,
    pub(crate) archiver: &'a dyn Archiver,
}

/// Every record that is whole. Each that is not is told, and left out.
pub(crate) fn whole_records(ports: &Ports<'_>, tell: &mut dyn FnMut(&Failure)) -> Result<Vec<ContentId>, Failure> {
    let mut whole = Vec::new();
    for entry in ports.records.list()? {
        match entry {
            Ok(entry) if is_whole(ports, &entry)? => whole.push(entry.record),
            Ok(entry) => tell(&damaged(&entry.record)),
            Err(error) => tell(&error.into()),
        }
    }
    Ok(whole)
}

fn is_whole(ports: &Ports<'_>, entry: &RecordEntry) -> Result<bool, Failure> {
    match ports.records.events(&entry.record) {
        Err(error) if error.kind == StoreErrorKind::Damaged => return Ok(false),
        events => drop(events?),
    }
    take_over::is_whole(&Source { records: ports.records, objects: ports.objects }, &entry.record)
}

fn damaged(record: &ContentId) -> Failure {
    Failure::new(
        FailureKind::Store,
        format!("the record {record} was left out: it, what it refers to, or what is told about it is damaged"),
    )
}

/// Writes `records` to `to`.
pub(crate) fn archive(
    ports: &Ports<'_>,
    records: &[ContentId],
    to: &mut dyn Write,
    tell: TellAdvance<'_>,
) -> Result<Archived, Failure> {
    ports.archiver.archive(records, to, tell).map_err(|error| match error {
        ArchivingError::Store(error) => unread(error),
        ArchivingError::Write(source) => {
            let hint = "name a file that can be written, on a disk with room";
            Failure::new(FailureKind::General, "write the archive").because(source).with_hint(hint)
        }
    })
}

fn unread(error: StoreError) -> Failure {
    let hint = "`isobox verify` says what is damaged; `isobox export @all` leaves out the records that are";
    Failure::from(error).while_doing("nothing was exported").with_hint(hint)
}
