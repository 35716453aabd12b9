//! Starting a Workload Command in a Sandbox, and seeing it end.

use crate::{CallerTerminal, Cause, Content, Exposed, OverlayKind, TerminalRequest, WorkspaceMount};
use isobox_domain::command::WorkloadCommand;
use isobox_domain::limit::{ExceededLimit, LimitReport, Limits};
use isobox_domain::outcome::{Exit, ResourceUsage};
use isobox_domain::policy::{BackendName, Capabilities, EffectivePolicy};
use isobox_domain::repo_path::RepoPath;
use std::path::Path;

/// Everything a backend needs to start a workload.
#[derive(Clone, Copy, Debug)]
pub struct LaunchRequest<'a> {
    /// What to execute, untouched.
    pub command: &'a WorkloadCommand,
    /// What must hold.
    pub policy: &'a EffectivePolicy,
    /// How the Workspace is to be mounted.
    pub mount: &'a WorkspaceMount,
    /// Where in the Workspace the command starts; `None` at its root.
    pub working_directory: Option<&'a RepoPath>,
    /// What the attempt is called, for what a backend has to name on the host: letters, digits and hyphens.
    pub name: &'a str,
    /// The caller's own PATH, for a policy that inherits it.
    pub caller_path: Option<&'a [u8]>,
    /// The terminal that the workload gets; `None` gives it none.
    pub terminal: Option<TerminalRequest>,
    /// What of the host was exposed by choice.
    pub exposed: &'a Exposed,
}

/// What came of filling a Workspace.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Filled {
    /// It is whole.
    Whole,
    /// It is not, and nothing is to be started in it.
    Not,
}

/// Whether a stream goes on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Flow {
    /// It does.
    Continue,
    /// Its reader is gone: the workload's end of it is to be closed, so that the workload notices as it would in a pipeline.
    Closed,
}

/// The streams of a workload, in isobox's own process.
pub trait Streams {
    /// What to pass to standard input; `None` gives the workload an empty one. Asked once.
    fn stdin(&mut self) -> Option<Content>;

    /// Receives standard output as it comes, in pieces of at most 64 KiB.
    fn stdout(&mut self, bytes: &[u8]) -> Flow;

    /// Receives standard error as it comes, in pieces of at most 64 KiB.
    fn stderr(&mut self, bytes: &[u8]) -> Flow;

    /// The caller's terminal, of a workload that was given one.
    fn terminal(&mut self) -> Option<&mut dyn CallerTerminal> {
        None
    }
}

/// Why a workload ended.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum EndCause {
    /// Its process ended by itself.
    Exited(Exit),
    /// The command was found but is not executable (exit code 126): why.
    NotExecutable(String),
    /// There is no such command in the Sandbox (exit code 127): why.
    NotFound(String),
    /// isobox received this signal and ended the workload.
    Interrupted {
        /// The number of the signal.
        signal: u8,
    },
}

/// How a workload ended.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Ending {
    /// Why.
    pub cause: EndCause,
    /// What it used.
    pub usage: ResourceUsage,
    /// Limits that it ran into, the one that ended it first. `cause` says how its process ended all the same.
    pub exceeded: Vec<ExceededLimit>,
    /// Processes that were still there when the command's own had ended, and were killed. `None` if nobody counted.
    pub killed_processes: Option<u64>,
}

/// Why a Sandbox did not come up. Nothing of the workload was executed.
#[derive(Debug, thiserror::Error)]
pub enum LaunchError {
    /// The backend's program or the kernel refused.
    #[error("start a sandbox with `{}`: {reason}", backend.name())]
    Refused {
        /// The backend.
        backend: BackendName,
        /// What was said, e.g. by `bwrap` before the workload started.
        reason: String,
    },
    /// The Workspace was not filled.
    #[error("the workspace was not filled")]
    NotFilled,
    /// Something else failed.
    #[error("{operation}")]
    Io {
        /// What was being done, to what.
        operation: String,
        /// What the system said.
        #[source]
        source: Cause,
    },
}

/// A failure while a workload was running; it was killed.
#[derive(Debug, thiserror::Error)]
#[error("{operation}")]
pub struct SupervisionError {
    /// What was being done.
    pub operation: &'static str,
    /// What the system said.
    #[source]
    pub source: Cause,
}

/// An isolation provider.
///
/// - `capabilities` names every control once, and claims one as enforced only if this backend enforces it itself; the
///   claim names the mechanism.
/// - The workload receives its arguments byte for byte, a cleared environment, no descriptor above 2 and no signal disposition of isobox.
/// - Output arrives byte for byte, in order per stream.
/// - A command that is not there ends as `NotFound`, one that may not be executed as `NotExecutable`.
/// - `supervise` returns promptly after the command's own process has ended, whoever still holds its streams, and then
///   no process of the workload is left.
/// - A workload that was given a terminal has one of its own, in the Sandbox and as the controlling terminal of its session:
///   keys arrive there as they are typed, and what it shows is its standard output. It has the size of the caller's at all
///   times. Without one, it has no controlling terminal.
/// - When isobox dies, the workload dies.
/// - A limit of the policy holds as its report says: a workload that exceeds one that is enforced is ended, or refused what
///   goes beyond, and `Ending::exceeded` names it wherever that can be known. Without limits, nothing is made for them.
pub trait RuntimeBackend: Send + Sync {
    /// Which backend this is.
    fn name(&self) -> BackendName;

    /// What it enforces on this machine, found by trying.
    fn capabilities(&self) -> Capabilities;

    /// What it would enforce of `asked`, found without making anything: a report for each limit but `output`, which is kept by
    /// whoever keeps the output, in their order.
    fn limits(&self, asked: &Limits) -> Vec<LimitReport>;

    /// What it enforces on this machine, and would of the limits that are `asked` for.
    fn capabilities_with(&self, asked: &Limits) -> Capabilities {
        let capabilities = self.capabilities();
        let is_asked = !asked.is_empty() && capabilities.unavailable.is_none();
        if is_asked { capabilities.with_limits(&asked.in_force(self.limits(asked))) } else { capabilities }
    }

    /// How it mounts overlays on this machine, found by trying; the error says why it does not. `at` is the directory below
    /// which they are written: one that is missing is made, private to the user, and nothing is left in it. Without, they
    /// are written in memory.
    fn overlay(&self, at: Option<&Path>) -> Result<OverlayKind, String>;

    /// Starts the command. Returns when the Sandbox is up.
    ///
    /// `fill` makes the Workspace whole. It is called at most once, while the Sandbox may be coming up around the root
    /// that is there already, and nothing of the workload is executed before it has returned, or if it returned
    /// [`Filled::Not`]. Without it, nothing was executed. Until then nothing looks into an overlay, so that its upper can be
    /// filled, unless that is in memory.
    fn launch(
        &self,
        request: &LaunchRequest<'_>,
        fill: &mut dyn FnMut() -> Filled,
    ) -> Result<Box<dyn Sandbox>, LaunchError>;
}

/// A running Sandbox. Dropping it kills the workload.
pub trait Sandbox {
    /// Passes the streams on until every process is dead. Called once.
    ///
    /// A signal INT, TERM or HUP to isobox ends the workload as `Interrupted`; of a workload with a terminal, QUIT as well.
    /// The caller's terminal is taken meanwhile, and given back for as long as isobox is stopped.
    fn supervise(&mut self, streams: &mut dyn Streams) -> Result<Ending, SupervisionError>;

    /// What is in force of the limits in the policy, read back where that is possible; as [`RuntimeBackend::limits`].
    fn limits(&self) -> Vec<LimitReport>;

    /// Where the Workspace can be read from now on, as the workload left it; stays valid while `self` lives. The upper of an
    /// overlay is at its place, which for one in memory is another than before, for this process alone.
    fn workspace(&self) -> WorkspaceMount;
}
