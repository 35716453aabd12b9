//! Finds one file as a Task left it.

use crate::failure::{Failure, FailureKind};
use crate::use_case::diff;
use isobox_domain::change::ChangeLine;
use isobox_domain::content::ContentRef;
use isobox_domain::record::TaskRecord;
use isobox_domain::repo_path::RepoPath;
use isobox_ports::ObjectStore;
use std::ops::ControlFlow;

/// What it touches.
#[derive(Clone, Copy)]
pub(crate) struct Ports<'a> {
    pub(crate) objects: &'a dyn ObjectStore,
}

/// The content that the Task left at `path`: of a link, its target. A path that the Task did not change is a failure
/// that says where its content is.
pub(crate) fn cat(ports: &Ports<'_>, record: &TaskRecord, path: &RepoPath) -> Result<ContentRef, Failure> {
    match find(ports, record, path)? {
        Found::Content(content) => Ok(content),
        Found::Deleted => Err(Failure::new(FailureKind::General, format!("{} deleted {path}", record.task))
            .with_hint(format!("`git show {}:{path}` shows what it deleted", record.source.commit))),
        Found::Unchanged => Err(Failure::new(FailureKind::General, format!("{} did not change {path}", record.task))
            .with_hint(format!(
                "paths are from the root of the repository; `git show {}:{path}` shows the file, if there is one",
                record.source.commit
            ))),
    }
}

enum Found {
    Content(ContentRef),
    Deleted,
    Unchanged,
}

fn find(ports: &Ports<'_>, record: &TaskRecord, path: &RepoPath) -> Result<Found, Failure> {
    let Some(change_set) = record.artifacts.change_set else { return Ok(Found::Unchanged) };
    for line in ports.objects.changes(&change_set)? {
        let line = line.map_err(|cause| diff::unreadable(record, cause))?;
        if let ControlFlow::Break(found) = compare(line, path) {
            return Ok(found);
        }
    }
    Ok(Found::Unchanged)
}

// Lines come in the order of their paths, so the search ends behind the place where the path would be.
fn compare(line: ChangeLine, path: &RepoPath) -> ControlFlow<Found> {
    match line {
        ChangeLine::Change(change) if change.path == *path => {
            ControlFlow::Break(change.after.map_or(Found::Deleted, |after| Found::Content(after.content)))
        }
        ChangeLine::Change(change) if change.path > *path => ControlFlow::Break(Found::Unchanged),
        _ => ControlFlow::Continue(()),
    }
}
