//! The record as it would be published if isobox were killed right after the attempt began.

use super::{Ports, Retention, TaskRequest};
use isobox_domain::content::ContentId;
use isobox_domain::outcome::{Outcome, ResourceUsage};
use isobox_domain::policy::EffectivePolicy;
use isobox_domain::record::{OutputLoss, TaskArtifacts, TaskRecord, WorkspaceFate};
use isobox_domain::source::WorkspaceSource;

/// What an attempt that nobody ended is recorded with.
pub(crate) const KILLED: &str = "isobox ended before the attempt did; a later start recorded what was left";

pub(super) fn draft(
    ports: &Ports<'_>,
    request: &TaskRequest<'_>,
    source: WorkspaceSource,
    policy: EffectivePolicy,
) -> TaskRecord {
    let (now, follows) = (ports.clock.now(), request.follows.as_ref());
    TaskRecord {
        task: follows.map_or_else(|| ports.task_ids.task_id(), |earlier| earlier.task),
        attempt: follows.map_or(1, |earlier| earlier.attempt),
        kind: request.kind,
        created_at: now,
        started_at: None,
        ended_at: now,
        command: request.recorded_command.clone(),
        source,
        policy,
        outcome: Outcome::Interruption,
        outcome_detail: Some(KILLED.to_owned()),
        exit: None,
        usage: ResourceUsage::default(),
        stdin: None,
        terminal: None,
        artifacts: TaskArtifacts::default(),
        output_loss: OutputLoss::None,
        workspace: fate(request.retention),
        warnings: Vec::new(),
        tools: vec![("isobox".to_owned(), env!("CARGO_PKG_VERSION").to_owned())],
        salt: ports.task_ids.salt(),
        parents: parent(request).into_iter().collect(),
        probes: Vec::new(),
        exceeded: Vec::new(),
        extensions: Vec::new(),
    }
}

/// The record that this one follows from: of an earlier attempt, or the one that is verified.
fn parent(request: &TaskRequest<'_>) -> Option<ContentId> {
    let follows = request.follows.as_ref().map(|earlier| earlier.parent);
    follows.or_else(|| request.verifies.as_ref().map(|verified| verified.record))
}

// Where a retained Workspace lies is known only when it is retained.
fn fate(retention: Retention) -> WorkspaceFate {
    match retention {
        Retention::Dispose => WorkspaceFate::Disposed,
        Retention::Retain => WorkspaceFate::NeverCreated,
    }
}
