//! Walks the lines of a record's Change Set.

use crate::failure::{Failure, FailureKind};
use isobox_domain::change::ChangeLine;
use isobox_domain::record::TaskRecord;
use isobox_ports::ObjectStore;

/// What it touches.
#[derive(Clone, Copy)]
pub(crate) struct Ports<'a> {
    pub(crate) objects: &'a dyn ObjectStore,
}

/// Hands every line of the record's Change Set to `each`, in the order of their paths, until that fails.
pub(crate) fn each_line(
    ports: &Ports<'_>,
    record: &TaskRecord,
    each: &mut dyn FnMut(ChangeLine) -> Result<(), Failure>,
) -> Result<(), Failure> {
    let Some(change_set) = record.artifacts.change_set else { return Ok(()) };
    for line in ports.objects.changes(&change_set)? {
        each(line.map_err(|cause| unreadable(record, cause))?)?;
    }
    Ok(())
}

/// A Change Set that could not be read to its end.
pub(super) fn unreadable(record: &TaskRecord, cause: isobox_ports::Cause) -> Failure {
    Failure::new(FailureKind::Store, format!("read the change set of {}", record.task)).because(cause)
}
