//! Which records a prune keeps, and why.

mod amount;

pub use amount::{AmountError, parse_bytes, parse_period_ms};

use crate::event::{Event, EventKind, decision, is_pinned};
use crate::outcome::Outcome;
use crate::record::{RecordEntry, TaskRecord};
use crate::task_id::TaskId;
use crate::task_state::changed_nothing;
use crate::timestamp::Timestamp;
use std::collections::BTreeSet;
use std::fmt;

/// What is to be kept: a record stays if one of the rules that are given keeps it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Retention {
    /// The newest records, so many.
    pub last: Option<u64>,
    /// Records that were committed so many milliseconds ago, or later.
    pub within_ms: Option<u64>,
    /// Records of attempts that did not succeed.
    pub failed: bool,
    /// Records whose result was promoted.
    pub promoted: bool,
    /// Whether also results that nobody decided about may go.
    pub unpromoted: Unpromoted,
    /// What these rules keep goes all the same, the oldest first, where all together are longer than so many bytes, each
    /// counted with its content as it was before it was compressed.
    pub most_bytes: Option<u64>,
}

/// Whether results that nobody decided about may go.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Unpromoted {
    /// They stay, whatever the rules say.
    #[default]
    Stay,
    /// They are as others.
    MayGo,
}

/// A record that is judged, the newest first.
#[derive(Clone, Copy, Debug)]
pub struct Candidate<'a> {
    /// When and as what it was committed.
    pub entry: &'a RecordEntry,
    /// The record.
    pub record: &'a TaskRecord,
    /// What happened to it, oldest first.
    pub events: &'a [Event],
    /// How long it is with all its content, in bytes.
    pub bytes: u64,
}

/// Why a record stays.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Keeps {
    /// Somebody pinned it.
    Pinned,
    /// It has changes that nobody promoted or rejected.
    Unpromoted,
    /// It is among the newest.
    Last,
    /// It is not old enough.
    Within,
    /// It did not succeed.
    Failed,
    /// It was promoted.
    Promoted,
    /// It verified a record that stays.
    Verifies,
    /// There is room for it.
    Room,
}

impl Keeps {
    /// Every reason, the strongest first.
    pub const ALL: [Self; 8] = [
        Self::Pinned,
        Self::Unpromoted,
        Self::Last,
        Self::Within,
        Self::Failed,
        Self::Promoted,
        Self::Verifies,
        Self::Room,
    ];

    /// The name in output.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Pinned => "pinned",
            Self::Unpromoted => "unpromoted",
            Self::Last => "last",
            Self::Within => "within",
            Self::Failed => "failed",
            Self::Promoted => "promoted",
            Self::Verifies => "verifies",
            Self::Room => "room",
        }
    }

    /// Whether it holds whatever else is asked for.
    const fn is_absolute(self) -> bool {
        matches!(self, Self::Pinned | Self::Unpromoted)
    }
}

/// Judges records one after the other, from the newest back.
#[derive(Clone, Debug)]
pub struct Judge {
    retention: Retention,
    now: Timestamp,
    judged: u64,
    kept_bytes: u64,
    /// Tasks of which an attempt was promoted or rejected: that decided about those before it, too. Tasks with one attempt
    /// alone are not kept: their number grows.
    settled: BTreeSet<TaskId>,
}

impl Judge {
    /// Judges by `retention`, as of `now`.
    pub const fn new(retention: Retention, now: Timestamp) -> Self {
        Self { retention, now, judged: 0, kept_bytes: 0, settled: BTreeSet::new() }
    }

    /// Why the next record stays; `None` if it is to go.
    pub fn judge(&mut self, candidate: Candidate<'_>) -> Option<Keeps> {
        let reason = self.reason(&candidate).filter(|keeps| keeps.is_absolute() || self.has_room(candidate.bytes));
        self.judged += 1;
        if candidate.entry.attempt > 1 && decision(candidate.events).is_some() {
            self.settled.insert(candidate.entry.task);
        }
        if reason.is_some() {
            self.kept_bytes = self.kept_bytes.saturating_add(candidate.bytes);
        }
        reason
    }

    /// Takes the next record, one of a verification, into account, which is not judged by itself: it goes with the record
    /// that it verified. Why it stays whatever becomes of that one.
    pub fn set_aside(&mut self, candidate: &Candidate<'_>) -> Option<Keeps> {
        self.kept_bytes = self.kept_bytes.saturating_add(candidate.bytes);
        is_pinned(candidate.events).then_some(Keeps::Pinned)
    }

    fn has_room(&self, bytes: u64) -> bool {
        self.retention.most_bytes.is_none_or(|most| self.kept_bytes.saturating_add(bytes) <= most)
    }

    fn has_work(&self, candidate: &Candidate<'_>) -> bool {
        !changed_nothing(candidate.record) && !self.settled.contains(&candidate.entry.task) && !is_decided(candidate)
    }

    fn reason(&self, candidate: &Candidate<'_>) -> Option<Keeps> {
        Keeps::ALL.into_iter().find(|keeps| self.holds(*keeps, candidate))
    }

    fn holds(&self, keeps: Keeps, candidate: &Candidate<'_>) -> bool {
        let Retention { last, within_ms, failed, promoted, unpromoted, .. } = self.retention;
        match keeps {
            Keeps::Pinned => is_pinned(candidate.events),
            Keeps::Unpromoted => unpromoted == Unpromoted::Stay && self.has_work(candidate),
            Keeps::Last => last.is_some_and(|last| self.judged < last),
            Keeps::Within => within_ms.is_some_and(|within| age_ms(candidate, self.now) <= within),
            Keeps::Failed => failed && candidate.record.outcome != Outcome::Success,
            Keeps::Promoted => promoted && is_promoted(candidate),
            // Nothing that is judged by itself: see `set_aside`.
            Keeps::Verifies => false,
            Keeps::Room => !self.retention.has_rules() && self.retention.most_bytes.is_some(),
        }
    }
}

impl Retention {
    /// Whether anything says what is to go.
    pub const fn says_anything(&self) -> bool {
        self.has_rules() || self.most_bytes.is_some()
    }

    const fn has_rules(&self) -> bool {
        self.last.is_some() || self.within_ms.is_some() || self.failed || self.promoted
    }

    /// What speaks against believing the clock: a clock that was set makes everything old, or new, at once.
    pub fn doubt_of_clock(&self, now: Timestamp, newest: Timestamp) -> Option<ClockDoubt> {
        if newest.unix_ms() > now.unix_ms().saturating_add(SKEW_MS) {
            return Some(ClockDoubt::Behind { newest });
        }
        let idle_ms = now.unix_ms().saturating_sub(newest.unix_ms());
        self.within_ms.filter(|within| idle_ms > *within).map(|_| ClockDoubt::Ahead { newest })
    }
}

/// So much the clocks of processes may differ.
const SKEW_MS: u64 = 60_000;

/// Why the clock is not believed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ClockDoubt {
    /// It is earlier than it was.
    #[error("the clock is behind the newest record, of {newest}")]
    Behind {
        /// When the newest record was committed.
        newest: Timestamp,
    },
    /// It is so much later that every record is old.
    #[error("by the clock even the newest record, of {newest}, is too old to be kept: it may have jumped ahead")]
    Ahead {
        /// When the newest record was committed.
        newest: Timestamp,
    },
}

/// How the rules are told where a record's end is explained.
impl fmt::Display for Retention {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut words = Vec::new();
        words.extend(self.last.map(|last| format!("keep-last {last}")));
        words.extend(self.within_ms.map(|within| format!("keep-within {}", amount::period(within))));
        words.extend(self.failed.then(|| "keep-failed".to_owned()));
        words.extend(self.promoted.then(|| "keep-promoted".to_owned()));
        words.extend((self.unpromoted == Unpromoted::MayGo).then(|| "drop-unpromoted".to_owned()));
        words.extend(self.most_bytes.map(|most| format!("max-size {most} B")));
        f.write_str(&words.join(", "))
    }
}

/// Whether nothing of the result waits any more. What was promoted in part does.
fn is_decided(candidate: &Candidate<'_>) -> bool {
    let waits = |event: &Event| matches!(&event.kind, EventKind::Promoted(promoted) if promoted.part.is_some());
    decision(candidate.events).is_some_and(|event| !waits(event))
}

fn is_promoted(candidate: &Candidate<'_>) -> bool {
    let is_whole = |event: &Event| matches!(&event.kind, EventKind::Promoted(promoted) if promoted.part.is_none());
    decision(candidate.events).is_some_and(is_whole)
}

fn age_ms(candidate: &Candidate<'_>, now: Timestamp) -> u64 {
    now.unix_ms().saturating_sub(candidate.entry.committed_at.unix_ms())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::content::ContentId;
    use crate::event::{Confirmation, Promoted};
    use crate::git_oid::GitOid;
    use crate::promotion::tests::record;

    fn decided(kind: EventKind) -> Vec<Event> {
        let subject = ContentId::new([0; 32]);
        vec![Event { task: record().task, subject, previous: None, at: Timestamp::nearest(0), kind }]
    }

    #[test]
    fn a_decision_about_an_attempt_is_one_about_those_before_it() {
        let promoted = EventKind::Promoted(Promoted {
            host_path: b"/repository".to_vec(),
            commit: GitOid::Sha1([0; 20]),
            branch: None,
            confirmation: Confirmation::Flag,
            paths: 1,
            part: None,
            destination: Default::default(),
            merged: None,
            overridden: None,
            verified: None,
        });
        let rejected = EventKind::Rejected { reason: String::new() };
        for (events, kept) in [
            (Vec::new(), [Some(Keeps::Unpromoted), Some(Keeps::Unpromoted)]),
            (decided(EventKind::Pinned), [Some(Keeps::Pinned), Some(Keeps::Unpromoted)]),
            (decided(rejected), [None, None]),
            (decided(promoted), [None, None]),
        ] {
            let mut judge = Judge::new(Retention { last: Some(0), ..Retention::default() }, Timestamp::nearest(0));
            let mut judged = |attempt, events: &[Event]| {
                let record = TaskRecord { attempt, ..record() };
                let (id, committed_at) = (ContentId::new([attempt as u8; 32]), Timestamp::nearest(0));
                let entry = RecordEntry { task: record.task, attempt, record: id, committed_at };
                judge.judge(Candidate { entry: &entry, record: &record, events, bytes: 0 })
            };
            assert_eq!([judged(2, &events), judged(1, &[])], kept, "{events:?}");
        }
    }
}
