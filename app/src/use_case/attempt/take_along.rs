//! Taking along what is not committed of the source: a Dirty Source Snapshot, kept apart from what the workload does.

use super::carry_out::Standing;
use super::fill::Unmade;
use super::{Ports, TaskRequest, preflight_of};
use crate::failure::Failure;
use isobox_domain::change::ChangeSetRef;
use isobox_domain::record::TaskRecord;
use isobox_ports::{Attempt, WorkspaceError, WorkspaceRequest, Workspaces};

/// Puts what is not committed of the source, or what is verified, into the Workspace, and into the attempt.
pub(super) fn take_along(
    ports: &Ports<'_>,
    request: &TaskRequest<'_>,
    attempt: &dyn Attempt,
    place: &[u8],
    wanted: &WorkspaceRequest<'_>,
) -> Result<Option<ChangeSetRef>, Unmade> {
    let refused = |error: WorkspaceError| match error {
        // The source is in no state that could be taken along: as good as a Preflight Rule.
        refused @ WorkspaceError::Refused { .. } => {
            Unmade::Refused(Failure::from(refused).while_doing(preflight_of(request.kind)))
        }
        error => Unmade::failed(error, Standing::Incomplete),
    };
    match &request.verifies {
        None => ports.workspaces.add_snapshot(place, wanted).map_err(refused)?,
        Some(verified) => {
            let put = |lines| Ok(ports.workspaces.put_snapshot(place, lines, verified.state.objects())?);
            let put: Result<(), Failure> = verified.state.lines().and_then(put);
            put.map_err(|failure| Unmade::failed(failure, Standing::Incomplete))?;
        }
    }
    staged_snapshot(ports.workspaces, attempt, place).map_err(|failure| Unmade::failed(failure, Standing::Incomplete))
}

fn staged_snapshot(
    workspaces: &dyn Workspaces,
    attempt: &dyn Attempt,
    state: &[u8],
) -> Result<Option<ChangeSetRef>, Failure> {
    let mut sink = attempt.snapshot_sink()?;
    workspaces.snapshot(state, &mut *sink)?;
    Ok(sink.finish()?.change_set)
}

/// Takes the snapshot of a Workspace that a dead owner left into `record`. Without it, what was captured would be taken for
/// changes of the commit.
pub(crate) fn take_in_snapshot(
    workspaces: &dyn Workspaces,
    attempt: &dyn Attempt,
    record: &mut TaskRecord,
    state: &[u8],
) -> Result<(), Failure> {
    record.artifacts.source_snapshot = staged_snapshot(workspaces, attempt, state)?;
    Ok(())
}
