//! Records of the existing tool, version 1: their directories, and how one is written down.

use crate::{Content, FileError};
use isobox_domain::repo_path::RepoPath;
use isobox_domain::v1::{NotImportable, V1Record};

/// Longest `record.json` that is read, in bytes.
pub const MAX_V1_RECORD_BYTES: u64 = 16 << 20;
/// Largest artifact that is read, in bytes.
pub const MAX_V1_FILE_BYTES: u64 = 64 << 30;

/// Why a `record.json` is not a v1 record.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum V1ParseError {
    /// It is empty or not whole: nothing can be said about it.
    NotImportable(NotImportable),
    /// It is a View of isobox itself, whose record is in a Task Store.
    View,
    /// It is whole, but breaks a rule: which one, as a sentence without its end.
    Refused {
        /// Which rule, and where.
        reason: String,
    },
}

/// How a v1 record is written down.
///
/// - Duplicate keys, nesting deeper than 64, values of the wrong type and paths that lead out of the record directory are
///   refused, wherever they are.
/// - Bytes that are no whole document are told from a document that is refused.
/// - What `encode` writes, `parse` reads back.
/// - Memory does not grow with anything but the length of the document.
pub trait V1Format: Send + Sync {
    /// The record that `json` is.
    fn parse(&self, json: &[u8]) -> Result<V1Record, V1ParseError>;

    /// The `record.json` of `record`.
    fn encode(&self, record: &V1Record) -> Vec<u8>;
}

/// Why something in a record directory is not read.
#[derive(Debug, thiserror::Error)]
pub enum V1Error {
    /// It is not what it would have to be: a link, a pipe, too large, elsewhere.
    #[error("{host_path} is {found}")]
    Refused {
        /// What, escaped for people.
        host_path: String,
        /// What it is instead, in words.
        found: &'static str,
    },
    /// It could not be read.
    #[error(transparent)]
    Io(#[from] FileError),
}

/// Names of record directories; see [`V1Directories::names`].
pub type V1Names<'a> = Box<dyn Iterator<Item = Result<Vec<u8>, V1Error>> + 'a>;

/// The record directories in one place. Nothing in them is ever changed.
///
/// - A place that is itself a record directory has that one.
/// - What is named like one is listed whatever it is; opening it says why it is none.
pub trait V1Directories {
    /// The names of the record directories, in no order.
    fn names(&self) -> Result<V1Names<'_>, V1Error>;

    /// Opens the directory of that name.
    fn open(&self, name: &[u8]) -> Result<Box<dyn V1Directory>, V1Error>;
}

/// One record directory.
///
/// - Nothing is reached through a link, outside of the directory or on another file system, whatever is swapped meanwhile.
/// - Only regular files are opened; no pipe and no device is waited for or touched.
pub trait V1Directory {
    /// The bytes of `record.json`; `None` if there is none. One over [`MAX_V1_RECORD_BYTES`] is refused.
    fn record_json(&self) -> Result<Option<Vec<u8>>, V1Error>;

    /// Opens an artifact; `None` if it is not there. One over [`MAX_V1_FILE_BYTES`] is refused.
    fn file(&self, path: &RepoPath) -> Result<Option<V1File>, V1Error>;
}

/// An artifact of a record directory.
pub struct V1File {
    /// Its length in bytes when it was opened.
    pub length: u64,
    /// Its content: exactly `length` bytes, or an error.
    pub content: Content,
}
