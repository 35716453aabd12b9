//! In which order Tasks are listed, and how many of them.

use crate::record::TaskRecord;

/// What Tasks are ordered by.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SortKey {
    /// When they were recorded.
    Time,
    /// How long the workload ran.
    Duration,
    /// How many paths changed.
    Changes,
    /// How much was printed to both streams.
    Output,
    /// Its peak of memory.
    Memory,
}

impl SortKey {
    /// Every key.
    pub const ALL: [Self; 5] = [Self::Time, Self::Duration, Self::Changes, Self::Output, Self::Memory];

    /// The name on the command line.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Time => "time",
            Self::Duration => "duration",
            Self::Changes => "changes",
            Self::Output => "output",
            Self::Memory => "memory",
        }
    }

    /// What counts of a record: milliseconds, paths or bytes. What was not measured counts as nothing.
    pub fn value(self, record: &TaskRecord) -> u64 {
        let artifacts = &record.artifacts;
        match self {
            Self::Time => record.created_at.unix_ms(),
            Self::Duration => {
                record.started_at.map_or(0, |start| record.ended_at.unix_ms().saturating_sub(start.unix_ms()))
            }
            Self::Changes => artifacts.change_set.map_or(0, |set| set.summary.changed()),
            Self::Output => {
                [artifacts.stdout, artifacts.stderr].into_iter().flatten().map(|stream| stream.length).sum()
            }
            Self::Memory => record.usage.peak_memory_bytes.unwrap_or(0),
        }
    }
}

/// Which end comes first.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Direction {
    /// The newest, or what has most.
    #[default]
    Descending,
    /// The oldest, or what has least.
    Ascending,
}

/// The order of a listing.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Order {
    /// By what.
    pub key: SortKey,
    /// Which end comes first.
    pub direction: Direction,
}

/// How many Tasks a listing shows at most.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Limit {
    /// So many.
    Most(u64),
    /// Any number.
    All,
}

impl Limit {
    /// Whether no more may follow after `shown`.
    pub const fn is_reached(self, shown: u64) -> bool {
        match self {
            Self::Most(most) => shown >= most,
            Self::All => false,
        }
    }
}
