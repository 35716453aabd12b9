//! Making a Workspace whole, while the Sandbox around it comes up.

use super::carry_out::Standing;
use super::{Ports, Progress, TaskRequest, Tell, Uncommitted, choose, preflight_of, take_along};
use crate::failure::Failure;
use crate::use_case::disposal::Launched;
use isobox_domain::change::ChangeSetRef;
use isobox_domain::policy::WorkspaceKind;
use isobox_domain::record::TaskRecord;
use isobox_domain::timestamp::Timestamp;
use isobox_domain::timings::Phase;
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

/// A Workspace that is to be filled at its place.
pub(super) struct Filling<'a> {
    pub(super) ports: &'a Ports<'a>,
    pub(super) request: &'a TaskRequest<'a>,
    pub(super) tell: Tell<'a>,
    pub(super) place: &'a [u8],
    pub(super) wanted: &'a WorkspaceRequest<'a>,
}

impl Filling<'_> {
    /// Looks at the rules once more, then makes the Workspace whole, and tells of the Task as soon as nothing refuses it:
    /// whoever is told of one finds it.
    pub(super) fn fill(&self, attempt: &mut dyn Attempt, record: &TaskRecord) -> Result<Made, Unmade> {
        let Self { ports, request, tell, .. } = self;
        let looked = self.look_at_rules(record);
        ports.laps.end(Phase::Preflight);
        looked.map_err(Unmade::Refused)?;
        // Uncommitted changes can be such that they are refused.
        let is_decided = request.uncommitted == Uncommitted::LeftOut;
        if is_decided {
            tell(Progress::Started(record));
        }
        attempt.set_room_aside();
        let made = self.make(attempt);
        if !is_decided && !matches!(made, Err(Unmade::Refused(_))) {
            tell(Progress::Started(record));
        }
        if let Ok(Made { snapshot: Some(snapshot), .. }) = &made {
            tell(Progress::TookAlong(record, snapshot.summary));
        }
        made
    }

    /// Makes the Workspace whole, and notes that a launch is tried now: when.
    fn make(&self, attempt: &mut dyn Attempt) -> Result<Made, Unmade> {
        let Self { ports, request, place, wanted, .. } = self;
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

    /// Tells of a Task that fails before there was anything to fill, unless the rules refuse it.
    pub(super) fn fail_empty(&self, record: &TaskRecord) -> Result<(), Failure> {
        self.look_at_rules(record)?;
        (self.tell)(Progress::Started(record));
        Ok(())
    }

    /// Whether the Preflight Rules hold.
    pub(super) fn look_at_rules(&self, record: &TaskRecord) -> Result<(), Failure> {
        let Self { ports, request, .. } = self;
        choose::look_at_rules(ports, request, &record.source)
            .map_err(|failure| failure.while_doing(preflight_of(request.kind)))
    }
}

/// What a Workspace that was laid out is made of.
pub(super) const fn kind_of(mount: &WorkspaceMount) -> WorkspaceKind {
    match mount {
        WorkspaceMount::Directory { .. } => WorkspaceKind::Copy,
        WorkspaceMount::Overlay(_) => WorkspaceKind::Overlay,
    }
}
