//! A Runtime Backend that starts no process: a function of the test plays the workload.

use crate::{
    EndCause, Ending, Filled, Flow, LaunchError, LaunchRequest, OverlayKind, RuntimeBackend, Sandbox, Streams,
    SupervisionError, TerminalRequest, WorkspaceMount,
};
use isobox_domain::command::WorkloadCommand;
use isobox_domain::enforcement::{Control, ControlReport, Enforcement};
use isobox_domain::limit::{ExceededLimit, Limit, LimitReport, Limits};
use isobox_domain::outcome::{Exit, ResourceUsage};
use isobox_domain::policy::{BackendName, Capabilities, EffectivePolicy};
use isobox_domain::repo_path::RepoPath;
use std::io::Read;
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// Longest piece of output handed to [`Streams`] at once, in bytes.
const PIECE_BYTES: usize = 64 * 1024;

/// What a played workload was started with.
#[derive(Clone, Debug)]
pub struct Scene {
    /// What to play.
    pub command: WorkloadCommand,
    /// What holds.
    pub policy: EffectivePolicy,
    /// Root of the Workspace, which the play may change.
    pub host_path: PathBuf,
    /// Where in the Workspace it starts.
    pub working_directory: Option<RepoPath>,
    /// Everything that came on standard input.
    pub stdin: Vec<u8>,
    /// The terminal that it has.
    pub terminal: Option<TerminalRequest>,
}

/// One piece of output.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Line {
    /// On standard output.
    Stdout(Vec<u8>),
    /// On standard error.
    Stderr(Vec<u8>),
}

/// What a played workload did.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Performance {
    /// What it wrote, in order.
    pub lines: Vec<Line>,
    /// Why it ended.
    pub cause: EndCause,
    /// How many processes it left to be killed.
    pub left_processes: u64,
    /// Limits that it ran into.
    pub exceeded: Vec<ExceededLimit>,
}

impl Performance {
    /// Writes nothing and exits with `code`.
    pub const fn exiting(code: u8) -> Self {
        Self { lines: Vec::new(), cause: EndCause::Exited(Exit::Code(code)), left_processes: 0, exceeded: Vec::new() }
    }

    /// Writes `bytes` on standard output and exits with 0.
    pub fn printing(bytes: impl Into<Vec<u8>>) -> Self {
        Self { lines: vec![Line::Stdout(bytes.into())], ..Self::exiting(0) }
    }
}

type Play = dyn Fn(&Scene) -> Performance + Send + Sync;

/// A backend whose workloads are played by a function.
pub struct ScriptedBackend {
    capabilities: Capabilities,
    refusal: Option<String>,
    overlay: Option<OverlayKind>,
    play: Arc<Play>,
}

impl ScriptedBackend {
    /// A `bubblewrap` that claims to enforce everything but limits.
    pub fn new(play: impl Fn(&Scene) -> Performance + Send + Sync + 'static) -> Self {
        let controls = Control::ALL.into_iter().map(claim).collect();
        let capabilities = Capabilities::of(BackendName::Bubblewrap, controls);
        Self { capabilities, refusal: None, overlay: None, play: Arc::new(play) }
    }

    /// The same backend, refusing every launch for `reason`.
    pub fn refusing(self, reason: impl Into<String>) -> Self {
        Self { refusal: Some(reason.into()), ..self }
    }

    /// The same backend, saying that it mounts overlays of this kind. None can be played in.
    pub fn mounting(self, kind: OverlayKind) -> Self {
        Self { overlay: Some(kind), ..self }
    }
}

fn claim(control: Control) -> ControlReport {
    let enforcement = match control {
        Control::Limits => Enforcement::NotEnforced { reason: "the policy sets no limits".to_owned() },
        _ => Enforcement::Enforced { mechanism: "no process is started".to_owned() },
    };
    ControlReport { control, enforcement }
}

impl RuntimeBackend for ScriptedBackend {
    fn name(&self) -> BackendName {
        self.capabilities.backend
    }

    fn capabilities(&self) -> Capabilities {
        self.capabilities.clone()
    }

    fn limits(&self, asked: &Limits) -> Vec<LimitReport> {
        played(asked)
    }

    fn overlay(&self, _at: Option<&Path>) -> Result<OverlayKind, String> {
        self.overlay.ok_or_else(|| "a play has no overlay".to_owned())
    }

    fn launch(
        &self,
        request: &LaunchRequest<'_>,
        fill: &mut dyn FnMut() -> Filled,
    ) -> Result<Box<dyn Sandbox>, LaunchError> {
        if fill() == Filled::Not {
            return Err(LaunchError::NotFilled);
        }
        if let Some(reason) = &self.refusal {
            return Err(LaunchError::Refused { backend: self.name(), reason: reason.clone() });
        }
        let scene = Scene {
            command: request.command.clone(),
            policy: request.policy.clone(),
            host_path: request.mount.host_path().to_owned(),
            working_directory: request.working_directory.cloned(),
            stdin: Vec::new(),
            terminal: request.terminal,
        };
        Ok(Box::new(ScriptedSandbox { mount: request.mount.clone(), scene, play: Arc::clone(&self.play) }))
    }
}

struct ScriptedSandbox {
    mount: WorkspaceMount,
    scene: Scene,
    play: Arc<Play>,
}

impl Sandbox for ScriptedSandbox {
    fn supervise(&mut self, streams: &mut dyn Streams) -> Result<Ending, SupervisionError> {
        if let Some(mut stdin) = streams.stdin() {
            let read = stdin.read_to_end(&mut self.scene.stdin);
            read.map_err(|source| SupervisionError { operation: "read standard input", source: source.into() })?;
        }
        let performance = (self.play)(&self.scene);
        let heard = speak(&performance.lines, streams);
        Ok(Ending {
            cause: if heard == Flow::Closed { broken_pipe() } else { performance.cause },
            usage: ResourceUsage::default(),
            killed_processes: Some(performance.left_processes),
            exceeded: performance.exceeded,
        })
    }

    fn limits(&self) -> Vec<LimitReport> {
        played(&self.scene.policy.asked.limits)
    }

    fn workspace(&self) -> WorkspaceMount {
        self.mount.clone()
    }
}

/// A play says itself which limits it ran into.
fn played(asked: &Limits) -> Vec<LimitReport> {
    let others = asked.iter().filter(|(limit, _)| *limit != Limit::Output);
    others.map(|(limit, value)| LimitReport::by(limit, value, "no process is started")).collect()
}

/// A workload that writes to a closed stream dies of SIGPIPE, unless it ignores that; a play does not.
fn broken_pipe() -> EndCause {
    const SIGPIPE: u8 = 13;
    EndCause::Exited(Exit::Signal(SIGPIPE))
}

fn speak(lines: &[Line], streams: &mut dyn Streams) -> Flow {
    let (mut stdout, mut stderr) = (Flow::Continue, Flow::Continue);
    for line in lines {
        let (bytes, is_stdout) = match line {
            Line::Stdout(bytes) => (bytes, true),
            Line::Stderr(bytes) => (bytes, false),
        };
        for piece in bytes.chunks(PIECE_BYTES) {
            if (if is_stdout { stdout } else { stderr }) == Flow::Closed {
                return Flow::Closed;
            }
            match is_stdout {
                true => stdout = streams.stdout(piece),
                false => stderr = streams.stderr(piece),
            }
        }
    }
    Flow::Continue
}
