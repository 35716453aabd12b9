//! Attacking a Sandbox from inside: targets on the host, and an attacker that is the only workload of a Sandbox.

mod targets;

use crate::stage::attacks::{ATTACKER, Attempt, EFFECT};
use isobox_domain::command::WorkloadCommand;
use isobox_domain::limit::Limits;
use isobox_domain::outcome::Exit;
use isobox_domain::policy::EffectivePolicy;
use isobox_domain::probe::{ProbeOutcome, ProbeResult};
use isobox_ports::{
    Access, Content, EndCause, Ending, Exposed, Filled, Flow, LaunchRequest, Place, ProbeError, Prober, RuntimeBackend,
    Shown, Streams, WorkspaceMount,
};
use std::io;
use targets::Targets;

/// The program of this process, in every Sandbox: a workload is started by a Stage, which is the same program.
const PROGRAM: &[u8] = b"/proc/self/exe";

/// More than all attacks have to say, in bytes.
const MOST_HEARD: usize = 64 * 1024;

/// Attacks Sandboxes with the program of this process.
#[derive(Clone, Copy, Debug, Default)]
pub struct SandboxProber;

impl Prober for SandboxProber {
    fn probe(
        &self,
        backend: &dyn RuntimeBackend,
        policy: &EffectivePolicy,
        exposed: &Exposed,
    ) -> Result<Vec<ProbeResult>, ProbeError> {
        let targets = Targets::set_up(&exposed.environment).map_err(setup("set up what is to be attacked"))?;
        let workspace = tempfile::Builder::new().prefix("isobox-probe-").tempdir();
        let workspace = workspace.map_err(setup("make a workspace to attack from"))?;
        let mount = WorkspaceMount::Directory { host_path: workspace.path().to_owned() };
        let arguments = arguments(&targets).map_err(setup("name the attacker"))?;
        // No attack is on a limit, and limits of a workspace hold only where its changes are kept apart.
        let mut policy = policy.clone();
        policy.asked.limits = Limits::NONE;
        let request = LaunchRequest {
            name: "probe",
            command: &arguments,
            policy: &policy,
            mount: &mount,
            working_directory: None,
            caller_path: None,
            terminal: None,
            exposed,
        };
        let mut heard = attack(backend, &request)?;
        if heard.is_not_executable() {
            // Where a Sandbox does not show the program by itself, it is shown for this once.
            let program = std::env::current_exe().map_err(setup("find the program of isobox"))?;
            let places = vec![Place::At(program.clone())];
            let mut exposed = exposed.clone();
            exposed.shown.push(Shown { source: program, places, access: Access::ReadOnly });
            heard = attack(backend, &LaunchRequest { exposed: &exposed, ..request })?;
        }
        results(&heard, &targets).map_err(setup("read what the attacks say"))
    }
}

fn setup<E: Into<isobox_ports::Cause>>(operation: &'static str) -> impl Fn(E) -> ProbeError {
    move |source| ProbeError::Setup { operation, source: source.into() }
}

fn arguments(targets: &Targets) -> Result<WorkloadCommand, isobox_domain::command::CommandError> {
    let mut arguments = vec![PROGRAM.to_vec(), ATTACKER.as_bytes().to_vec()];
    arguments.extend(targets.arguments());
    WorkloadCommand::parse(arguments)
}

fn attack(backend: &dyn RuntimeBackend, request: &LaunchRequest<'_>) -> Result<Heard, ProbeError> {
    let mut sandbox = backend.launch(request, &mut || Filled::Whole).map_err(ProbeError::Launch)?;
    let mut words = Words::default();
    let ending = sandbox.supervise(&mut words).map_err(ProbeError::Supervision)?;
    Ok(Heard { bytes: words.0, ending })
}

/// What the attacker said, and how it ended.
struct Heard {
    bytes: Vec<u8>,
    ending: Ending,
}

impl Heard {
    const fn is_not_executable(&self) -> bool {
        matches!(self.ending.cause, EndCause::NotExecutable(_) | EndCause::NotFound(_))
    }
}

/// What was said, together with what was seen outside.
fn results(heard: &Heard, targets: &Targets) -> io::Result<Vec<ProbeResult>> {
    match &heard.ending.cause {
        EndCause::Exited(Exit::Code(0)) => {}
        EndCause::NotExecutable(reason) | EndCause::NotFound(reason) => return Err(io::Error::other(reason.clone())),
        EndCause::Exited(exit) => {
            return Err(io::Error::other(format!("the attacker ended with {}", exit.passed_on())));
        }
        EndCause::Interrupted { signal } => return Err(io::Error::other(format!("signal {signal} ended it"))),
    }
    let text = String::from_utf8_lossy(&heard.bytes);
    let attempts: Option<Vec<Attempt>> = text.lines().map(Attempt::parse).collect();
    let attempts = attempts.ok_or_else(|| io::Error::other("the attacker does not speak this version's language"))?;
    Ok(attempts.into_iter().map(|attempt| judged(attempt, targets)).collect())
}

/// Some attacks succeed only if something happened outside.
fn judged(attempt: Attempt, targets: &Targets) -> ProbeResult {
    let outcome = match attempt.outcome {
        ProbeOutcome::GotThrough(mark) if mark == EFFECT => match targets.was_reached(&attempt.tried) {
            true => ProbeOutcome::GotThrough("it arrived on the host".to_owned()),
            false => ProbeOutcome::Held("nothing arrived on the host".to_owned()),
        },
        other => other,
    };
    ProbeResult { control: attempt.control, tried: attempt.tried, outcome }
}

/// Keeps standard output, which is bounded: whoever is attacked could be another program than this one.
#[derive(Default)]
struct Words(Vec<u8>);

impl Streams for Words {
    fn stdin(&mut self) -> Option<Content> {
        None
    }

    fn stdout(&mut self, bytes: &[u8]) -> Flow {
        self.0.extend_from_slice(&bytes[..bytes.len().min(MOST_HEARD - self.0.len())]);
        if self.0.len() < MOST_HEARD { Flow::Continue } else { Flow::Closed }
    }

    fn stderr(&mut self, _: &[u8]) -> Flow {
        Flow::Continue
    }
}
