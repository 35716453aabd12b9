//! Why an update did not happen.

use crate::{Cause, FileError};

/// Why an update did not happen.
#[derive(Debug, thiserror::Error)]
pub enum UpdateError {
    /// The publisher could not be reached, or answered too late or with an error.
    #[error("fetch {place}")]
    Unreachable {
        /// The URL, escaped for people.
        place: String,
        /// What stood in the way.
        #[source]
        source: Cause,
    },
    /// What was fetched is not what its publisher signed, or cannot be what it should be.
    #[error("{what}: {problem}")]
    Untrusted {
        /// What was fetched, escaped for people.
        what: String,
        /// Expected and found.
        problem: String,
    },
    /// A program does not work here, or is not what it should be.
    #[error("{program}: {problem}")]
    Unusable {
        /// Its host path, escaped for people.
        program: String,
        /// What it did.
        problem: String,
    },
    /// Somebody else replaces the program at this moment, or just did.
    #[error("{program} is being replaced by another process")]
    Contended {
        /// Its host path, escaped for people.
        program: String,
    },
    /// There is no earlier program to go back to.
    #[error("there is no {kept} to go back to")]
    NothingKept {
        /// Host path where it would be, escaped for people.
        kept: String,
    },
    /// The program was replaced, but a power cut may still undo that.
    #[error("{program} was replaced; it could not be made sure that a power cut does not undo that")]
    Unflushed {
        /// Its host path, escaped for people.
        program: String,
        /// What the system said.
        #[source]
        source: Cause,
    },
    /// A file could not be read or written.
    #[error(transparent)]
    Io(#[from] FileError),
}
