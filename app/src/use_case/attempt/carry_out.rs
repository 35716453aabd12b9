//! The attempt itself: Workspace, Sandbox, workload, capture. Whatever fails here becomes part of the record.

use super::streams::{Caller, Delivery, Tee};
use super::{Ports, Progress, TaskRequest, Tell, Uncommitted, choose, preflight_of, take_along};
use crate::exit_code::ExitCode;
use crate::failure::{Failure, FailureKind, one_line};
use crate::use_case::disposal::{self, Launched};
use isobox_domain::change::ChangeSetRef;
use isobox_domain::outcome::{Exit, Outcome};
use isobox_domain::policy::WorkspaceKind;
use isobox_domain::record::{TaskRecord, WorkspaceFate};
use isobox_domain::timestamp::Timestamp;
use isobox_domain::timings::Phase;
use isobox_ports::{
    Attempt, EndCause, Ending, Filled, LaunchError, LaunchRequest, RuntimeBackend, Sandbox, Workspace, WorkspaceMount,
    WorkspaceRequest, Workspaces,
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
        choose::look_at_rules(ports, request, &record.source)
            .map_err(|failure| failure.while_doing(preflight_of(request.kind)))?;
    }
    let mount = match ports.workspaces.lay_out(place, &wanted) {
        Ok(mount) => mount,
        Err(error) => return Ok(unprepared(ports, record, &error, Standing::Incomplete)),
    };
    record.policy = record.policy.clone().with_workspace(kind_of(&mount));
    ports.laps.end(Phase::LayOut);
    let mut made = Err(Unmade::failed("the runtime backend left the workspace empty", Standing::Incomplete));
    let launched = launch(request, backend, record, &mount, &mut || {
        // While the Sandbox comes up, which takes longer than all this.
        ports.laps.end(Phase::Launch);
        let looked = look_at_rules(ports, request, record);
        ports.laps.end(Phase::Preflight);
        made = looked.and_then(|()| {
            tell(Progress::Started(record));
            attempt.set_room_aside();
            make(ports, request, attempt, place, &wanted)
        });
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

const fn kind_of(mount: &WorkspaceMount) -> WorkspaceKind {
    match mount {
        WorkspaceMount::Directory { .. } => WorkspaceKind::Copy,
        WorkspaceMount::Overlay(_) => WorkspaceKind::Overlay,
    }
}

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

fn look_at_rules(ports: &Ports<'_>, request: &TaskRequest, record: &TaskRecord) -> Result<(), Unmade> {
    choose::look_at_rules(ports, request, &record.source)
        .map_err(|failure| Unmade::Refused(failure.while_doing(preflight_of(request.kind))))
}

/// A whole Workspace.
struct Made {
    workspace: Workspace,
    /// When a launch was tried.
    started_at: Timestamp,
    snapshot: Option<ChangeSetRef>,
}

/// Makes the Workspace whole, and notes that a launch is tried now: when.
fn make(
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

fn supervise(
    ports: &Ports<'_>,
    mut sandbox: Box<dyn Sandbox>,
    caller: Caller,
    attempt: &mut dyn Attempt,
    record: &mut TaskRecord,
    workspace: &Workspace,
) -> Performed {
    let mut tee = Tee::new(caller, attempt);
    let ended = sandbox.supervise(&mut tee);
    record.ended_at = ports.clock.now();
    ports.laps.end(Phase::Workload);
    let delivery = tee.finish(record);
    let code = match ended {
        Ok(ending) => end(record, ending),
        Err(error) => {
            record.outcome = Outcome::ResultCaptureFailure;
            record.outcome_detail = Some(one_line(&error));
            ExitCode::ISOBOX_FAILED
        }
    };
    let (code, remarks) = delivered(code, delivery);
    let mount = sandbox.workspace();
    let captured = capture(ports.workspaces, attempt, record, &workspace.state, &mount);
    ports.laps.end(Phase::Capture);
    let kept = workspace.mount.clone();
    let (code, workspace) = match captured {
        Ok(()) => (code, Standing::Captured(kept)),
        Err(failure) => {
            uncaptured(record, &failure);
            (ExitCode::ISOBOX_FAILED, Standing::Needed(kept))
        }
    };
    Performed { code, workspace, remarks, sandbox: Some(sandbox) }
}

/// Writes down how the workload ended; the exit code to pass on.
fn end(record: &mut TaskRecord, ending: Ending) -> ExitCode {
    record.usage = ending.usage;
    let is_own_end = !matches!(ending.cause, EndCause::Interrupted { .. });
    if let (Some(killed @ 1..), true) = (ending.killed_processes, is_own_end) {
        let processes = if killed == 1 { "process was" } else { "processes were" };
        record.warnings.push(format!("{killed} {processes} still there when the command had ended, and killed"));
    }
    record.outcome_detail = None;
    match ending.cause {
        EndCause::Exited(exit) => {
            let is_success = exit == Exit::Code(0);
            record.outcome = if is_success { Outcome::Success } else { Outcome::WorkloadCommandExit };
            record.exit = Some(exit);
            ExitCode::of_workload(exit)
        }
        EndCause::NotExecutable(why) => unlaunched(record, why, ExitCode::NOT_EXECUTABLE),
        EndCause::NotFound(why) => unlaunched(record, why, ExitCode::COMMAND_NOT_FOUND),
        EndCause::Interrupted { signal } => {
            record.outcome = Outcome::Interruption;
            record.outcome_detail = Some(format!("isobox received signal {signal} and ended the workload"));
            ExitCode::of_signal(signal)
        }
    }
}

fn unlaunched(record: &mut TaskRecord, why: String, code: ExitCode) -> ExitCode {
    record.outcome = Outcome::LaunchFailure;
    record.outcome_detail = Some(why);
    code
}

/// A workload that succeeded while its output did not reach the caller did not succeed for the caller.
fn delivered(code: ExitCode, delivery: Delivery) -> (ExitCode, Vec<String>) {
    match delivery {
        Delivery::Whole => (code, Vec::new()),
        Delivery::Lost(why) => {
            let code = if code == ExitCode::SUCCESS { ExitCode::ISOBOX_FAILED } else { code };
            (code, vec![format!("not all output could be passed on: {why}; the task record has it")])
        }
    }
}

/// Captures what the workload left into `record`.
pub(crate) fn capture(
    workspaces: &dyn Workspaces,
    attempt: &dyn Attempt,
    record: &mut TaskRecord,
    state: &[u8],
    mount: &WorkspaceMount,
) -> Result<(), Failure> {
    let mut sink = attempt.capture_sink()?;
    workspaces.capture(state, mount, &mut *sink)?;
    let captured = sink.finish()?;
    record.artifacts.change_set = captured.change_set;
    record.artifacts.patch = captured.patch;
    record.artifacts.workspace_git = captured.workspace_git;
    Ok(())
}

fn uncaptured(record: &mut TaskRecord, failure: &Failure) {
    let failure = Failure::new(FailureKind::General, "capture what the workload left").because(one_line(failure));
    if record.outcome == Outcome::Interruption {
        record.warnings.push(one_line(&failure));
    } else {
        record.outcome = Outcome::ResultCaptureFailure;
        record.outcome_detail = Some(one_line(&failure));
    }
}
