//! Takes over the records of another store, or of an Archive, with everything below them and the events about them.

mod events;
mod known;
mod stage;

use crate::failure::{Failure, one_line};
use crate::use_case::import::{Stopped, Verdict};
use isobox_domain::content::ContentId;
use isobox_domain::event::EventKind;
use isobox_domain::import::draft_of;
use isobox_domain::record::{RecordEntry, TaskRecord};
use isobox_domain::timestamp::Timestamp;
use isobox_ports::{Attempts, ObjectStore, RecordLog, StoreError, StoreErrorKind};
use isobox_store_format::below::each_below;
use known::Known;
pub(crate) use stage::part;

/// Records that are looked up in the store together, so that its list is read once for all of them.
const BATCH: usize = 1 << 14;

/// What it touches.
#[derive(Clone, Copy)]
pub(crate) struct Ports<'a> {
    pub(crate) attempts: &'a dyn Attempts,
    pub(crate) records: &'a dyn RecordLog,
    pub(crate) objects: &'a dyn ObjectStore,
}

/// Where records come from. Nothing in it is believed that is not verified.
#[derive(Clone, Copy)]
pub(crate) struct Source<'a> {
    pub(crate) records: &'a dyn RecordLog,
    pub(crate) objects: &'a dyn ObjectStore,
}

/// Receives a record, or nothing where not even that is known, and what came of it.
pub(crate) type Tell<'a> = &'a mut dyn FnMut(Option<&RecordEntry>, Verdict) -> Result<(), Failure>;

/// Takes over every record of `source`, the oldest first. What is wrong with one is told and keeps none of the others out;
/// only a failure of the store, or of `tell`, ends it.
pub(crate) fn take_over_all(ports: &Ports<'_>, source: &Source<'_>, tell: Tell<'_>) -> Result<(), Failure> {
    let mut count = 0;
    let listed = match source.records.list() {
        Ok(listed) => listed,
        Err(error) => return tell(None, Verdict::Refused { reason: reason(&error) }),
    };
    for entry in listed {
        match entry {
            Ok(_) => count += 1,
            Err(error) => tell(None, Verdict::Refused { reason: reason(&error) })?,
        }
    }
    for start in (0..count).step_by(BATCH).rev() {
        let listed = source.records.list()?.filter_map(Result::ok);
        let batch: Vec<RecordEntry> = listed.skip(start).take(BATCH).collect();
        let mut known = Known::of(ports.records, &batch)?;
        for entry in batch.iter().rev() {
            let verdict = take_over(ports, source, entry, &mut known)?;
            tell(Some(entry), verdict)?;
        }
    }
    Ok(())
}

/// Takes over one record.
pub(crate) fn take_over_one(ports: &Ports<'_>, source: &Source<'_>, entry: &RecordEntry) -> Result<Verdict, Failure> {
    let mut known = Known::of(ports.records, std::slice::from_ref(entry))?;
    take_over(ports, source, entry, &mut known)
}

fn take_over(
    ports: &Ports<'_>,
    source: &Source<'_>,
    entry: &RecordEntry,
    known: &mut Known,
) -> Result<Verdict, Failure> {
    let taken = record_of(source, entry).and_then(|record| {
        let is_new = put(ports, source, entry, &record, known)?;
        Ok((is_new, events::merge(ports, source, entry)?))
    });
    Ok(match taken {
        Ok((_, Err(reason))) => Verdict::Partly { reason },
        Ok((true, Ok(_))) => Verdict::Imported { warnings: Vec::new() },
        Ok((false, Ok(0))) => Verdict::Unchanged,
        Ok((false, Ok(events))) => Verdict::Continued { events },
        Err(Stopped::Refused(reason)) => Verdict::Refused { reason },
        Err(Stopped::Failed(failure)) => return Err(failure.while_doing(format!("import {}", entry.task))),
    })
}

fn record_of(source: &Source<'_>, entry: &RecordEntry) -> Result<TaskRecord, Stopped> {
    let refused = |error: StoreError| Stopped::Refused(reason(&error));
    let gone = || Stopped::Refused("its record is missing".to_owned());
    let record = source.records.load(&entry.record).map_err(refused)?.ok_or_else(gone)?;
    if (record.task, record.attempt) != (entry.task, entry.attempt) {
        return Err(Stopped::Refused(format!("its record is of {}, attempt {}", record.task, record.attempt)));
    }
    for change_set in record.artifacts.change_sets() {
        // That it is what the record says of it.
        source.objects.changes(&change_set).map(drop).map_err(refused)?;
    }
    Ok(record)
}

/// Whether the record was not here, or not whole, and is now.
fn put(
    ports: &Ports<'_>,
    source: &Source<'_>,
    entry: &RecordEntry,
    record: &TaskRecord,
    known: &mut Known,
) -> Result<bool, Stopped> {
    let here = Source { records: ports.records, objects: ports.objects };
    let is_here = match known.find(record) {
        Some(here) if here != entry.record => {
            if is_same_import(ports, &here, record)? {
                return Ok(false);
            }
            let message = format!("its attempt {} is another record here: {here}", record.attempt);
            return Err(Stopped::Refused(message));
        }
        found => found.is_some() && is_whole(&here, &entry.record)?,
    };
    if is_here {
        return Ok(false);
    }
    if let Some(at) = pruned_at(ports.records, &entry.record)? {
        let reason = format!("it was pruned here at {at}; `--records DIR` takes it over into another store");
        return Err(Stopped::Refused(reason));
    }
    let attempt = ports.attempts.begin(&draft_of(record))?;
    match stage::stage(&*attempt, source, &entry.record) {
        Ok(()) => {}
        Err(stopped) => {
            attempt.discard()?;
            return Err(stopped);
        }
    }
    let digest = ports.records.publish(attempt, record)?;
    known.add(record, digest);
    Ok(true)
}

/// When the record was pruned from the store. It is not listed there again, also if it is published once more.
pub(crate) fn pruned_at(records: &dyn RecordLog, record: &ContentId) -> Result<Option<Timestamp>, StoreError> {
    let events = match records.events(record) {
        // That is told of the events, and keeps no record out.
        Err(error) if error.kind == StoreErrorKind::Damaged => return Ok(None),
        events => events?,
    };
    let pruned = events.iter().find(|stored| matches!(stored.event.kind, EventKind::Pruned { .. }));
    Ok(pruned.map(|stored| stored.event.at))
}

/// Whether both were made from the same `record.json` of version 1.
fn is_same_import(ports: &Ports<'_>, here: &ContentId, record: &TaskRecord) -> Result<bool, Stopped> {
    let Some(v1_record) = record.artifacts.v1_record else { return Ok(false) };
    match ports.records.load(here) {
        Err(error) if error.kind == StoreErrorKind::Damaged => Ok(false),
        loaded => Ok(loaded?.is_some_and(|here| here.artifacts.v1_record == Some(v1_record))),
    }
}

/// Whether the record is in a store with everything below it.
pub(crate) fn is_whole(store: &Source<'_>, record: &ContentId) -> Result<bool, Failure> {
    let bytes = match store.records.bytes(record) {
        Err(error) if error.kind == StoreErrorKind::Damaged => return Ok(false),
        bytes => bytes?,
    };
    let Some(bytes) = bytes else { return Ok(false) };
    let mut fetch = |reference: &_| part(store.objects, reference);
    let below = each_below(&bytes, &mut fetch, &mut |object| match store.objects.open(&object.id)? {
        Some(_) => Ok(()),
        None => Err("it is missing".into()),
    });
    Ok(below.is_ok())
}

fn reason(error: &StoreError) -> String {
    one_line(error)
}
