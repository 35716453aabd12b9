//! From the start of a workload to what it left: its streams, its end, and the capture of its Workspace.

use super::Ports;
use super::carry_out::{Performed, Standing};
use super::copies;
use super::streams::{Caller, Delivery, Tee};
use super::timeline::Timeline;
use crate::exit_code::ExitCode;
use crate::failure::{Failure, FailureKind, one_line};
use isobox_domain::limit::{ExceededLimit, Limit, LimitEffect, decide};
use isobox_domain::outcome::{Exit, Outcome};
use isobox_domain::policy::ViewLimit;
use isobox_domain::record::TaskRecord;
use isobox_domain::timings::Phase;
use isobox_ports::{Attempt, EndCause, Ending, Sandbox, Workspace, WorkspaceMount, Workspaces};

/// Supervises the workload in `sandbox`, then captures what it left, and writes both into the record.
pub(super) fn supervise(
    ports: &Ports<'_>,
    mut sandbox: Box<dyn Sandbox>,
    caller: Caller,
    attempt: &mut dyn Attempt,
    record: &mut TaskRecord,
    workspace: &Workspace,
    views: ViewLimit,
) -> Performed {
    let asked = record.policy.asked.limits;
    if !asked.is_empty() {
        record.policy = record.policy.clone().with_limits(asked.in_force(sandbox.limits()));
    }
    let timeline = Timeline::start(attempt, ports.clock.now(), ports.stopwatch);
    let mut tee = Tee::new(caller, attempt, asked.of(Limit::Output), timeline);
    let ended = std::thread::scope(|scope| {
        // While there is nothing else to do: it is what publishing would have to wait for.
        let made = std::thread::Builder::new().spawn_scoped(scope, || ports.views.make_room(views));
        // What goes wrong with it is said when the View is written.
        drop(made);
        sandbox.supervise(&mut tee)
    });
    record.ended_at = ports.clock.now();
    ports.laps.end(Phase::Workload);
    let (delivery, cut) = tee.finish(record);
    let code = match ended {
        Ok(ending) => end(record, ending, cut),
        Err(error) => {
            record.outcome = Outcome::ResultCaptureFailure;
            record.outcome_detail = Some(one_line(&error));
            ExitCode::ISOBOX_FAILED
        }
    };
    let (code, remarks) = delivered(code, delivery);
    let mount = sandbox.workspace();
    let captured = capture(ports.workspaces, attempt, record, &workspace.state, &mount);
    let copied = copies::capture(ports.copies, attempt, record);
    ports.laps.end(Phase::Capture);
    let kept = workspace.mount.clone();
    let (code, workspace) = match captured {
        Ok(()) => (code, Standing::Captured(kept)),
        Err(failure) => {
            uncaptured(record, &failure);
            (ExitCode::ISOBOX_FAILED, Standing::Needed(kept))
        }
    };
    let code = match copied {
        Ok(()) => code,
        Err(failure) => {
            uncaptured(record, &failure);
            ExitCode::ISOBOX_FAILED
        }
    };
    Performed { code, workspace, remarks, sandbox: Some(sandbox) }
}

/// Writes down how the workload ended; the exit code to pass on.
fn end(record: &mut TaskRecord, ending: Ending, cut: Option<ExceededLimit>) -> ExitCode {
    record.usage = ending.usage;
    record.exceeded = ending.exceeded.into_iter().chain(cut).collect();
    let is_own_end = !matches!(ending.cause, EndCause::Interrupted { .. })
        && !record.exceeded.iter().any(|exceeded| exceeded.effect == LimitEffect::Ended);
    if let (Some(killed @ 1..), true) = (ending.killed_processes, is_own_end) {
        let processes = if killed == 1 { "process was" } else { "processes were" };
        record.warnings.push(format!("{killed} {processes} still there when the command had ended, and killed"));
    }
    // What decides the outcome is told with it, and the rest here.
    let decides = matches!(ending.cause, EndCause::Exited(exit) if decide(&record.exceeded, Some(exit)));
    record.warnings.extend(record.exceeded.iter().skip(usize::from(decides)).map(ToString::to_string));
    record.outcome_detail = None;
    match ending.cause {
        EndCause::Exited(exit) if decides => {
            record.outcome = Outcome::LimitExceeded;
            record.outcome_detail = record.exceeded.first().map(ToString::to_string);
            record.exit = Some(exit);
            ExitCode::of_limit(record.exceeded.first(), exit)
        }
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
