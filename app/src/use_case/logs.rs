//! Copies the captured output of a record.

mod in_order;
mod live_times;
mod stored_runs;

pub(crate) use in_order::{Order, Piece, Replay};
pub(crate) use live_times::LiveTimes;

use crate::failure::{Failure, FailureKind};
use isobox_domain::content::ContentRef;
use isobox_ports::{Content, ObjectStore};
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
    let mut content = open(ports, what, artifact)?;
    Ok(io::copy(&mut content, to).and_then(|_| to.flush()))
}

fn open(ports: &Ports<'_>, what: &str, artifact: ContentRef) -> Result<Content, Failure> {
    let gone = || {
        Failure::new(FailureKind::Store, format!("{what} ({}) is not in the task store", artifact.id))
            .with_hint("it was pruned, or the store lost it")
    };
    ports.objects.open(&artifact.id)?.ok_or_else(gone)
}
