//! The exit codes of isobox: the one table that the program, its help and its documentation share.

use isobox_domain::limit::ExceededLimit;
use isobox_domain::outcome::{Exit, Outcome};
use isobox_domain::record::TaskRecord;

/// An exit code of isobox.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct ExitCode(pub(crate) u8);

impl ExitCode {
    /// Success; for `run` and `tool`, the workload's own 0.
    pub(crate) const SUCCESS: Self = Self(0);
    /// The answer is no, or a general failure.
    pub(crate) const NO: Self = Self(1);
    /// The command line asks for something that cannot be.
    pub(crate) const USAGE: Self = Self(2);
    /// A policy is invalid.
    pub(crate) const POLICY: Self = Self(3);
    /// A Promotion was refused.
    pub(crate) const PROMOTION_REFUSED: Self = Self(4);
    /// A Task was not found, or its name is ambiguous.
    pub(crate) const TASK_NOT_FOUND: Self = Self(5);
    /// The Task Store is missing, locked, full or damaged.
    pub(crate) const STORE: Self = Self(6);
    /// `run`, `tool` and a verification: isobox itself refused or failed, whatever the reason.
    pub(crate) const ISOBOX_FAILED: Self = Self(125);
    /// `run` and `tool`: the command is not executable.
    pub(crate) const NOT_EXECUTABLE: Self = Self(126);
    /// `run` and `tool`: a time limit ended the workload.
    pub(crate) const TIME_LIMIT: Self = Self(124);
    /// `run` and `tool`: there is no such command.
    pub(crate) const COMMAND_NOT_FOUND: Self = Self(127);

    /// The code with which `run` and `tool` pass on how the workload ended.
    pub(crate) const fn of_workload(exit: Exit) -> Self {
        Self(exit.passed_on())
    }

    /// The code with which `wait` passes on how an attempt ended, as far as its record says.
    pub(crate) fn of_record(record: &TaskRecord) -> Self {
        match (record.outcome, record.exit) {
            (Outcome::PreparationFailure | Outcome::ResultCaptureFailure, _) => Self::ISOBOX_FAILED,
            (Outcome::LimitExceeded, Some(exit)) => Self::of_limit(record.exceeded.first(), exit),
            (Outcome::LimitExceeded, None) => Self::TIME_LIMIT,
            (_, Some(exit)) => Self::of_workload(exit),
            (Outcome::LaunchFailure, None) => Self::NOT_EXECUTABLE,
            (Outcome::Success | Outcome::WorkloadCommandExit, None) => Self::SUCCESS,
            (Outcome::Interruption, None) => Self::of_signal(15),
        }
    }

    /// The code for a workload that ended with `exit` because of a limit. One that a limit ended has not succeeded, whatever
    /// its own process made of the end of the others.
    pub(crate) fn of_limit(exceeded: Option<&ExceededLimit>, exit: Exit) -> Self {
        const SIGKILL: u8 = 9;
        match exceeded.map(|exceeded| exceeded.limit) {
            Some(limit) if limit.is_of_time() => Self::TIME_LIMIT,
            _ if exit == Exit::Code(0) => Self::of_signal(SIGKILL),
            _ => Self::of_workload(exit),
        }
    }

    /// The code for a workload that isobox ended because it received `signal` itself.
    pub(crate) const fn of_signal(signal: u8) -> Self {
        Self::of_workload(Exit::Signal(signal))
    }
}

/// What `isobox help exit-codes` prints: code and meaning.
pub(crate) const TABLE: [(&str, &str); 12] = [
    ("0", "success; for run and tool, the workload's own 0"),
    ("1", "the answer is no, or a general failure"),
    ("2", "usage: the command line asks for something that cannot be"),
    ("3", "a policy is invalid"),
    ("4", "promotion refused: HEAD moved, conflict, dirty target, nothing to promote, not confirmed"),
    ("5", "task not found or ambiguous"),
    ("6", "task store missing, locked, full or damaged"),
    ("124", "run, tool: the workload ran into a limit of time: time, idle_time or cpu_time"),
    (
        "125",
        "run, tool, promote --verify: isobox itself refused or failed before or around the workload, whatever the reason",
    ),
    ("126", "run, tool: the command is not executable; wait: it could not be started"),
    ("127", "run, tool: the command was not found"),
    (
        "128+n",
        "run, tool: the workload died of signal n, or isobox received it and ended the workload; 137, too, where a limit of memory ended one whose own code was 0",
    ),
];

/// Where in the table begins what only commands around a workload end with.
const WORKLOADS: usize = 7;

/// The rows of the table that a command can end with; of isobox itself, all.
pub(crate) fn of_command(command: Option<&str>) -> Vec<&'static (&'static str, &'static str)> {
    let (others, workloads) = TABLE.split_at(WORKLOADS);
    match command {
        Some("run" | "tool" | "rerun") => others[..1].iter().chain(workloads).collect(),
        Some("wait") | None => TABLE.iter().collect(),
        Some(_) => others.iter().collect(),
    }
}
