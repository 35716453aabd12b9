//! Brings the events about a record together: the longer list goes on where the shorter one ends.

use super::{Ports, Source, Stopped};
use crate::failure::one_line;
use isobox_domain::record::RecordEntry;
use isobox_ports::{AppendError, StoreErrorKind};

/// Appends the events of `source` that come after those that are here; how many, or why they do not.
///
/// No event says that a record was imported: the lists of two stores must be able to go on from each other.
pub(super) fn merge(
    ports: &Ports<'_>,
    source: &Source<'_>,
    entry: &RecordEntry,
) -> Result<Result<usize, String>, Stopped> {
    let theirs = match source.records.events(&entry.record) {
        Ok(theirs) => theirs,
        Err(error) => return Ok(Err(format!("the events about it: {}", one_line(&error)))),
    };
    let here = match ports.records.events(&entry.record) {
        Err(error) if error.kind == StoreErrorKind::Damaged => {
            return Ok(Err(format!("the events about it that are here: {}", one_line(&error))));
        }
        here => here?,
    };
    let common = here.iter().zip(&theirs).take_while(|(a, b)| a.id == b.id).count();
    if common == theirs.len() {
        return Ok(Ok(0));
    }
    if common < here.len() {
        return Ok(Err(refused(&theirs[common].id)));
    }
    for stored in &theirs[common..] {
        if stored.event.task != entry.task {
            return Ok(Err(format!("the event {} is about another task", stored.id)));
        }
        match ports.records.append(&stored.event) {
            Ok(_) => {}
            Err(AppendError::Stale { .. }) => return Ok(Err(refused(&stored.id))),
            Err(error @ AppendError::Store(_)) => return Err(error.into()),
        }
    }
    Ok(Ok(theirs.len() - common))
}

fn refused(event: &isobox_domain::content::ContentId) -> String {
    format!("the event {event} does not follow the newest one that is here")
}
