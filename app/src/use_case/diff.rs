//! Walks the lines of a record's Change Set.

use crate::failure::{Failure, FailureKind};
use isobox_domain::change::ChangeLine;
use isobox_domain::promotion::Selection;
use isobox_domain::record::TaskRecord;
use isobox_domain::repo_path::RepoPath;
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

/// Whether a line is about what was chosen. Of what was not captured a line may stand for all below it, and what cannot be
/// compared is told rather than dropped.
pub(crate) fn is_at(selection: &Selection, line: &ChangeLine) -> bool {
    let left_out = match line {
        ChangeLine::Change(change) => return selection.admits(&change.path),
        ChangeLine::NotCaptured(left_out) => left_out.workspace_path.as_slice(),
    };
    let path = RepoPath::parse(left_out.strip_suffix(b"/").unwrap_or(left_out));
    path.map_or(true, |path| selection.admits(&path) || selection.only.iter().any(|chosen| chosen.is_below(&path)))
}

/// A Change Set that could not be read to its end.
pub(super) fn unreadable(record: &TaskRecord, cause: isobox_ports::Cause) -> Failure {
    Failure::new(FailureKind::Store, format!("read the change set of {}", record.task)).because(cause)
}
