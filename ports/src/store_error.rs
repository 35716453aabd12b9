//! What can go wrong with a Task Store.

use crate::Cause;

/// What a caller can do about a [`StoreError`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum StoreErrorKind {
    /// There is no store there.
    Missing,
    /// It is on a file system, or has permissions or a format, that isobox does not use.
    Unsuitable,
    /// Another process holds a lock for too long.
    Locked,
    /// No space, no inodes or over quota.
    Full,
    /// Bytes are not what they were when they were written.
    Damaged,
    /// Anything else.
    Io,
}

/// A failure of the Task Store: what was being done, to what, and why it did not work.
#[derive(Debug, thiserror::Error)]
#[error("{operation} {subject}")]
pub struct StoreError {
    /// What a caller can do about it.
    pub kind: StoreErrorKind,
    /// What was being done, e.g. `open object`.
    pub operation: &'static str,
    /// To what: a path or an id, escaped for people.
    pub subject: String,
    /// Why it did not work.
    #[source]
    pub source: Cause,
}
