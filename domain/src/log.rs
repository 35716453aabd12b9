//! The transparency log of a Task Store: what one leaf says, and what the head of its tree is.

use crate::content::{ContentId, hex};
use crate::task_id::TaskId;
use crate::timestamp::Timestamp;
use std::fmt;

/// A SHA-256 hash in the tree of the log.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct TreeHash(pub [u8; 32]);

impl fmt::Debug for TreeHash {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&hex(&self.0))
    }
}

/// The tree of the first `size` leaves.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TreeHead {
    /// How many leaves it has.
    pub size: u64,
    /// Its root.
    pub root: TreeHash,
}

/// What a checkpoint says, whoever signed it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Checkpoint {
    /// Which log it is of.
    pub origin: String,
    /// The tree.
    pub head: TreeHead,
}

/// What a leaf tells of.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LeafKind {
    /// A COMMIT of a Task Record.
    Record,
    /// A COMMIT of an Event.
    Event,
    /// A COMMIT that was lost before it could be logged: nothing but its place is known.
    Lost,
}

impl LeafKind {
    /// The name in output.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Record => "record",
            Self::Event => "event",
            Self::Lost => "lost",
        }
    }
}

/// One leaf: one COMMIT. The leaves of one lane have the sequences 1, 2, 3 … in the order of the log.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LogLeaf {
    /// What it tells of.
    pub kind: LeafKind,
    /// The lane of the COMMIT.
    pub lane: u8,
    /// Its number in the lane, from 1.
    pub sequence: u64,
    /// The Task; zeros where it is lost.
    pub task: TaskId,
    /// Which attempt; 0 for an event, and where it is lost.
    pub attempt: u32,
    /// The digest of the record or event; zeros where it is lost.
    pub record: ContentId,
    /// The digest of the COMMIT; zeros where it is lost.
    pub commit: ContentId,
    /// When it was committed; of the lane's next COMMIT where it is lost.
    pub time: Timestamp,
}

impl LogLeaf {
    /// The leaf of a COMMIT that is gone: the one with `sequence` in `lane`, whose next one that is there is of `time`.
    pub const fn lost(lane: u8, sequence: u64, time: Timestamp) -> Self {
        let (task, none) = (TaskId::new([0; 8]), ContentId::new([0; 32]));
        Self { kind: LeafKind::Lost, lane, sequence, task, attempt: 0, record: none, commit: none, time }
    }
}
