//! A file of the host that could not be read or written.

use crate::Cause;

/// What was being done to which file, and what the system said.
#[derive(Debug, thiserror::Error)]
#[error("{operation} {host_path}")]
pub struct FileError {
    /// What was being done.
    pub operation: &'static str,
    /// To what, escaped for people.
    pub host_path: String,
    /// What the system said.
    #[source]
    pub source: Cause,
}
