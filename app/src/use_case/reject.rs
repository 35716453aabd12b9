//! Turns a Task Result down: an event that Promotion asks about.

use crate::failure::{Failure, FailureKind};
use crate::output::text;
use crate::use_case::list::events;
use crate::use_case::select::Selected;
use crate::use_case::view;
use isobox_domain::event::{Event, EventKind};
use isobox_domain::policy::ViewLimit;
use isobox_domain::task_state::{Standing, TaskState};
use isobox_ports::{AppendError, Clock, ObjectStore, RecordLog, Views};

/// What a rejection touches.
#[derive(Clone, Copy)]
pub(crate) struct Ports<'a> {
    pub(crate) records: &'a dyn RecordLog,
    pub(crate) objects: &'a dyn ObjectStore,
    pub(crate) views: &'a dyn Views,
    pub(crate) clock: &'a dyn Clock,
}

/// What came of a rejection.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Rejected {
    /// It is on record.
    Now,
    /// It was before, and there is nothing to add.
    Before,
}

/// Appends the rejection. A result that was promoted is not rejected: its changes are in the repository.
pub(crate) fn reject(ports: &Ports<'_>, selected: &Selected, reason: &str) -> Result<Rejected, Failure> {
    let cannot = |failure: Failure| {
        failure.while_doing(format!("cannot reject {}", text::attempt(&selected.record, Standing::Newest)))
    };
    let stored = ports.records.events(&selected.digest).map_err(|error| cannot(error.into()))?;
    let known: Vec<Event> = stored.iter().map(|stored| stored.event.clone()).collect();
    match TaskState::of(&selected.record, &known, Standing::Newest) {
        TaskState::Promoted => {
            let promoted = Failure::new(FailureKind::General, "its result was promoted before; nothing was changed");
            return Err(cannot(promoted.with_hint("revert the changes in the repository itself")));
        }
        TaskState::Verification => {
            let message = "it verified the result of another task, and waits for nobody; nothing was changed";
            let of_another = Failure::new(FailureKind::General, message);
            return Err(cannot(
                of_another.with_hint("`isobox show` names the record that it verified: reject that one"),
            ));
        }
        TaskState::Rejected if reason.is_empty() => return Ok(Rejected::Before),
        _ => {}
    }
    let event = Event {
        task: selected.record.task,
        subject: selected.digest,
        previous: stored.last().map(|newest| newest.id),
        at: ports.clock.now(),
        kind: EventKind::Rejected { reason: reason.to_owned() },
    };
    ports.records.append(&event).map(|_| Rejected::Now).map_err(|error| {
        cannot(match error {
            AppendError::Stale { .. } => {
                Failure::new(FailureKind::General, error.to_string()).with_hint("look at the task again, then decide")
            }
            AppendError::Store(error) => error.into(),
        })
    })
}

/// Writes the View of a record with the events about it so far.
pub(crate) fn show_in_view(ports: &Ports<'_>, selected: &Selected, limit: ViewLimit) -> Result<(), Failure> {
    let events = events(ports.records, &selected.digest)?;
    view::write(ports.views, ports.objects, &selected.record, &selected.digest, &events, limit)
}
