//! Randomness.

use isobox_domain::task_id::TaskId;

/// Unpredictable names.
///
/// - Two calls never return the same.
pub trait TaskIds: Send + Sync {
    /// A name for a Task.
    fn task_id(&self) -> TaskId;

    /// Salt for a record.
    fn salt(&self) -> [u8; 16];
}
