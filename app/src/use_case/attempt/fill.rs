//! Making a Workspace whole, while the Sandbox around it comes up.

use super::carry_out::Standing;
use super::{Ports, TaskRequest, Uncommitted, take_along};
use crate::failure::Failure;
use crate::use_case::disposal::Launched;
use isobox_domain::change::ChangeSetRef;
use isobox_domain::policy::{WorkspaceChoice, WorkspaceKind};
use isobox_domain::timestamp::Timestamp;
use isobox_ports::{Attempt, Workspace, WorkspaceMount, WorkspaceRequest};
use std::error::Error;

/// Why there is no Workspace to start anything in.
pub(super) enum Unmade {
    /// A Preflight Rule refuses.
    Refused(Failure),
    /// It could not be made, and this much of it stands.
    Failed { why: Box<dyn Error>, standing: Standing },
}

impl Unmade {
    pub(super) fn failed(why: impl Into<Box<dyn Error>>, standing: Standing) -> Self {
        Self::Failed { why: why.into(), standing }
    }
}

/// A whole Workspace.
pub(super) struct Made {
    pub(super) workspace: Workspace,
    /// When a launch was tried.
    pub(super) started_at: Timestamp,
    pub(super) snapshot: Option<ChangeSetRef>,
}

/// Makes the Workspace whole, and notes that a launch is tried now: when.
pub(super) fn make(
    ports: &Ports<'_>,
    request: &TaskRequest,
    attempt: &mut dyn Attempt,
    place: &[u8],
    wanted: &WorkspaceRequest<'_>,
) -> Result<Made, Unmade> {
    let workspace = ports.workspaces.create(place, wanted);
    let workspace = workspace.map_err(|error| Unmade::failed(error, Standing::Incomplete))?;
    let snapshot = match request.uncommitted {
        Uncommitted::LeftOut => None,
        Uncommitted::TakenAlong => take_along::take_along(ports, request, attempt, place, wanted)?,
    };
    let started_at = ports.clock.now();
    let launched = Launched { started_at, mount: workspace.mount.clone() };
    let noted = launched.note(attempt);
    noted.map_err(|error| Unmade::failed(error, Standing::Captured(workspace.mount.clone())))?;
    Ok(Made { workspace, started_at, snapshot })
}

/// What a Workspace that was laid out is made of.
pub(super) const fn kind_of(mount: &WorkspaceMount) -> WorkspaceKind {
    match mount {
        WorkspaceMount::Directory { .. } => WorkspaceKind::Copy,
        WorkspaceMount::Overlay(_) => WorkspaceKind::Overlay,
    }
}

/// Refuses another kind of Workspace than the one that was named.
pub(super) fn insist(
    ports: &Ports<'_>,
    request: &TaskRequest,
    place: &[u8],
    wanted: &WorkspaceRequest<'_>,
    mount: &WorkspaceMount,
) -> Result<(), Box<dyn Error>> {
    match request.workspace {
        WorkspaceChoice::Named(named) if named != kind_of(mount) => {
            // Why it is another kind is told once it is made.
            let notices = ports.workspaces.create(place, wanted)?.notices.join("; ");
            Err(format!("an {} was asked for by name: {notices}", named.name()).into())
        }
        WorkspaceChoice::Named(_) | WorkspaceChoice::Auto => Ok(()),
    }
}
