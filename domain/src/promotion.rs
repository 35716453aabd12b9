//! Whether a Task Result may be promoted, and the plan that a person approves.
//!
//! The rules are looked at twice: when the plan is made and shown, and again, under the lock, right before it is
//! performed. Nothing that was approved may have changed in between.

mod gate;
mod meeting;
mod message;
mod refusal;
mod rules;
mod selection;

pub use gate::{BlockedRisk, Overridden, PromotionGate, PromotionRequirement};
pub use meeting::{Meeting, OnConflict};
pub(crate) use message::with_trailers;
pub use refusal::PromotionRefusal;
pub use rules::check_head;
pub use selection::{Chosen, ChosenHunks, Earlier, Selection, Whereabouts};

use crate::change::ChangeSetRef;
use crate::content::ContentId;
use crate::event::{Confirmation, Destination, Event, EventKind, Merged, Promoted, standing_promotions};
use crate::git_oid::GitOid;
use crate::record::TaskRecord;
use crate::source::{Cleanliness, SnapshotDifference, WorkspaceSource};
use crate::task_id::TaskId;
use crate::timestamp::Timestamp;
use rules::{check_events, check_record, check_repository, check_state};

/// Whether a result that was promoted before may be promoted once more.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Repetition {
    /// It may not.
    Refused,
    /// The person asked for it.
    Allowed,
}

/// What is known about the record.
#[derive(Clone, Copy, Debug)]
pub struct Candidate<'a> {
    /// The record, verified.
    pub record: &'a TaskRecord,
    /// Its digest.
    pub id: ContentId,
    /// The events about it with their digests, oldest first.
    pub events: &'a [(ContentId, Event)],
}

/// What is known about the repository.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TargetFacts {
    /// Where it is and where its HEAD is.
    pub source: WorkspaceSource,
    /// Whether it is as its HEAD says.
    pub cleanliness: Cleanliness,
    /// Where it is not in the state that is expected of a working tree with uncommitted changes: that of the record's Dirty
    /// Source Snapshot, with what was promoted before. `None` where no such state is expected.
    pub expected: Option<SnapshotDifference>,
}

/// What a person asked for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Wish {
    /// Whether it may be promoted once more.
    pub repetition: Repetition,
    /// Which of the changed paths.
    pub selection: Selection,
    /// Where to.
    pub way: Way,
    /// How it meets what the repository changed since.
    pub meeting: Meeting,
}

/// Where a Promotion is to go.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Way {
    /// Into the files of the working tree.
    WorkingTree,
    /// Into the files and the index.
    Index,
    /// Into the files, the index, and a commit on what HEAD names.
    Commit,
    /// Into a commit on a branch of its own, `refs/heads/…`; the working tree stays as it is.
    Branch(Vec<u8>),
}

/// What a person is asked to approve: the facts that must still hold when it is performed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PromotionPlan {
    /// The Task.
    pub task: TaskId,
    /// Its record.
    pub record: ContentId,
    /// What is written, all or some of it.
    pub change_set: ChangeSetRef,
    /// Which of its changed paths.
    pub chosen: Chosen,
    /// Where to.
    pub way: Way,
    /// How it meets what the repository changed since.
    pub meeting: Meeting,
    /// Absolute host path of the repository that is written to, any bytes.
    pub host_path: Vec<u8>,
    /// Its HEAD.
    pub commit: GitOid,
    /// The branch that HEAD names, or `None` when it is detached.
    pub branch: Option<Vec<u8>>,
    /// The newest event about the record: the event of this Promotion follows it.
    pub previous: Option<ContentId>,
}

impl Candidate<'_> {
    /// Looks at the rules that need no look at the working tree: what the record says, what happened to it, and whether
    /// `target` is the repository that it started from, with HEAD where it was. What would be written.
    pub fn check(&self, target: &WorkspaceSource, wish: &Wish) -> Result<ChangeSetRef, PromotionRefusal> {
        let change_set = check_record(self.record)?;
        check_events(self.events, wish.repetition)?;
        check_repository(&self.record.source, target)?;
        match (&wish.way, wish.meeting) {
            (Way::Branch(_) | Way::Commit, _) if self.record.artifacts.source_snapshot.is_some() => {
                Err(PromotionRefusal::NoCommit)?;
            }
            (_, Meeting::ThreeWay(_)) if self.record.artifacts.source_snapshot.is_some() => {
                Err(PromotionRefusal::NoMergeBase)?;
            }
            (Way::Branch(_), _) | (_, Meeting::ThreeWay(_)) => {}
            (Way::WorkingTree | Way::Index | Way::Commit, Meeting::Exact) => check_head(&self.expected_head(), target)?,
        }
        Ok(change_set)
    }

    /// The source that the Task started from, with HEAD where a Promotion of a part of the result moved it.
    pub fn expected_head(&self) -> WorkspaceSource {
        let events = self.known_events();
        let made = standing_promotions(&events).filter_map(|event| match &event.kind {
            EventKind::Promoted(Promoted { destination: Destination::Commit { made }, .. }) => Some(*made),
            _ => None,
        });
        let commit = made.last().unwrap_or(self.record.source.commit);
        WorkspaceSource { commit, ..self.record.source.clone() }
    }

    /// What a Promotion brings across.
    pub fn chosen(&self, wish: &Wish) -> Chosen {
        let earlier = match wish.repetition {
            Repetition::Allowed => Vec::new(),
            Repetition::Refused => selection::earlier_parts(&self.known_events()),
        };
        Chosen { selection: wish.selection.clone(), earlier }
    }

    fn known_events(&self) -> Vec<Event> {
        self.events.iter().map(|(_, event)| event.clone()).collect()
    }
}

impl PromotionPlan {
    /// Makes the plan, or says which rule stands in the way. The first that does wins; the record's rules come first.
    pub fn make(candidate: &Candidate<'_>, target: &TargetFacts, wish: &Wish) -> Result<Self, PromotionRefusal> {
        let record = candidate.record;
        let change_set = candidate.check(&target.source, wish)?;
        match (&wish.way, wish.meeting) {
            // Each changed path is looked at when it is promoted.
            (Way::Branch(_), _) | (_, Meeting::ThreeWay(_)) => {}
            (Way::WorkingTree | Way::Index | Way::Commit, Meeting::Exact) => check_state(record, target)?,
        }
        Ok(Self {
            task: record.task,
            record: candidate.id,
            change_set,
            chosen: candidate.chosen(wish),
            way: wish.way.clone(),
            meeting: wish.meeting,
            host_path: target.source.host_path.clone(),
            commit: target.source.commit,
            branch: target.source.branch.clone(),
            previous: candidate.events.last().map(|(id, _)| *id),
        })
    }

    /// Compares the plan that was approved with one made from the facts of this moment.
    pub fn confirm(&self, now: &Self) -> Result<(), PromotionRefusal> {
        let what = if self.record != now.record || self.change_set != now.change_set || self.task != now.task {
            "the task record"
        } else if self.previous != now.previous || self.chosen != now.chosen {
            "what happened to the task"
        } else if self.host_path != now.host_path {
            "the place of the repository"
        } else if self.commit != now.commit || self.branch != now.branch {
            "HEAD of the repository"
        } else {
            return Ok(());
        };
        Err(PromotionRefusal::PlanChanged { what })
    }

    /// The event that records the Promotion once it is performed, as `done` says.
    pub fn event(&self, confirmation: Confirmation, done: Done, at: Timestamp) -> Event {
        let Done { extent, made, merged, overridden, verified } = done;
        let destination = match (&self.way, made) {
            (Way::Commit, Some(made)) => Destination::Commit { made },
            (Way::Branch(name), Some(made)) => Destination::Branch { made, name: name.clone() },
            (Way::Index, _) => Destination::Index,
            _ => Destination::WorkingTree,
        };
        let promoted = Promoted {
            host_path: self.host_path.clone(),
            commit: self.commit,
            branch: self.branch.clone(),
            confirmation,
            paths: extent.paths,
            part: (!extent.is_all()).then(|| Box::new(self.chosen.selection.clone())),
            destination,
            merged,
            overridden: overridden.map(Box::new),
            verified,
        };
        Event {
            task: self.task,
            subject: self.record,
            previous: self.previous,
            at,
            kind: EventKind::Promoted(promoted),
        }
    }
}

/// What a Promotion does.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Done {
    /// What it brings across of what it could.
    pub extent: Extent,
    /// The commit that it made.
    pub made: Option<GitOid>,
    /// What a three-way merge left, if there was one.
    pub merged: Option<Merged>,
    /// What it is done in spite of.
    pub overridden: Option<Overridden>,
    /// The record of the verification that succeeded before.
    pub verified: Option<ContentId>,
}

/// How much of a result a Promotion brings across.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Extent {
    /// Changed paths that it brings.
    pub paths: u64,
    /// Changed paths that it leaves, and no Promotion brought before.
    pub left: u64,
}

impl Extent {
    /// Whether nothing waits any more.
    pub const fn is_all(self) -> bool {
        self.left == 0
    }
}

#[cfg(test)]
pub(crate) mod tests;
