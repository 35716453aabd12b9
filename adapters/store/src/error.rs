//! What the system says, as errors of the store.

use isobox_domain::escape::Escaped;
use isobox_ports::{Cause, StoreError, StoreErrorKind};
use nix::errno::Errno;
use std::fmt;
use std::io;
use std::path::Path;

/// A path, escaped for people.
pub(crate) fn shown(path: &Path) -> String {
    Escaped::path(path).to_string()
}

/// What an error would be about: put into words only where there is one, for a put asks for a hundred.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Subject<F>(pub(crate) F);

impl<F: Fn() -> String> fmt::Display for Subject<F> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&(self.0)())
    }
}

impl<F: Fn() -> String> From<Subject<F>> for String {
    fn from(subject: Subject<F>) -> Self {
        (subject.0)()
    }
}

/// Maps what the system said about `operation` on `subject`.
pub(crate) fn failed<'a>(
    operation: &'static str,
    subject: impl fmt::Display + 'a,
) -> impl Fn(io::Error) -> StoreError + 'a {
    move |error| StoreError { kind: kind_of(&error), operation, subject: subject.to_string(), source: error.into() }
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
