//! Export: moving a record out as a directory of plain files, or as one file.

use crate::FileError;
use isobox_domain::repo_path::RepoPath;
use std::io::{Read, Write};

/// Why a directory or a file was not exported. Nothing was changed.
#[derive(Debug, thiserror::Error)]
pub enum ExportError {
    /// There is something of that name already.
    #[error("{host_path} is there already")]
    Exists {
        /// The path, escaped for people.
        host_path: String,
    },
    /// Something else failed.
    #[error(transparent)]
    Io(#[from] FileError),
}

/// A place that records are exported to.
///
/// - A directory is there whole or not at all.
/// - What bears the name already is not replaced, not even an empty directory or a link.
/// - Files have mode 0600, directories 0700.
pub trait Exports {
    /// Begins a directory called `name`, one plain component.
    fn begin(&self, name: &str) -> Result<Box<dyn Export>, ExportError>;
}

/// A directory that is being exported. Dropping it leaves nothing.
pub trait Export {
    /// Writes a file with everything that `content` has.
    fn write(&mut self, path: &RepoPath, content: &mut dyn Read) -> Result<(), ExportError>;

    /// Puts the directory in its place.
    fn finish(self: Box<Self>) -> Result<(), ExportError>;
}

/// Whether a file that is there makes way.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Replacing {
    /// It stays, and nothing is exported.
    Nothing,
    /// It is replaced.
    File,
}

/// A place for one file.
///
/// - The file is there whole or not at all, and survives a power cut when it is finished.
/// - What bears the name already stays, unless it is to be replaced and is no directory. A link is replaced itself.
/// - The file has mode 0600.
pub trait ExportFiles {
    /// Begins the file.
    fn begin(&self, replacing: Replacing) -> Result<Box<dyn ExportFile>, ExportError>;
}

/// A file that is being exported. Dropping it leaves nothing.
pub trait ExportFile: Write {
    /// Puts the file in its place.
    fn finish(self: Box<Self>) -> Result<(), ExportError>;
}
