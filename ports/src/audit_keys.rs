//! The keys that sign the logs of Task Stores.

use crate::Cause;

/// A key, or the checkpoint that is kept with it, cannot be used: why.
#[derive(Debug, thiserror::Error)]
#[error(transparent)]
pub struct AuditKeyError(pub Cause);

/// Whether a key was kept.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum KeyKept {
    /// It was.
    Now,
    /// There is one already, which stays.
    Before,
}

/// The user's keys, one for each log, in a place that no Task Store and no Sandbox has.
///
/// - A key that was kept is never replaced, and nobody else can read it.
/// - A checkpoint that was kept is durable.
pub trait AuditKeys {
    /// The logs that there are keys for.
    fn logs(&self) -> Result<Vec<String>, AuditKeyError>;

    /// The text of the key of a log.
    fn load(&self, log: &str) -> Result<Option<String>, AuditKeyError>;

    /// Keeps the key of a log, unless there is one.
    fn keep(&self, log: &str, secret: &str) -> Result<KeyKept, AuditKeyError>;

    /// The newest checkpoint that was signed with the key of a log.
    fn newest(&self, log: &str) -> Result<Option<Vec<u8>>, AuditKeyError>;

    /// Keeps a checkpoint as the newest one.
    fn keep_newest(&self, log: &str, note: &[u8]) -> Result<(), AuditKeyError>;

    /// 32 bytes that nobody can guess, for a key.
    fn seed(&self) -> [u8; 32];
}
