//! Where a Task stands, as a listing says it in one word.

use crate::event::{Event, EventKind, decision};
use crate::outcome::Outcome;
use crate::record::TaskRecord;

/// Where a Task stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TaskState {
    /// A process carries an attempt out.
    Running,
    /// isobox was interrupted or killed, and nobody has decided about what is left.
    Interrupted,
    /// It ended, and nobody has decided about its result.
    Unreviewed,
    /// Its result was promoted, and not turned down since.
    Promoted,
    /// Its result was turned down, and not promoted since.
    Rejected,
}

impl TaskState {
    /// Every state.
    pub const ALL: [Self; 5] = [Self::Running, Self::Interrupted, Self::Unreviewed, Self::Promoted, Self::Rejected];

    /// The state of a published record after these events, oldest first: the last one counts.
    pub fn of(record: &TaskRecord, events: &[Event]) -> Self {
        match decision(events).map(|event| &event.kind) {
            Some(EventKind::Promoted(_)) => Self::Promoted,
            Some(_) => Self::Rejected,
            None if record.outcome == Outcome::Interruption => Self::Interrupted,
            None => Self::Unreviewed,
        }
    }

    /// The name in records and output.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Running => "running",
            Self::Interrupted => "interrupted",
            Self::Unreviewed => "unreviewed",
            Self::Promoted => "promoted",
            Self::Rejected => "rejected",
        }
    }
}
