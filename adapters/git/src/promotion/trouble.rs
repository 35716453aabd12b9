//! Failures of a Promotion, as its port tells them.

use isobox_domain::escape::Escaped;
use isobox_ports::{ApplyError, Cause, RepositoryError};
use std::io;

/// Turns a failure of the system into one of the port: what was being done, to what.
pub(super) fn while_doing(operation: impl Into<String>) -> impl FnOnce(io::Error) -> ApplyError {
    |source| match source.kind() {
        io::ErrorKind::StorageFull | io::ErrorKind::QuotaExceeded => ApplyError::Full { operation: operation.into() },
        _ => ApplyError::Io { operation: operation.into(), source: source.into() },
    }
}

/// A failure about one path, which is shown escaped.
pub(super) fn while_doing_to<'a>(verb: &'a str, path: &'a [u8]) -> impl FnOnce(io::Error) -> ApplyError + 'a {
    move |source| while_doing(format!("{verb} {}", Escaped(path)))(source)
}

/// A path that is not as it has to be.
pub(super) fn conflict(path: &[u8], why: &str) -> ApplyError {
    ApplyError::Conflicts { first: vec![format!("{}: {why}", Escaped(path))], count: 1 }
}

/// Something else than a path that stands in the way, and what to do about it.
pub(super) fn refused(reason: impl Into<String>, hint: &str) -> ApplyError {
    ApplyError::Refused { reason: reason.into(), hint: hint.into() }
}

/// The same failure, where the repository is neither as it was nor finished.
pub(super) fn unsettled(error: ApplyError) -> ApplyError {
    let (operation, source) = parts(error);
    ApplyError::Unsettled { operation, source }
}

/// The same failure, met while settling what a killed Promotion left.
pub(super) fn while_settling(error: ApplyError) -> RepositoryError {
    let (operation, source) = parts(error);
    RepositoryError::Io { operation: format!("settle an interrupted promotion: {operation}"), source }
}

fn parts(error: ApplyError) -> (String, Cause) {
    match error {
        ApplyError::Io { operation, source } | ApplyError::Unsettled { operation, source } => (operation, source),
        ApplyError::Full { operation } => (operation, "no space left".into()),
        ApplyError::Refused { reason, .. } => ("move a reference".into(), reason.into()),
        ApplyError::Conflicts { first, .. } => ("move files into place".into(), first.join("; ").into()),
    }
}
