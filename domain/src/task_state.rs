//! Where a Task Attempt stands, as a listing says it in one word.

use crate::event::{Event, EventKind, decision};
use crate::outcome::Outcome;
use crate::record::{SandboxKind, TaskRecord};

/// Where a Task Attempt stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TaskState {
    /// A process carries it out.
    Running,
    /// isobox was interrupted or killed, and nobody has decided about what is left.
    Interrupted,
    /// It ended, and nobody has decided about its result.
    Unreviewed,
    /// It ended and changed nothing, so that there is nothing to decide about: often its command never started.
    Unchanged,
    /// Nobody has decided about it, and a newer attempt of the same Task stands in its place.
    Superseded,
    /// A part of its result was promoted, and the rest waits.
    PartlyPromoted,
    /// Its result was promoted, and not turned down since.
    Promoted,
    /// Its result was turned down, and not promoted since.
    Rejected,
    /// It verified the result of another Task: there is nothing to decide about.
    Verification,
}

/// How an attempt stands among those of its Task.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Standing {
    /// It is the newest one.
    Newest,
    /// There is a newer one.
    Followed,
}

impl TaskState {
    /// Every state.
    pub const ALL: [Self; 9] = [
        Self::Running,
        Self::Interrupted,
        Self::Unreviewed,
        Self::Unchanged,
        Self::Superseded,
        Self::PartlyPromoted,
        Self::Promoted,
        Self::Rejected,
        Self::Verification,
    ];

    /// The state of a published record after these events, oldest first. The last decision counts before all else: what was
    /// decided stays so, whatever follows it.
    pub fn of(record: &TaskRecord, events: &[Event], standing: Standing) -> Self {
        if record.kind == SandboxKind::Verification {
            return Self::Verification;
        }
        match (decision(events).map(|event| &event.kind), standing) {
            (Some(EventKind::Promoted(promoted)), _) if promoted.part.is_some() => Self::PartlyPromoted,
            (Some(EventKind::Promoted(_)), _) => Self::Promoted,
            (Some(_), _) => Self::Rejected,
            (None, Standing::Followed) => Self::Superseded,
            (None, Standing::Newest) if record.outcome == Outcome::Interruption => Self::Interrupted,
            (None, Standing::Newest) if changed_nothing(record) => Self::Unchanged,
            (None, Standing::Newest) => Self::Unreviewed,
        }
    }

    /// The name in records and output.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Running => "running",
            Self::Interrupted => "interrupted",
            Self::Unreviewed => "unreviewed",
            Self::Unchanged => "unchanged",
            Self::Superseded => "superseded",
            Self::PartlyPromoted => "partial",
            Self::Promoted => "promoted",
            Self::Rejected => "rejected",
            Self::Verification => "verification",
        }
    }
}

/// Whether there is nothing of the Workspace in a record: no changed path, nothing that was left out, no commit. What could
/// not be captured whole may have been a change.
pub(crate) fn changed_nothing(record: &TaskRecord) -> bool {
    let artifacts = &record.artifacts;
    record.outcome != Outcome::ResultCaptureFailure
        && artifacts.change_set.is_none()
        && artifacts.patch.is_none()
        && artifacts.workspace_git.is_none()
        && artifacts.v1_files.is_none()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::content::ContentId;
    use crate::promotion::tests::record;
    use crate::timestamp::Timestamp;

    fn unchanged(outcome: Outcome) -> TaskRecord {
        let mut record = TaskRecord { outcome, ..record() };
        record.artifacts.change_set = None;
        record
    }

    fn rejected() -> Event {
        let (task, subject) = (record().task, ContentId::new([0; 32]));
        let kind = EventKind::Rejected { reason: String::new() };
        Event { task, subject, previous: None, at: Timestamp::nearest(0), kind }
    }

    #[test]
    fn what_changed_nothing_waits_for_nobody() {
        for (outcome, state) in [
            (Outcome::Success, TaskState::Unchanged),
            (Outcome::WorkloadCommandExit, TaskState::Unchanged),
            (Outcome::PreparationFailure, TaskState::Unchanged),
            (Outcome::LaunchFailure, TaskState::Unchanged),
            (Outcome::LimitExceeded, TaskState::Unchanged),
            (Outcome::ResultCaptureFailure, TaskState::Unreviewed),
            (Outcome::Interruption, TaskState::Interrupted),
        ] {
            assert_eq!(TaskState::of(&unchanged(outcome), &[], Standing::Newest), state, "{outcome:?}");
        }
        assert_eq!(TaskState::of(&record(), &[], Standing::Newest), TaskState::Unreviewed);
    }

    #[test]
    fn a_verification_waits_for_nobody_whatever_came_of_it() {
        for outcome in [Outcome::Success, Outcome::WorkloadCommandExit, Outcome::Interruption] {
            let record = TaskRecord { kind: SandboxKind::Verification, outcome, ..record() };
            assert_eq!(TaskState::of(&record, &[], Standing::Newest), TaskState::Verification, "{outcome:?}");
        }
    }

    #[test]
    fn what_was_left_out_or_committed_in_the_workspace_is_something_to_review() {
        let mut left_out = record();
        let change_set = left_out.artifacts.change_set.as_mut().expect("a change set");
        change_set.summary = crate::change::ChangeSummary { not_captured: 1, ..Default::default() };
        let mut committed = unchanged(Outcome::Success);
        committed.artifacts.workspace_git = Some(crate::content::ContentRef { id: ContentId::new([1; 32]), length: 1 });
        for record in [left_out, committed] {
            assert_eq!(TaskState::of(&record, &[], Standing::Newest), TaskState::Unreviewed);
        }
    }

    #[test]
    fn an_attempt_that_was_followed_waits_for_nobody_but_what_was_decided_stays_so() {
        for record in [record(), unchanged(Outcome::Interruption), unchanged(Outcome::LaunchFailure)] {
            assert_eq!(TaskState::of(&record, &[], Standing::Followed), TaskState::Superseded);
            assert_eq!(TaskState::of(&record, &[rejected()], Standing::Followed), TaskState::Rejected);
        }
    }
}
