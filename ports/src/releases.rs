//! Where releases come from, and how an installed program is replaced by one.

use crate::Cause;
use isobox_domain::release::{Archive, Identity, ReleaseIndex, Version};
use isobox_domain::update_target::UpdateTarget;
use std::io::Write;

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
    #[error("{operation} {host_path}")]
    Io {
        /// What was being done.
        operation: &'static str,
        /// To what, escaped for people.
        host_path: String,
        /// What the system said.
        #[source]
        source: Cause,
    },
}

/// A publisher of releases.
///
/// - An index is handed out only if a key that the caller trusts signed it, byte for byte.
/// - No more is read than the limits of the domain allow, however much is sent, and nothing waits longer than the
///   caller's patience.
pub trait ReleaseSource {
    /// Fetches the index.
    fn index(&self) -> Result<ReleaseIndex, UpdateError>;

    /// Writes the bytes of `archive` to `into`, in memory that does not grow with them. Success means that they were
    /// exactly those that the index describes; after an error, what was written is worth nothing.
    fn fetch(&self, archive: &Archive, into: &mut dyn Write) -> Result<(), UpdateError>;
}

/// Finds the Update Target.
///
/// Looking changes nothing and starts nothing.
pub trait UpdateTargets {
    /// The first `isobox` on the user's PATH; `None` if there is none.
    fn find(&self) -> Result<Option<UpdateTarget>, UpdateError>;
}

/// Writes an archive into what it is given, and says whether it is the right one.
pub type FetchArchive<'a> = dyn Fn(&mut dyn Write) -> Result<(), UpdateError> + 'a;

/// Replaces an installed program.
///
/// - At every moment, a kill or a power cut included, its path leads to a whole program: the one before or the one after.
/// - An error but [`UpdateError::Unflushed`] leaves the program as it was.
/// - What cannot run here, or is another version than it should be, never gets to the path.
/// - The program before stays beside it, for [`Installation::roll_back`].
pub trait Installation {
    /// Asks the program what it is.
    fn identify(&self, target: &UpdateTarget) -> Result<Identity, UpdateError>;

    /// Puts the program in `archive` in the place of `target`; where the one before is kept, escaped for people.
    fn replace(
        &self,
        target: &UpdateTarget,
        archive: &Archive,
        fetch: &FetchArchive<'_>,
    ) -> Result<String, UpdateError>;

    /// Puts the program that was kept in the place of `target`, and keeps that one; the version that is there now.
    fn roll_back(&self, target: &UpdateTarget) -> Result<Version, UpdateError>;
}
