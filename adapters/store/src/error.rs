//! What the system says, as errors of the store.

use isobox_domain::escape::Escaped;
use isobox_ports::{Cause, StoreError, StoreErrorKind};
use nix::errno::Errno;
use std::io;
use std::path::Path;

/// A path, escaped for people.
pub(crate) fn shown(path: &Path) -> String {
    Escaped::path(path).to_string()
}

/// Maps what the system said about `operation` on `subject`.
pub(crate) fn failed<'a>(operation: &'static str, subject: &'a str) -> impl Fn(io::Error) -> StoreError + 'a {
    move |error| StoreError { kind: kind_of(&error), operation, subject: subject.to_owned(), source: error.into() }
}

/// An error of a chosen kind.
pub(crate) fn error(
    kind: StoreErrorKind,
    operation: &'static str,
    subject: impl Into<String>,
    source: impl Into<Cause>,
) -> StoreError {
    StoreError { kind, operation, subject: subject.into(), source: source.into() }
}

/// Bytes that are not what was written.
pub(crate) fn damaged(operation: &'static str, subject: impl Into<String>, source: impl Into<Cause>) -> StoreError {
    error(StoreErrorKind::Damaged, operation, subject, source)
}

/// Whether there is no room.
pub(crate) fn is_full(error: &io::Error) -> bool {
    kind_of(error) == StoreErrorKind::Full
}

fn kind_of(error: &io::Error) -> StoreErrorKind {
    match error.raw_os_error().map(Errno::from_raw) {
        Some(Errno::ENOSPC | Errno::EDQUOT | Errno::EFBIG) => StoreErrorKind::Full,
        Some(Errno::EROFS | Errno::EACCES | Errno::EPERM | Errno::ELOOP) => StoreErrorKind::Unsuitable,
        _ => StoreErrorKind::Io,
    }
}

/// An error with everything that led to it, in one line.
pub(crate) fn chain(error: &dyn std::error::Error) -> String {
    let links = std::iter::successors(Some(error), |error| error.source());
    links.map(ToString::to_string).collect::<Vec<_>>().join(": ")
}
