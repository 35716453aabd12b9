//! What this machine lets a Sandbox have, found by trying.

mod child;
pub(crate) mod landlock;
mod namespaces;

use crate::bubblewrap::BubblewrapBackend;
use crate::host::HostBackend;
use crate::landlock::LandlockBackend;
use crate::limits;
use crate::obstacles::restrictions;
use isobox_domain::command::WorkloadCommand;
use isobox_domain::enforcement::{Control, Enforcement};
use isobox_domain::escape::Escaped;
use isobox_domain::fact::{Fact, Namespace, OverlayPlace, Trial};
use isobox_domain::limit::Limits;
use isobox_domain::outcome::Exit;
use isobox_domain::policy::{
    BackendChoice, BackendName, Capabilities, EffectivePolicy, SandboxPolicy, WorkspaceExposure, resolve,
};
use isobox_ports::{
    Content, EndCause, Exposed, Filled, Flow, HostProbe, LaunchRequest, OverlayKind, RuntimeBackend, Streams,
    WorkspaceMount,
};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

/// Tries `bwrap`, namespaces, Landlock, overlays and control groups.
#[derive(Debug)]
pub struct SandboxProbe {
    landlock: LandlockBackend,
    bubblewrap: BubblewrapBackend,
    proc: PathBuf,
    /// What Tasks remember, and the directory of their Workspaces.
    tasks: Option<Tasks>,
}

/// The backends as Tasks use them, and the directory of their Workspaces.
#[derive(Debug)]
struct Tasks {
    landlock: LandlockBackend,
    bubblewrap: BubblewrapBackend,
    workspaces: PathBuf,
}

impl Default for SandboxProbe {
    fn default() -> Self {
        Self::below(Path::new("/"))
    }
}

impl SandboxProbe {
    /// Reads the settings of the kernel in `proc` below `root`; that is `/` but for tests.
    pub fn below(root: &Path) -> Self {
        let (landlock, bubblewrap) = (LandlockBackend::new(), BubblewrapBackend::new());
        Self { landlock, bubblewrap, proc: root.join("proc"), tasks: None }
    }

    /// The same probe, which also tells what Tasks whose Workspaces lie in `workspaces` remember in `cache_directory`.
    pub fn remembering(self, cache_directory: &Path, workspaces: PathBuf) -> Self {
        let landlock = LandlockBackend::remembering(cache_directory);
        let bubblewrap = BubblewrapBackend::remembering(cache_directory);
        Self { tasks: Some(Tasks { landlock, bubblewrap, workspaces }), ..self }
    }

    fn restrictions(&self) -> impl Iterator<Item = Fact> {
        let read = |file: &str| {
            let below_proc = file.strip_prefix("/proc/").unwrap_or(file);
            std::fs::read_to_string(self.proc.join(below_proc)).ok()
        };
        restrictions(read).into_iter().map(|(setting, remedy)| Fact::Restriction { setting, remedy })
    }

    fn bubblewrap(&self) -> Vec<Fact> {
        let program = match self.bubblewrap.program() {
            Ok(program) => program,
            Err(reason) => return vec![Fact::Bubblewrap(Trial::Fails(reason.clone()))],
        };
        let shown = Escaped(program.as_os_str().as_encoded_bytes());
        match version(program) {
            Ok(said) => {
                let known = parse_version(&said).map(|(major, minor)| Fact::BubblewrapVersion(major, minor));
                let found = Fact::Bubblewrap(Trial::Works(format!("{shown}: {}", Escaped(said.trim().as_bytes()))));
                [Some(found), known].into_iter().flatten().collect()
            }
            Err(reason) => vec![Fact::Bubblewrap(Trial::Fails(format!("{shown} does not tell its version: {reason}")))],
        }
    }

    /// The backend that `auto` means here, or the last one if it means none.
    fn automatic(&self) -> (&dyn RuntimeBackend, Capabilities) {
        let backends: [&dyn RuntimeBackend; 2] = [&self.landlock, &self.bubblewrap];
        let capabilities = backends.map(RuntimeBackend::capabilities);
        let chosen = resolve(&SandboxPolicy::default(), &capabilities).map(|effective| effective.backend);
        let [first, last] = capabilities;
        if chosen == Ok(first.backend) { (backends[0], first) } else { (backends[1], last) }
    }

    fn sandbox(&self) -> Vec<Fact> {
        let (backend, capabilities) = self.automatic();
        let trial = match start_true(backend, &capabilities) {
            Ok(()) => {
                let name = backend.name().name();
                Trial::Works(format!("one of `{name}` came up, ran the command, and went away"))
            }
            Err(reason) => Trial::Fails(reason),
        };
        let mut facts = vec![Fact::SandboxStarts(trial)];
        if capabilities.unavailable.is_none() {
            facts.extend(lacks(&capabilities));
        }
        facts
    }

    fn overlay(&self) -> Fact {
        // On disk a trial would leave its traces, and a probe makes nothing.
        let backend = self.automatic().0;
        let remembered = self.tasks.as_ref().and_then(|tasks| match backend.name() {
            BackendName::Landlock => tasks.landlock.remembered_overlay(&tasks.workspaces),
            _ => tasks.bubblewrap.remembered_overlay(&tasks.workspaces),
        });
        let place = if remembered.is_some() { OverlayPlace::Workspaces } else { OverlayPlace::Memory };
        let trial = match remembered.unwrap_or_else(|| backend.overlay(None)) {
            Ok(OverlayKind::Privileged) => Trial::Works("isobox mounts it itself".to_owned()),
            Ok(OverlayKind::Unprivileged) => Trial::Works("it mounts in a user namespace".to_owned()),
            Err(reason) => Trial::Fails(reason),
        };
        Fact::Overlay(place, trial)
    }
}

fn start_true(backend: &dyn RuntimeBackend, capabilities: &Capabilities) -> Result<(), String> {
    let asked = SandboxPolicy {
        backend: BackendChoice::Named(backend.name()),
        workspace: WorkspaceExposure::ReadOnly,
        ..SandboxPolicy::default()
    };
    if let Some(reason) = &capabilities.unavailable {
        return Err(reason.clone());
    }
    let policy = resolve(&asked, std::slice::from_ref(capabilities)).map_err(|refusal| refusal.to_string())?;
    launch_true(backend, &policy).map_err(|error| format!("{error:#}"))
}

fn launch_true(backend: &dyn RuntimeBackend, policy: &EffectivePolicy) -> Result<(), isobox_ports::Cause> {
    let command = WorkloadCommand::parse(vec![b"true".to_vec()])?;
    // Only to have something to show: it is read-only there, as it is in every Sandbox.
    let mount = WorkspaceMount::Directory { host_path: PathBuf::from("/usr") };
    let request = LaunchRequest {
        name: "probe",
        command: &command,
        policy,
        mount: &mount,
        working_directory: None,
        caller_path: None,
        terminal: None,
        exposed: &Exposed::default(),
    };
    let ending = backend.launch(&request, &mut || Filled::Whole)?.supervise(&mut Nowhere)?;
    match ending.cause {
        EndCause::Exited(Exit::Code(0)) => Ok(()),
        EndCause::Exited(exit) => Err(format!("`true` ended with {}", exit.passed_on()).into()),
        EndCause::NotExecutable(why) | EndCause::NotFound(why) => Err(why.into()),
        EndCause::Interrupted { signal } => Err(format!("signal {signal} ended it").into()),
    }
}

/// Asks every backend what it can do here.
#[derive(Debug, Default)]
pub struct BackendsProbe {
    limits: Limits,
    bubblewrap: BubblewrapBackend,
    landlock: LandlockBackend,
    host: HostBackend,
}

impl BackendsProbe {
    /// One that also asks what would hold of `limits`.
    pub fn of_limits(limits: Limits) -> Self {
        Self { limits, ..Self::default() }
    }
}

impl HostProbe for BackendsProbe {
    fn facts(&self) -> Vec<Fact> {
        let backends: [&dyn RuntimeBackend; 3] = [&self.landlock, &self.bubblewrap, &self.host];
        backends.map(|backend| Fact::Backend(Box::new(backend.capabilities_with(&self.limits)))).into()
    }
}

/// The caller of a command whose output nobody wants.
struct Nowhere;

impl Streams for Nowhere {
    fn stdin(&mut self) -> Option<Content> {
        None
    }

    fn stdout(&mut self, _: &[u8]) -> Flow {
        Flow::Continue
    }

    fn stderr(&mut self, _: &[u8]) -> Flow {
        Flow::Continue
    }
}

/// What a Sandbox here does not enforce whole, limits aside, which are a policy's.
fn lacks(capabilities: &Capabilities) -> impl Iterator<Item = Fact> {
    let reports = capabilities.controls.iter().filter(|report| report.control != Control::Limits);
    reports.filter_map(|report| match &report.enforcement {
        Enforcement::Enforced { .. } => None,
        Enforcement::PartiallyEnforced { reason, .. } | Enforcement::NotEnforced { reason } => {
            Some(Fact::SandboxLacks(format!("{}: {reason}", report.control.name())))
        }
    })
}

fn version(program: &Path) -> Result<String, String> {
    let output = Command::new(program).arg("--version").env_clear().stdin(Stdio::null()).output();
    let output = output.map_err(|error| error.to_string())?;
    match output.status.success() {
        true => Ok(String::from_utf8_lossy(&output.stdout).into_owned()),
        false => Err(output.status.to_string()),
    }
}

/// Major and minor of `bubblewrap 0.8.0`.
fn parse_version(said: &str) -> Option<(u32, u32)> {
    let mut numbers = said.split_whitespace().last()?.split('.');
    Some((numbers.next()?.parse().ok()?, numbers.next()?.parse().ok()?))
}

impl HostProbe for SandboxProbe {
    fn facts(&self) -> Vec<Fact> {
        let mut facts = self.bubblewrap();
        facts.extend(self.sandbox());
        facts.extend(self.restrictions());
        facts.extend(Namespace::ALL.map(|namespace| Fact::Opens(namespace, namespaces::open(namespace))));
        facts.push(Fact::Landlock(landlock::probe()));
        facts.push(self.overlay());
        facts.push(Fact::Cgroups(limits::places()));
        facts
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_version_is_read_from_what_bwrap_says() {
        assert_eq!(parse_version("bubblewrap 0.8.0\n"), Some((0, 8)));
        assert_eq!(parse_version("bubblewrap 0.11\n"), Some((0, 11)));
        assert_eq!(parse_version("something else"), None);
        assert_eq!(parse_version(""), None);
    }
}
