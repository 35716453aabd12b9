//! The backend `landlock`: isobox's own launcher, without any other program.
//!
//! Namespaces, where the kernel lets this user have them, give the workload the view that it has with `bubblewrap`. Landlock
//! and the filter of system calls hold in any case.

mod alone;
mod claims;
mod findings;
mod rules;

use crate::environment;
use crate::filter::Strictness;
use crate::layout::{self, Layout};
use crate::limits::{self, Containment};
use crate::memory::Memory;
use crate::overlays::{Mounts, Overlays};
use crate::protocol::{CONTROL_FD, Enclosure, Inside, OwnNetwork, Plan, Privileges, Reach};
use crate::spawn::Namespaces;
use crate::supervision::{Recipe, RunningSandbox, io_error, try_out};
use crate::view::{self, View};
use findings::{Findings, Walls};
use isobox_domain::limit::{LimitReport, Limits};
use isobox_domain::policy::{BackendName, Capabilities, NetworkAccess};
use isobox_ports::{Filled, LaunchError, LaunchRequest, OverlayKind, RuntimeBackend, Sandbox, WorkspaceMount};
use nix::sched::CloneFlags;
use std::ffi::CString;
use std::path::{Path, PathBuf};
use std::sync::OnceLock;

/// The namespaces that every Sandbox has, besides those that depend on its user and its policy.
const NAMESPACES: CloneFlags = CloneFlags::CLONE_NEWNS
    .union(CloneFlags::CLONE_NEWPID)
    .union(CloneFlags::CLONE_NEWIPC)
    .union(CloneFlags::CLONE_NEWUTS)
    .union(CloneFlags::CLONE_NEWCGROUP);

/// Starts workloads by itself.
#[derive(Debug)]
pub struct LandlockBackend {
    memory: Option<Memory>,
    findings: OnceLock<Result<Findings, String>>,
    overlays: Overlays,
    program: Result<PathBuf, String>,
}

impl Default for LandlockBackend {
    fn default() -> Self {
        Self::new()
    }
}

impl LandlockBackend {
    /// The backend; what it can do is found out when that is first asked for.
    pub fn new() -> Self {
        let program = std::env::current_exe().map_err(|error| format!("find the program of isobox: {error}"));
        Self { memory: None, findings: OnceLock::new(), overlays: Overlays::default(), program }
    }

    /// The backend as it is where the kernel refuses namespaces.
    pub fn alone() -> Self {
        let findings = findings::alone("they were not asked for".to_owned(), &try_walls);
        Self { findings: OnceLock::from(findings), ..Self::new() }
    }

    /// The backend that remembers in `cache_directory`, a private directory of the user, what it found out: later processes
    /// need not try as long as nothing that matters has changed.
    pub fn remembering(cache_directory: &Path) -> Self {
        let memory = Some(Memory::within(cache_directory, "landlock"));
        Self { memory, overlays: Overlays::remembering(cache_directory, "landlock-overlays"), ..Self::new() }
    }

    /// How overlays were mounted below `at` when a launch or a trial last did, as far as that is remembered and holds.
    pub(crate) fn remembered_overlay(&self, at: &Path) -> Option<Result<OverlayKind, String>> {
        self.overlays.remembered(self, at)
    }

    /// What works here, found by bringing Sandboxes up; tried once per value.
    fn findings(&self) -> &Result<Findings, String> {
        self.findings.get_or_init(|| findings::recall_or_find(self.memory.as_ref(), &self.program, &try_walls))
    }
}

/// Brings a Sandbox with these walls up, and takes it down again.
fn try_walls(findings: &Findings) -> Result<(), LaunchError> {
    let mount = WorkspaceMount::Directory { host_path: PathBuf::from("/usr") };
    let view = View {
        proc_view: findings.proc_view(),
        network: NetworkAccess::Deny,
        exposure: isobox_domain::policy::WorkspaceExposure::ReadOnly,
        layout: &Layout::default(),
        host_path: mount.host_path(),
    };
    try_out(recipe(findings, &view, &mount, None)?, &mount)
}

/// How to start a Sandbox with `view` behind the walls that `findings` tell of; without a request, it is only tried.
fn recipe(
    findings: &Findings,
    view: &View<'_>,
    mount: &WorkspaceMount,
    request: Option<&LaunchRequest<'_>>,
) -> Result<Recipe, LaunchError> {
    let entries = view::entries(view).map_err(io_error("lay out the sandbox's file system"))?;
    let Walls::Namespaces { privileges, .. } = findings.walls else {
        return alone::recipe(findings, view, mount, request);
    };
    let network = match view.network {
        NetworkAccess::Deny => OwnNetwork::Yes,
        NetworkAccess::Inherited => OwnNetwork::No,
    };
    let overlay = match mount {
        WorkspaceMount::Directory { .. } => None,
        WorkspaceMount::Overlay(overlay) => Some(overlay.clone()),
    };
    let layers = request.map(|request| &request.exposed.layers[..]).unwrap_or_default();
    let layers: Vec<_> = layers.iter().map(|layered| layered.overlay.clone()).collect();
    let is_of_root = overlay.iter().chain(&layers).any(|overlay| overlay.kind == OverlayKind::Privileged);
    if is_of_root && privileges != Privileges::Root {
        return Err(refused("an overlay was asked for that this user may not mount".to_owned()));
    }
    let enclosure = Enclosure {
        landlock_abi: findings.landlock_abi,
        rules: rules::of(&entries),
        strictness: Strictness::InNamespaces,
        own_directories: Vec::new(),
        inside: Some(Inside { privileges, network, overlay, layers, entries }),
    };
    Ok(Recipe {
        backend: BackendName::Landlock,
        // The program of this process, even if its file was replaced meanwhile: a started child shares its link.
        program: c"/proc/self/exe".to_owned(),
        arguments: stage_arguments(),
        descriptors: Vec::new(),
        namespaces: Some(Namespaces::of(flags(privileges, network))),
        plan: plan(request, enclosure),
        written: None,
        way_back: None,
        private: None,
        containment: Containment::Namespaces,
    })
}

fn flags(privileges: Privileges, network: OwnNetwork) -> CloneFlags {
    let user = match privileges {
        Privileges::UserNamespace => CloneFlags::CLONE_NEWUSER,
        Privileges::Root => CloneFlags::empty(),
    };
    let network = match network {
        OwnNetwork::Yes => CloneFlags::CLONE_NEWNET,
        OwnNetwork::No => CloneFlags::empty(),
    };
    NAMESPACES | user | network
}

fn stage_arguments() -> Vec<CString> {
    [view::stage_path(), CONTROL_FD.to_string()].into_iter().filter_map(|text| CString::new(text).ok()).collect()
}

fn refused(reason: String) -> LaunchError {
    LaunchError::Refused { backend: BackendName::Landlock, reason }
}

impl Mounts for LandlockBackend {
    fn program(&self) -> Result<&Path, String> {
        self.program.as_deref().map_err(String::clone)
    }

    fn start(
        &self,
        request: &LaunchRequest<'_>,
        fill: &mut dyn FnMut() -> Filled,
    ) -> Result<RunningSandbox, LaunchError> {
        let findings = self.findings().as_ref().map_err(|reason| refused(reason.clone()))?;
        layout::start_on(request, fill, |layout| {
            recipe(findings, &View::of(request, layout, findings.proc_view()), request.mount, Some(request))
        })
    }

    fn forget(&self) {
        self.memory.as_ref().inspect(|memory| memory.forget());
        self.overlays.forget();
    }

    fn look_again(&self) -> Result<(), String> {
        let had_namespaces =
            self.findings().as_ref().is_ok_and(|found| matches!(found.walls, Walls::Namespaces { .. }));
        match findings::recall_or_find(None, &self.program, &try_walls)?.walls {
            Walls::Alone(why) if had_namespaces => Err(why),
            _ => Ok(()),
        }
    }
}

fn plan(request: Option<&LaunchRequest<'_>>, enclosure: Enclosure) -> Plan {
    let mut directory = view::WORKSPACE.as_bytes().to_vec();
    if let Some(path) = request.and_then(|request| request.working_directory) {
        directory.extend([b"/", path.as_bytes()].concat());
    }
    Plan {
        reach: Reach::Namespace,
        directory,
        arguments: request.map(|request| request.command.arguments().to_vec()).unwrap_or_default(),
        environment: request.map(environment::inside).unwrap_or_default(),
        enclosure: Some(enclosure),
        terminal: request.and_then(|request| request.terminal),
        rlimits: Vec::new(),
    }
}

impl RuntimeBackend for LandlockBackend {
    fn name(&self) -> BackendName {
        BackendName::Landlock
    }

    fn capabilities(&self) -> Capabilities {
        let findings = self.findings();
        let is_alone = findings.as_ref().is_ok_and(|findings| matches!(findings.walls, Walls::Alone(_)));
        Capabilities {
            mounts_nothing: is_alone.then(|| alone::MOUNTS_NOTHING.to_owned()),
            ..crate::claims::capabilities(self.name(), findings.as_ref(), claims::claim, claims::limitations)
        }
    }

    fn limits(&self, asked: &Limits) -> Vec<LimitReport> {
        let containment = match self.findings() {
            Ok(Findings { walls: Walls::Namespaces { .. }, .. }) => Containment::Namespaces,
            _ => Containment::None,
        };
        limits::forecast(asked, containment, || limits::in_memory(asked, || self.overlays.kind(self, None)))
    }

    fn overlay(&self, at: Option<&Path>) -> Result<OverlayKind, String> {
        self.overlays.kind(self, at)
    }

    fn launch(
        &self,
        request: &LaunchRequest<'_>,
        fill: &mut dyn FnMut() -> Filled,
    ) -> Result<Box<dyn Sandbox>, LaunchError> {
        self.start_or_forget(request, fill)
    }
}
