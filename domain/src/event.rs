//! Events: what happened to a record after it was published.

use crate::content::ContentId;
use crate::git_oid::GitOid;
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
}

/// Whether somebody decided about the result: what later pins and prunes say does not change that.
pub fn decision(events: &[Event]) -> Option<&Event> {
    events.iter().rev().find(|event| matches!(event.kind, EventKind::Promoted(_) | EventKind::Rejected { .. }))
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
