//! Copies of host files that a workload may change.

use crate::{CaptureSink, Cause, Exposed};

/// A failure around private copies.
#[derive(Debug, thiserror::Error)]
pub enum PrivateCopyError {
    /// Something that is to be copied cannot be.
    #[error("{operation}")]
    Refused {
        /// What was being done, to what.
        operation: String,
        /// What stands in the way.
        #[source]
        source: Cause,
        /// What to do about it.
        hint: &'static str,
    },
    /// The disk that copies lie on has no room.
    #[error("{operation}: no space left on the disk of private copies")]
    Full {
        /// What was being done, to what.
        operation: String,
    },
    /// Something else failed.
    #[error("{operation}")]
    Io {
        /// What was being done, to what.
        operation: String,
        /// Why it did not work.
        #[source]
        source: Cause,
    },
}

/// Private copies of host files, one set for an attempt.
///
/// - Nothing is made before `make`, and what fails there is named by its path and leaves nothing.
/// - A copy has everything but what is hidden; of a link that is hidden, what it leads to is hidden, too.
/// - What is captured is captured byte for byte; what is not is a line that says why.
/// - What was copied is never changed by what becomes of its copy.
/// - Disposing removes everything, whatever the modes inside; disposing twice is fine, and so is what was never made.
pub trait PrivateCopies: Send + Sync {
    /// Chooses where the copies of an attempt go: their state, to be noted before anything is made there.
    fn reserve(&self) -> Result<Vec<u8>, PrivateCopyError>;

    /// Copies what `exposed` lets a workload change, and shows the copies in its place.
    fn make(&self, reserved: &[u8], exposed: &mut Exposed) -> Result<(), PrivateCopyError>;

    /// Hands over what changed in the copies that are captured, against what was copied, by host paths without their first
    /// slash; no line where nothing did. Every process that could write to them is dead.
    fn capture(&self, state: &[u8], sink: &mut dyn CaptureSink) -> Result<(), PrivateCopyError>;

    /// Where the copies are, for people.
    fn shown(&self, state: &[u8]) -> String;

    /// Removes the copies. Every process that could write to them is dead.
    fn dispose(&self, state: &[u8]) -> Result<(), PrivateCopyError>;
}
