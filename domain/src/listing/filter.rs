//! Which Tasks a listing shows.

use super::{CommandPattern, PathPattern, TaskPrefix};
use crate::change::ChangeLine;
use crate::event::{Event, EventKind};
use crate::outcome::Outcome;
use crate::policy::BackendName;
use crate::record::{RecordEntry, TaskRecord};
use crate::task_state::TaskState;
use crate::timestamp::Timestamp;

/// A clock that was put back while a Task ran is taken for no more wrong than this.
const CLOCK_ERROR_MS: u64 = 24 * 60 * 60 * 1000;

/// Whether Tasks were promoted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PromotionWanted {
    /// At least once, whatever came after it.
    Promoted,
    /// Never.
    Unpromoted,
}

/// What every Task that is listed must be. An empty list asks for nothing.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Filter {
    /// It ended so.
    pub outcomes: Vec<Outcome>,
    /// It stands there.
    pub states: Vec<TaskState>,
    /// It was contained by that.
    pub backends: Vec<BackendName>,
    /// It was promoted, or was not.
    pub promotion: Option<PromotionWanted>,
    /// It was requested then or later.
    pub since: Option<Timestamp>,
    /// It was requested then or earlier.
    pub until: Option<Timestamp>,
    /// Its command is such a one.
    pub command: Option<CommandPattern>,
    /// Its id begins so.
    pub task: Option<TaskPrefix>,
    /// It changed such a path.
    pub path: Option<PathPattern>,
}

/// What an entry of the store says about a record that was not read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Glance {
    /// It may be listed.
    Perhaps,
    /// It is not listed.
    No,
    /// Neither it nor any that was committed earlier is listed.
    NoneBefore,
}

impl Filter {
    /// Whether everything is listed.
    pub fn is_empty(&self) -> bool {
        *self == Self::default()
    }

    /// What can be told without reading the record.
    pub fn glance(&self, entry: &RecordEntry) -> Glance {
        // Nothing is committed before it was requested, by one clock.
        let is_before =
            |since: Timestamp| entry.committed_at.unix_ms().saturating_add(CLOCK_ERROR_MS) < since.unix_ms();
        if self.since.is_some_and(is_before) {
            Glance::NoneBefore
        } else if self.task.as_ref().is_some_and(|prefix| !prefix.fits(entry.task)) {
            Glance::No
        } else {
            Glance::Perhaps
        }
    }

    /// Whether a record, or the draft of one, may be listed, as far as it says so itself.
    pub fn admits(&self, record: &TaskRecord) -> bool {
        is_one_of(&self.backends, &record.policy.backend)
            && self.since.is_none_or(|since| record.created_at >= since)
            && self.until.is_none_or(|until| record.created_at <= until)
            && self.task.as_ref().is_none_or(|prefix| prefix.fits(record.task))
            && self.command.as_ref().is_none_or(|pattern| pattern.fits(&record.command))
            && (self.path.is_none() || record.artifacts.change_set.is_some_and(|set| set.summary.changed() > 0))
    }

    /// Whether a record with this outcome may be listed.
    pub fn admits_outcome(&self, outcome: Outcome) -> bool {
        is_one_of(&self.outcomes, &outcome)
    }

    /// Whether it matters what happened to a record after it was published.
    pub fn asks_for_standing(&self) -> bool {
        !self.states.is_empty() || self.promotion.is_some()
    }

    /// Whether a Task that stands in `state` after `events` may be listed.
    pub fn admits_standing(&self, state: TaskState, events: &[Event]) -> bool {
        let was_promoted = || events.iter().any(|event| matches!(event.kind, EventKind::Promoted(_)));
        is_one_of(&self.states, &state)
            && match self.promotion {
                None => true,
                Some(PromotionWanted::Promoted) => was_promoted(),
                Some(PromotionWanted::Unpromoted) => !was_promoted(),
            }
    }

    /// Whether a line of a Change Set is one that is asked for.
    pub fn admits_line(&self, line: &ChangeLine) -> bool {
        match (line, &self.path) {
            (ChangeLine::Change(change), Some(pattern)) => pattern.fits(&change.path),
            (ChangeLine::Change(_) | ChangeLine::NotCaptured(_), _) => false,
        }
    }
}

fn is_one_of<T: PartialEq>(wanted: &[T], found: &T) -> bool {
    wanted.is_empty() || wanted.contains(found)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::content::ContentId;
    use crate::task_id::TaskId;

    fn at(ms: u64) -> Timestamp {
        Timestamp::nearest(1_800_000_000_000 + ms)
    }

    fn entry(committed_at: Timestamp) -> RecordEntry {
        RecordEntry { task: TaskId::new([7; 8]), attempt: 1, record: ContentId::new([0; 32]), committed_at }
    }

    #[test]
    fn what_was_committed_long_before_is_not_looked_at_and_neither_is_what_came_before_it() {
        let filter = Filter { since: Some(at(2 * CLOCK_ERROR_MS)), ..Filter::default() };
        assert_eq!(filter.glance(&entry(at(2 * CLOCK_ERROR_MS))), Glance::Perhaps);
        assert_eq!(filter.glance(&entry(at(CLOCK_ERROR_MS))), Glance::Perhaps, "the clock may have been put back");
        assert_eq!(filter.glance(&entry(at(CLOCK_ERROR_MS - 1))), Glance::NoneBefore);
    }

    #[test]
    fn a_task_of_another_id_is_not_read() {
        let filter = |prefix: &str| Filter { task: prefix.parse().ok(), ..Filter::default() };
        assert_eq!(filter("07").glance(&entry(at(0))), Glance::Perhaps);
        assert_eq!(filter("08").glance(&entry(at(0))), Glance::No);
    }

    #[test]
    fn a_promotion_counts_whatever_came_after_it() {
        let event = |kind| Event {
            task: TaskId::new([7; 8]),
            subject: ContentId::new([0; 32]),
            previous: None,
            at: at(0),
            kind,
        };
        let rejected = event(EventKind::Rejected { reason: String::new() });
        let promoted = event(EventKind::Promoted(crate::event::Promoted {
            host_path: b"/r".to_vec(),
            commit: crate::git_oid::GitOid::Sha1([0; 20]),
            branch: None,
            confirmation: crate::event::Confirmation::Flag,
            paths: 1,
            part: None,
            destination: Default::default(),
            merged: None,
            overridden: None,
            verified: None,
        }));
        let admits = |promotion, events: &[Event]| {
            let filter = Filter { promotion: Some(promotion), ..Filter::default() };
            filter.admits_standing(TaskState::Rejected, events)
        };
        let both = [promoted, rejected.clone()];
        assert!(admits(PromotionWanted::Promoted, &both) && !admits(PromotionWanted::Unpromoted, &both));
        assert!(
            !admits(PromotionWanted::Promoted, std::slice::from_ref(&rejected))
                && admits(PromotionWanted::Unpromoted, &[rejected])
        );
    }
}
