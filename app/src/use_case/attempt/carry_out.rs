//! The attempt itself: Workspace, Sandbox, workload, capture. Whatever fails here becomes part of the record.

use super::fill::{Filling, Made, Unmade, kind_of};
use super::streams::{Caller, Session};
use super::supervise::supervise;
use super::{Ports, TaskRequest, Tell, choose, copies};
use crate::exit_code::ExitCode;
use crate::failure::{Failure, one_line};
use crate::use_case::disposal;
use isobox_domain::outcome::Outcome;
use isobox_domain::record::{TaskRecord, WorkspaceFate};
use isobox_domain::timings::Phase;
use isobox_ports::{
    Attempt, Exposed, Filled, LaidOut, LaunchError, LaunchRequest, RuntimeBackend, Sandbox, TerminalRequest,
    WorkspaceMount, WorkspaceRequest, Workspaces,
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
    pub(super) request: &'a TaskRequest<'a>,
    /// Everything that its Sandbox shows of the host.
    pub(super) exposed: &'a Exposed,
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
    let Begun { ports, request, exposed, tell, attempt, record, place, wanted } = begun;
    let filling = Filling { ports, request, tell, place, wanted: &wanted };
    if !ports.workspaces.is_prepared(place) || copies::are_wanted(exposed, record) {
        // What takes its time is not made for a Task that is refused.
        filling.look_at_rules(record)?;
    }
    let mount = match ports.workspaces.lay_out(place, &wanted) {
        Ok(LaidOut { mount, why_copy }) => {
            choose::insist(request, why_copy.as_deref())?;
            mount
        }
        Err(error) => {
            filling.fail_empty(record)?;
            return Ok(unprepared(ports, record, &error, Standing::Incomplete));
        }
    };
    record.policy = record.policy.clone().with_workspace(kind_of(&mount));
    ports.laps.end(Phase::LayOut);
    let exposed = copies::make((ports, request, exposed), attempt, record)?;
    let mut filled = None;
    let terminal = caller.terminal.as_ref().map(Session::wanted);
    let launched = launch((request, &exposed), backend, (record, terminal), &mount, &mut || {
        // While the Sandbox comes up, which takes longer than all this.
        ports.laps.end(Phase::Launch);
        let made = filling.fill(attempt, record);
        ports.laps.end(Phase::Workspace);
        let is_made = made.is_ok();
        filled = Some(made);
        if is_made { Filled::Whole } else { Filled::Not }
    });
    ports.laps.end(Phase::Launch);
    let Made { workspace, started_at, snapshot } = match (filled, &launched) {
        (Some(Ok(made)), _) => made,
        (Some(Err(Unmade::Refused(failure))), _) => return Err(failure),
        (Some(Err(Unmade::Failed { why, standing })), Ok(_) | Err(LaunchError::NotFilled)) => {
            return Ok(unprepared(ports, record, &*why, standing));
        }
        (Some(Err(_)), Err(error)) => return Ok(unprepared(ports, record, error, Standing::Incomplete)),
        (None, launched) => {
            filling.fail_empty(record)?;
            let left = LaunchError::NotFilled;
            let why = launched.as_ref().err().unwrap_or(&left);
            return Ok(unprepared(ports, record, why, Standing::Incomplete));
        }
    };
    // Of a directory it is known only now how its files were made.
    record.policy.workspace = Some(workspace.kind);
    record.artifacts.source_snapshot = snapshot;
    record.warnings.extend(workspace.notices.iter().cloned());
    Ok(match launched {
        Err(error) => unprepared(ports, record, &error, Standing::Captured(workspace.mount)),
        Ok(sandbox) => {
            record.started_at = Some(started_at);
            record.terminal = terminal.map(|terminal| terminal.size);
            supervise(ports, sandbox, caller, attempt, record, &workspace, request.policy.views)
        }
    })
}

fn launch(
    (request, exposed): (&TaskRequest<'_>, &Exposed),
    backend: &dyn RuntimeBackend,
    (record, terminal): (&TaskRecord, Option<TerminalRequest>),
    mount: &WorkspaceMount,
    fill: &mut dyn FnMut() -> Filled,
) -> Result<Box<dyn Sandbox>, LaunchError> {
    let name = format!("{}-{}", record.task, record.attempt);
    let request = LaunchRequest {
        name: &name,
        command: &request.command,
        policy: &record.policy,
        mount,
        working_directory: record.source.working_directory.as_ref(),
        caller_path: request.caller_path.as_deref(),
        terminal,
        exposed,
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
