//! Pins a record, so that no prune drops it, and unpins it.

use crate::failure::{Failure, FailureKind};
use crate::use_case::select::Selected;
use isobox_domain::event::{Event, EventKind, is_pinned};
use isobox_ports::{AppendError, Clock, RecordLog};

/// What a pin touches.
#[derive(Clone, Copy)]
pub(crate) struct Ports<'a> {
    pub(crate) records: &'a dyn RecordLog,
    pub(crate) clock: &'a dyn Clock,
}

/// Whether a record is to be kept.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Pin {
    /// It stays, whatever a prune would drop.
    Set,
    /// It is as others.
    Taken,
}

/// Pins or unpins a record; whether that changed anything.
pub(crate) fn pin(ports: &Ports<'_>, selected: &Selected, pin: Pin) -> Result<bool, Failure> {
    let stored = ports.records.events(&selected.digest)?;
    let events: Vec<Event> = stored.iter().map(|stored| stored.event.clone()).collect();
    if is_pinned(&events) == (pin == Pin::Set) {
        return Ok(false);
    }
    let event = Event {
        task: selected.record.task,
        subject: selected.digest,
        previous: stored.last().map(|newest| newest.id),
        at: ports.clock.now(),
        kind: if pin == Pin::Set { EventKind::Pinned } else { EventKind::Unpinned },
    };
    match ports.records.append(&event) {
        Ok(_) => Ok(true),
        Err(error @ AppendError::Stale { .. }) => {
            Err(Failure::new(FailureKind::General, error.to_string()).with_hint("try it again"))
        }
        Err(AppendError::Store(error)) => Err(error.into()),
    }
}
