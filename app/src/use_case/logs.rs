//! Copies the captured output of a record.

use crate::failure::{Failure, FailureKind};
use isobox_domain::content::ContentRef;
use isobox_ports::ObjectStore;
use std::io::{self, Write};

/// What it touches.
#[derive(Clone, Copy)]
pub(crate) struct Ports<'a> {
    pub(crate) objects: &'a dyn ObjectStore,
}

/// Copies an artifact, called `what`, to `to`; nothing if there is none.
pub(crate) fn copy(
    ports: &Ports<'_>,
    what: &str,
    artifact: Option<ContentRef>,
    to: &mut dyn Write,
) -> Result<io::Result<()>, Failure> {
    let Some(artifact) = artifact else { return Ok(Ok(())) };
    let gone = || {
        Failure::new(FailureKind::Store, format!("{what} ({}) is not in the task store", artifact.id))
            .with_hint("it was pruned, or the store lost it")
    };
    let mut content = ports.objects.open(&artifact.id)?.ok_or_else(gone)?;
    Ok(io::copy(&mut content, to).and_then(|_| to.flush()))
}
