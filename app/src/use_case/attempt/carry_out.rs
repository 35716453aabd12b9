//! The attempt itself: Workspace, Sandbox, workload, capture. Whatever fails here becomes part of the record.

use super::fill::{Made, Unmade, insist, kind_of, make};
use super::streams::Caller;
use super::supervise::supervise;
use super::{Ports, Progress, TaskRequest, Tell, choose, preflight_of};
use crate::exit_code::ExitCode;
use crate::failure::{Failure, one_line};
use crate::use_case::disposal;
use isobox_domain::outcome::Outcome;
use isobox_domain::record::{TaskRecord, WorkspaceFate};
use isobox_domain::timings::Phase;
use isobox_ports::{
    Attempt, Filled, LaunchError, LaunchRequest, RuntimeBackend, Sandbox, WorkspaceMount, WorkspaceRequest, Workspaces,
};
use std::error::Error;

/// How an attempt went, beside what its record says.
pub(super) struct Performed {
    /// The exit code to pass on.
    pub(super) code: ExitCode,
    /// Whether there is a Workspace to keep or remove.
    pub(super) workspace: Standing,
    /// Things to tell the caller that do not belong into the record.
    pub(super) remarks: Vec<String>,
    /// What is left of the Sandbox. Dropping it waits for its last processes.
    pub(super) sandbox: Option<Box<dyn Sandbox>>,
}

/// What stands of a Workspace once the workload is over.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Standing {
    /// None, or half of one.
    Incomplete,
    /// A whole one, and everything in it that matters is captured.
    Captured(WorkspaceMount),
    /// A whole one, which alone holds what the workload did.
    Needed(WorkspaceMount),
}

/// Chooses a place for the Workspace and notes it, so that a later start can remove what is there.
pub(super) fn reserve(
    workspaces: &dyn Workspaces,
    attempt: &mut dyn Attempt,
    wanted: &WorkspaceRequest<'_>,
) -> Result<Vec<u8>, Failure> {
    let place = workspaces.reserve(wanted)?;
    attempt.note(disposal::PLACE, &place)?;
    Ok(place)
}

/// An attempt that is on disk, and nothing more yet.
pub(super) struct Begun<'a> {
    pub(super) ports: &'a Ports<'a>,
    pub(super) request: &'a TaskRequest,
    pub(super) tell: Tell<'a>,
    pub(super) attempt: &'a mut dyn Attempt,
    pub(super) record: &'a mut TaskRecord,
    /// Where the Workspace goes.
    pub(super) place: &'a [u8],
    /// What it is to be.
    pub(super) wanted: WorkspaceRequest<'a>,
}

/// Carries the attempt out and completes its record, all but what becomes of the Workspace.
///
/// An error is a Preflight Rule that refuses: nothing was executed, and an empty place may stand.
pub(super) fn carry_out(begun: Begun<'_>, backend: &dyn RuntimeBackend, caller: Caller) -> Result<Performed, Failure> {
    let Begun { ports, request, tell, attempt, record, place, wanted } = begun;
    if !ports.workspaces.is_prepared(place) {
        // What takes its time is not made for a Task that is refused.
        look_at_rules(ports, request, record)?;
    }
    let mount = match ports.workspaces.lay_out(place, &wanted) {
        Ok(mount) => mount,
        Err(error) => return Ok(unprepared(ports, record, &error, Standing::Incomplete)),
    };
    if let Err(error) = insist(ports, request, place, &wanted, &mount) {
        return Ok(unprepared(ports, record, &*error, Standing::Incomplete));
    }
    record.policy = record.policy.clone().with_workspace(kind_of(&mount));
    ports.laps.end(Phase::LayOut);
    let mut made = Err(Unmade::failed("the runtime backend left the workspace empty", Standing::Incomplete));
    let launched = launch(request, backend, record, &mount, &mut || {
        // While the Sandbox comes up, which takes longer than all this.
        ports.laps.end(Phase::Launch);
        let looked = look_at_rules(ports, request, record);
        ports.laps.end(Phase::Preflight);
        made = looked.map_err(Unmade::Refused).and_then(|()| {
            attempt.set_room_aside();
            make(ports, request, attempt, place, &wanted)
        });
        // Whoever is told of a Task finds it: one that is refused is taken back.
        if !matches!(made, Err(Unmade::Refused(_))) {
            tell(Progress::Started(record));
        }
        ports.laps.end(Phase::Workspace);
        if let Ok(Made { snapshot: Some(snapshot), .. }) = &made {
            tell(Progress::TookAlong(record, snapshot.summary));
        }
        if made.is_ok() { Filled::Whole } else { Filled::Not }
    });
    ports.laps.end(Phase::Launch);
    let Made { workspace, started_at, snapshot } = match (made, &launched) {
        (Ok(made), _) => made,
        (Err(Unmade::Refused(failure)), _) => return Err(failure),
        (Err(Unmade::Failed { why, standing }), Ok(_) | Err(LaunchError::NotFilled)) => {
            return Ok(unprepared(ports, record, &*why, standing));
        }
        (Err(_), Err(error)) => return Ok(unprepared(ports, record, error, Standing::Incomplete)),
    };
    record.artifacts.source_snapshot = snapshot;
    record.warnings.extend(workspace.notices.iter().cloned());
    Ok(match launched {
        Err(error) => unprepared(ports, record, &error, Standing::Captured(workspace.mount)),
        Ok(sandbox) => {
            record.started_at = Some(started_at);
            supervise(ports, sandbox, caller, attempt, record, &workspace)
        }
    })
}

fn look_at_rules(ports: &Ports<'_>, request: &TaskRequest, record: &TaskRecord) -> Result<(), Failure> {
    choose::look_at_rules(ports, request, &record.source)
        .map_err(|failure| failure.while_doing(preflight_of(request.kind)))
}

fn launch(
    request: &TaskRequest,
    backend: &dyn RuntimeBackend,
    record: &TaskRecord,
    mount: &WorkspaceMount,
    fill: &mut dyn FnMut() -> Filled,
) -> Result<Box<dyn Sandbox>, LaunchError> {
    let request = LaunchRequest {
        command: &request.command,
        policy: &record.policy,
        mount,
        working_directory: record.source.working_directory.as_ref(),
        caller_path: request.caller_path.as_deref(),
    };
    backend.launch(&request, fill)
}

fn unprepared(
    ports: &Ports<'_>,
    record: &mut TaskRecord,
    error: &(dyn Error + 'static),
    workspace: Standing,
) -> Performed {
    record.outcome = Outcome::PreparationFailure;
    record.outcome_detail = Some(one_line(error));
    record.ended_at = ports.clock.now();
    if workspace == Standing::Incomplete {
        record.workspace = WorkspaceFate::NeverCreated;
    }
    Performed { code: ExitCode::ISOBOX_FAILED, workspace, remarks: Vec::new(), sandbox: None }
}
