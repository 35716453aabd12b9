//! The errors that the modules of this crate make alike.

use isobox_domain::escape::Escaped;
use isobox_ports::{Cause, FileError, UpdateError};
use std::path::Path;

/// An error of `operation` on a file.
pub(crate) fn io<E: Into<Cause>>(operation: &'static str, host_path: &Path) -> impl FnOnce(E) -> UpdateError {
    move |source| UpdateError::Io(FileError { operation, host_path: shown(host_path), source: source.into() })
}

/// A program that is of no use, and why.
pub(crate) fn unusable(program: &Path, problem: impl Into<String>) -> UpdateError {
    UpdateError::Unusable { program: shown(program), problem: problem.into() }
}

/// A host path for people.
pub(crate) fn shown(host_path: &Path) -> String {
    Escaped::path(host_path).to_string()
}
