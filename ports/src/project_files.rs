//! The few files that isobox writes into a project on the user's behalf.

use crate::Cause;
use isobox_domain::repo_path::RepoPath;

/// A file of a project could not be read or written. Nothing was changed.
#[derive(Debug, thiserror::Error)]
pub enum ProjectFilesError {
    /// Something is in its place that isobox does not touch: a link, a directory.
    #[error("{host_path} is {found}, and isobox does not write through it; nothing was changed")]
    InTheWay {
        /// The path, escaped for people.
        host_path: String,
        /// What it is, in words.
        found: &'static str,
    },
    /// Something else failed.
    #[error("{operation} {host_path}; nothing was changed")]
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

/// Files of a project, by their path from its root.
///
/// - No link is followed, neither at a file nor on the way to it.
/// - `write` makes missing directories, and writes all files or none, whatever fails.
/// - A file that is replaced keeps its permission bits; a reader sees its old or its new content.
pub trait ProjectFiles {
    /// The content of a file; `None` when there is none.
    fn read(&self, path: &RepoPath) -> Result<Option<Vec<u8>>, ProjectFilesError>;

    /// Writes files, in this order.
    fn write(&self, files: &[(RepoPath, Vec<u8>)]) -> Result<(), ProjectFilesError>;
}
