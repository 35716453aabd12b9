//! Events: what happened to a record after it was published.

use crate::content::ContentId;
use crate::git_oid::GitOid;
use crate::promotion::{Overridden, Selection};
use crate::task_id::TaskId;
use crate::timestamp::Timestamp;

/// A small immutable record about another one.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Event {
    /// The Task that the subject belongs to.
    pub task: TaskId,
    /// The record that the event is about.
    pub subject: ContentId,
    /// The newest event about the same subject before this one.
    pub previous: Option<ContentId>,
    /// When it happened.
    pub at: Timestamp,
    /// What happened.
    pub kind: EventKind,
}

/// What happened.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum EventKind {
    /// A Promotion wrote the result into a repository.
    Promoted(Promoted),
    /// A person turned the result down.
    Rejected {
        /// Why, in their words; may be empty.
        reason: String,
    },
    /// A person wants it kept, whatever a prune would drop.
    Pinned,
    /// It need not be kept any more than others.
    Unpinned,
    /// The record was dropped from the store, with what no other record refers to.
    Pruned {
        /// By what rule.
        reason: String,
    },
    /// The newest Promotion of the result that still stood was taken back.
    Undone,
}

/// What somebody decided about the result: what later pins and prunes say does not change that. A Promotion that was
/// taken back decides nothing any more.
pub fn decision(events: &[Event]) -> Option<&Event> {
    standing(events).pop()
}

/// The Promotions that were not taken back, oldest first.
pub fn standing_promotions(events: &[Event]) -> impl Iterator<Item = &Event> {
    standing(events).into_iter().filter(|event| matches!(event.kind, EventKind::Promoted(_)))
}

/// Every decision that was not taken back, oldest first.
fn standing(events: &[Event]) -> Vec<&Event> {
    let mut standing: Vec<&Event> = Vec::new();
    for event in events {
        match event.kind {
            EventKind::Promoted(_) | EventKind::Rejected { .. } => standing.push(event),
            EventKind::Undone => {
                let last = standing.iter().rposition(|event| matches!(event.kind, EventKind::Promoted(_)));
                last.map(|last| standing.remove(last));
            }
            EventKind::Pinned | EventKind::Unpinned | EventKind::Pruned { .. } => {}
        }
    }
    standing
}

/// Whether the record is to be kept, after these events, oldest first.
pub fn is_pinned(events: &[Event]) -> bool {
    let last = events.iter().rev().find(|event| matches!(event.kind, EventKind::Pinned | EventKind::Unpinned));
    last.is_some_and(|event| event.kind == EventKind::Pinned)
}

/// A finished Promotion.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Promoted {
    /// Absolute host path of the repository it went into, any bytes.
    pub host_path: Vec<u8>,
    /// HEAD of that repository at the time.
    pub commit: GitOid,
    /// The branch that HEAD named, or `None` when it was detached.
    pub branch: Option<Vec<u8>>,
    /// How isobox was told that a person agreed.
    pub confirmation: Confirmation,
    /// Changed paths that were written.
    pub paths: u64,
    /// Which of the result's changed paths they are; `None`: all that no Promotion had brought before.
    pub part: Option<Box<Selection>>,
    /// Where they went.
    pub destination: Destination,
    /// What a three-way merge left; `None`: what was written is what the Task left.
    pub merged: Option<Merged>,
    /// What the policy asked for, and it was made in spite of.
    pub overridden: Option<Box<Overridden>>,
    /// The record of the verification that succeeded before.
    pub verified: Option<ContentId>,
}

/// A three-way merge of a result into what the repository had by then.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Merged {
    /// Files that hold conflict markers.
    pub conflicts: u64,
}

/// Where a Promotion brought what it promoted.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum Destination {
    /// Into the files of the working tree.
    #[default]
    WorkingTree,
    /// Into the files and the index.
    Index,
    /// Into the files, the index, and a commit that HEAD names since.
    Commit {
        /// The commit.
        made: GitOid,
    },
    /// Into a commit on a branch of its own; the working tree stayed as it was.
    Branch {
        /// The commit.
        made: GitOid,
        /// The branch: `refs/heads/…`, any bytes.
        name: Vec<u8>,
    },
}

impl Destination {
    /// The name in records and output.
    pub const fn name(&self) -> &'static str {
        match self {
            Self::WorkingTree => "working_tree",
            Self::Index => "index",
            Self::Commit { .. } => "commit",
            Self::Branch { .. } => "branch",
        }
    }

    /// The commit that was made.
    pub const fn made(&self) -> Option<GitOid> {
        match self {
            Self::WorkingTree | Self::Index => None,
            Self::Commit { made } | Self::Branch { made, .. } => Some(*made),
        }
    }
}

/// How isobox was told that a person agreed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Confirmation {
    /// A person answered the prompt on a terminal.
    Interactive,
    /// A line `yes` was read from a pipe.
    Piped,
    /// The flag `--yes`.
    Flag,
    /// In a way that is not known: the Promotion was made, and noted, by another tool.
    Unknown,
}

impl Confirmation {
    /// The name in records and output.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Interactive => "interactive",
            Self::Piped => "piped",
            Self::Flag => "explicit_flag",
            Self::Unknown => "unknown",
        }
    }
}
