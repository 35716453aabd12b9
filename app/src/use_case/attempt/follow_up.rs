//! An attempt that follows an earlier one of the same Task.

use super::{Ports, TaskRequest};
use crate::failure::{Failure, FailureKind};
use isobox_domain::content::ContentId;
use isobox_domain::escape::Escaped;
use isobox_domain::source::WorkspaceSource;
use isobox_domain::task_id::TaskId;

/// What an attempt follows.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct FollowUp {
    /// The Task.
    pub(crate) task: TaskId,
    /// Which attempt of it this is.
    pub(crate) attempt: u32,
    /// The record of the earlier attempt.
    pub(crate) parent: ContentId,
    /// What the earlier attempt started from.
    pub(crate) source: WorkspaceSource,
    /// What this one starts from.
    pub(crate) start: Start,
}

/// Which commit an attempt starts from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Start {
    /// The one that the earlier attempt started from.
    SameCommit,
    /// The one that HEAD names.
    Head,
}

/// What an attempt starts from.
pub(super) fn source(ports: &Ports<'_>, request: &TaskRequest<'_>) -> Result<WorkspaceSource, Failure> {
    let head = ports.repository.source()?;
    match (&request.follows, &request.verifies) {
        (None, None) => Ok(head),
        // What is verified was made from what the repository held then, wherever HEAD is by now.
        (None, Some(verified)) => Ok(verified.source.clone()),
        (Some(earlier), _) => follow(head, earlier),
    }
}

fn follow(head: WorkspaceSource, earlier: &FollowUp) -> Result<WorkspaceSource, Failure> {
    let is_same = match (earlier.source.root_commit, head.root_commit) {
        (Some(expected), Some(found)) => expected == found,
        _ => earlier.source.host_path == head.host_path,
    };
    if !is_same {
        let (found, expected) = (Escaped(&head.host_path), Escaped(&earlier.source.host_path));
        let message = format!("{found} is not the repository that the task started from, {expected}");
        return Err(Failure::new(FailureKind::General, message).with_hint("name the repository with --source"));
    }
    let earlier_source = earlier.source.clone();
    Ok(match earlier.start {
        Start::SameCommit => WorkspaceSource { host_path: head.host_path, ..earlier_source },
        Start::Head => WorkspaceSource { working_directory: earlier_source.working_directory, ..head },
    })
}
