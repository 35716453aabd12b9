//! The backend `bubblewrap`: the `bwrap` program, hardened.

mod claims;
mod options;
mod program;

use crate::descriptors::file_of;
use crate::environment;
use crate::layout::{self, Layout};
use crate::limits::{self, Containment};
use crate::memory::{Memory, circumstances};
use crate::obstacles;
use crate::overlay;
use crate::overlays::{Mounts, Overlays};
use crate::protocol::{Mounting, Plan, Reach};
use crate::stage::devices::{self, Guard, WayBack};
use crate::stage::mounter;
use crate::supervision::{Recipe, RunningSandbox, io_error, reason_of, try_out};
use crate::view::{self, ProcView, View};
use claims::Findings;
use isobox_domain::limit::{LimitReport, Limits};
use isobox_domain::policy::{BackendName, Capabilities, NetworkAccess, WorkspaceExposure};
use isobox_ports::{
    Filled, LaunchError, LaunchRequest, Layered, Overlay, OverlayKind, RuntimeBackend, Sandbox, WorkspaceMount,
};
use options::OPTIONS_FD;
use std::ffi::CString;
use std::io;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};
use std::sync::OnceLock;

/// Starts workloads with the `bwrap` program found on the caller's PATH.
#[derive(Debug)]
pub struct BubblewrapBackend {
    program: Result<PathBuf, String>,
    memory: Option<Memory>,
    findings: OnceLock<Result<Findings, String>>,
    overlays: Overlays,
}

impl Default for BubblewrapBackend {
    fn default() -> Self {
        Self::new()
    }
}

impl BubblewrapBackend {
    /// The backend; what it can do is found out when that is first asked for.
    pub fn new() -> Self {
        let path = crate::environment::value("PATH").unwrap_or_default();
        Self::of(program::find(&path))
    }

    /// The backend that remembers in `cache_directory`, a private directory of the user, that a Sandbox came up and how
    /// overlays are mounted: later processes need not try as long as nothing that matters has changed.
    pub fn remembering(cache_directory: &Path) -> Self {
        let memory = Some(Memory::within(cache_directory, "bubblewrap"));
        Self { memory, overlays: Overlays::remembering(cache_directory, "overlays"), ..Self::new() }
    }

    fn of(program: Result<PathBuf, String>) -> Self {
        Self { program, memory: None, findings: OnceLock::new(), overlays: Overlays::default() }
    }

    /// How overlays were mounted below `at` when a launch or a trial last did, as far as that is remembered and holds.
    pub(crate) fn remembered_overlay(&self, at: &Path) -> Option<Result<OverlayKind, String>> {
        self.overlays.remembered(self, at)
    }

    /// The program that is used, or why none is.
    pub(crate) const fn program(&self) -> &Result<PathBuf, String> {
        &self.program
    }

    /// What works here, found by bringing Sandboxes up; tried once per value.
    fn findings(&self) -> &Result<Findings, String> {
        self.findings.get_or_init(|| self.probe())
    }

    fn probe(&self) -> Result<Findings, String> {
        let best = Findings { proc_view: ProcView::Fresh, why_not_fresh: None };
        let here = self.program.as_ref().ok().and_then(|program| circumstances(program).ok());
        let memory = self.memory.as_ref().zip(here);
        if memory.as_ref().is_some_and(|(memory, here)| memory.recall(here).is_some()) {
            return Ok(best);
        }
        let fresh = match self.try_view(ProcView::Fresh) {
            Ok(()) => {
                memory.inspect(|(memory, here)| memory.keep(here, ""));
                return Ok(best);
            }
            Err(reason) => reason,
        };
        match self.try_view(ProcView::OfHost) {
            Ok(()) => Ok(Findings { proc_view: ProcView::OfHost, why_not_fresh: Some(fresh) }),
            Err(_) => Err(obstacles::with_remedy(&fresh, "bwrap")),
        }
    }

    fn try_view(&self, proc_view: ProcView) -> Result<(), String> {
        let view = View {
            proc_view,
            network: NetworkAccess::Deny,
            exposure: WorkspaceExposure::ReadOnly,
            layout: &Layout::default(),
            host_path: Path::new("/usr"),
        };
        let plan = Plan {
            reach: Reach::Namespace,
            directory: view::WORKSPACE.as_bytes().to_vec(),
            arguments: Vec::new(),
            environment: Vec::new(),
            enclosure: None,
            terminal: None,
            rlimits: Vec::new(),
        };
        let mount = WorkspaceMount::Directory { host_path: view.host_path.to_owned() };
        let recipe = self.recipe(&view, plan, (&mount, &[])).map_err(|error| reason_of(&error))?;
        try_out(recipe, &mount).map_err(|error| reason_of(&error))
    }

    fn recipe(
        &self,
        view: &View<'_>,
        plan: Plan,
        (mount, layers): (&WorkspaceMount, &[Layered]),
    ) -> Result<Recipe, LaunchError> {
        let program = self.program.as_ref().map_err(|reason| refused(reason.clone()))?;
        let arguments = options::arguments(view).map_err(io_error("lay out the sandbox's file system"))?;
        let mut descriptors = vec![file_of(&arguments.options).map_err(io_error("write the options of bwrap"))?];
        descriptors.extend(arguments.descriptors);
        let program = CString::new(program.as_os_str().as_bytes()).map_err(io_error("name bwrap"))?;
        let arguments = options::command_line();
        let way_back = guard_devices().map_err(io_error("show the host's devices read-only"))?;
        let backend = BackendName::Bubblewrap;
        let recipe = Recipe {
            backend,
            program,
            arguments,
            descriptors,
            namespaces: None,
            plan,
            written: None,
            way_back,
            private: None,
            containment: Containment::Namespaces,
        };
        let workspace = match mount {
            WorkspaceMount::Directory { .. } => None,
            WorkspaceMount::Overlay(overlay) => Some(overlay),
        };
        on_overlays(recipe, workspace, &layers.iter().map(|layered| &layered.overlay).collect::<Vec<_>>())
    }
}

/// The recipe of a Sandbox whose program finds the overlays at their places.
fn on_overlays(recipe: Recipe, workspace: Option<&Overlay>, layers: &[&Overlay]) -> Result<Recipe, LaunchError> {
    let mut kinds = workspace.into_iter().chain(layers.iter().copied()).map(|overlay| overlay.kind).peekable();
    if kinds.peek().is_none() {
        return Ok(recipe);
    }
    // Who may mount one may mount all.
    match kinds.any(|kind| kind == OverlayKind::Privileged) {
        true => mounted_here(recipe, workspace, layers),
        false => mounted_first(recipe, workspace, layers).map_err(io_error("write what is to be mounted")),
    }
}

/// Mounts them in the mount namespace that this thread is in until the program is started.
fn mounted_here(mut recipe: Recipe, workspace: Option<&Overlay>, layers: &[&Overlay]) -> Result<Recipe, LaunchError> {
    let may_mount = devices::may_mount().map_err(io_error("look at this process's capabilities"))?;
    let Some(way_back) = recipe.way_back.as_mut().filter(|_| may_mount) else {
        return Err(refused("an overlay was asked for that this user may not mount".to_owned()));
    };
    // Through the mount neither capture nor disposal finds the upper directory.
    way_back.need();
    let mount = |overlay: &Overlay| overlay::mount(overlay).map_err(|error| refused(error.to_string()));
    let written = workspace.map(mount).transpose()?.flatten();
    layers.iter().try_for_each(|layer| mount(layer).map(drop))?;
    Ok(Recipe { written, ..recipe })
}

/// Puts a process before the program that mounts them and then becomes the program.
fn mounted_first(mut recipe: Recipe, workspace: Option<&Overlay>, layers: &[&Overlay]) -> io::Result<Recipe> {
    let mounting = Mounting {
        workspace: workspace.cloned(),
        layers: layers.iter().copied().cloned().collect(),
        program: recipe.program.to_bytes().to_vec(),
        arguments: recipe.arguments.iter().map(|argument| argument.to_bytes().to_vec()).collect(),
    };
    // Last, so that the numbers that the program knows stay what they are.
    let place = OPTIONS_FD + i32::try_from(recipe.descriptors.len()).map_err(io::Error::other)?;
    recipe.descriptors.push(file_of(&mounting.encode())?);
    // The program of this process, even if its file was replaced meanwhile: a started child shares its link.
    Ok(Recipe { program: c"/proc/self/exe".to_owned(), arguments: mounter::command_line(place), ..recipe })
}

/// Where it is needed, this thread goes where the host's devices are read-only.
fn guard_devices() -> io::Result<Option<WayBack>> {
    if devices::guard()? == Guard::ReadOnly { devices::enter_read_only().map(Some) } else { Ok(None) }
}

fn refused(reason: String) -> LaunchError {
    LaunchError::Refused { backend: BackendName::Bubblewrap, reason }
}

impl Mounts for BubblewrapBackend {
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
            let mounts = (request.mount, &request.exposed.layers[..]);
            self.recipe(&View::of(request, layout, findings.proc_view), plan(request), mounts)
        })
    }

    fn forget(&self) {
        self.memory.as_ref().inspect(|memory| memory.forget());
        self.overlays.forget();
    }

    fn look_again(&self) -> Result<(), String> {
        Self::of(self.program.clone()).probe().map(drop)
    }
}

impl RuntimeBackend for BubblewrapBackend {
    fn name(&self) -> BackendName {
        BackendName::Bubblewrap
    }

    fn capabilities(&self) -> Capabilities {
        crate::claims::capabilities(self.name(), self.findings().as_ref(), claims::claim, claims::limitations)
    }

    fn limits(&self, asked: &Limits) -> Vec<LimitReport> {
        limits::forecast(asked, Containment::Namespaces, || limits::in_memory(asked, || self.overlays.kind(self, None)))
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

fn plan(request: &LaunchRequest<'_>) -> Plan {
    let mut directory = view::WORKSPACE.as_bytes().to_vec();
    if let Some(path) = request.working_directory {
        directory.extend([b"/", path.as_bytes()].concat());
    }
    Plan {
        reach: Reach::Namespace,
        directory,
        arguments: request.command.arguments().to_vec(),
        environment: environment::inside(request),
        enclosure: None,
        terminal: request.terminal,
        rlimits: Vec::new(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use isobox_domain::enforcement::Enforcement;

    #[test]
    fn without_the_program_nothing_is_claimed_and_the_next_step_is_named() {
        let reason = program::find(b"/nonexistent").expect_err("there is no such directory");
        let backend = BubblewrapBackend::of(Err(reason.clone()));
        let capabilities = backend.capabilities();
        assert_eq!(capabilities.unavailable, Some(reason.clone()));
        assert!(reason.contains("apt install bubblewrap"), "{reason}");
        let claimed = capabilities.controls.iter().map(|report| &report.enforcement);
        let nothing = Enforcement::NotEnforced { reason };
        assert!(claimed.into_iter().all(|enforcement| *enforcement == nothing));
    }
}
