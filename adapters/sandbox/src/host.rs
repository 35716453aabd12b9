//! The backend `host`: a supervised process that is not contained.

use crate::environment::{environment, value};
use crate::limits::{self, Containment};
use crate::protocol::{CONTROL_FD, Plan, Reach, STAGE_NAME};
use crate::supervision::{Recipe, start};
use isobox_domain::enforcement::{Control, ControlReport, Enforcement};
use isobox_domain::limit::{LimitReport, Limits};
use isobox_domain::policy::{BackendName, Capabilities};
use isobox_ports::{Filled, LaunchError, LaunchRequest, OverlayKind, RuntimeBackend, Sandbox, WorkspaceMount};
use std::ffi::CString;
use std::os::unix::ffi::OsStrExt;
use std::path::Path;

/// Variables that say whose process it is; on `host` the workload is the user's own.
const IDENTITY: [&str; 4] = ["HOME", "USER", "LOGNAME", "SHELL"];

/// Why it has no overlays.
const MOUNTS_NOTHING: &str = "the backend `host` mounts nothing";

/// Starts workloads as ordinary processes of the user: supervised, ended as a tree, and free to reach what the user can.
#[derive(Clone, Copy, Debug, Default)]
pub struct HostBackend;

impl HostBackend {
    /// The backend.
    pub const fn new() -> Self {
        Self
    }
}

impl RuntimeBackend for HostBackend {
    fn name(&self) -> BackendName {
        BackendName::Host
    }

    fn capabilities(&self) -> Capabilities {
        let limitation =
            "the backend `host` contains nothing: the workload can read, change and reach whatever its user can";
        Capabilities {
            limitations: vec![limitation.to_owned()],
            ..Capabilities::of(BackendName::Host, Control::ALL.into_iter().map(report).collect())
        }
    }

    fn limits(&self, asked: &Limits) -> Vec<LimitReport> {
        limits::forecast(asked, Containment::None, || Err(MOUNTS_NOTHING.to_owned()))
    }

    fn overlay(&self, _at: Option<&Path>) -> Result<OverlayKind, String> {
        Err(MOUNTS_NOTHING.to_owned())
    }

    fn launch(
        &self,
        request: &LaunchRequest<'_>,
        fill: &mut dyn FnMut() -> Filled,
    ) -> Result<Box<dyn Sandbox>, LaunchError> {
        if matches!(request.mount, WorkspaceMount::Overlay(_)) || !request.exposed.layers.is_empty() {
            return Err(LaunchError::Refused { backend: BackendName::Host, reason: MOUNTS_NOTHING.to_owned() });
        }
        let recipe = Recipe {
            backend: BackendName::Host,
            // The program of this process, even if its file was replaced meanwhile: a started child shares its link.
            program: c"/proc/self/exe".to_owned(),
            arguments: stage_arguments(),
            descriptors: Vec::new(),
            namespaces: None,
            plan: plan(request),
            written: None,
            way_back: None,
            private: None,
            containment: Containment::None,
        };
        Ok(Box::new(start(recipe, request, fill)?))
    }
}

fn stage_arguments() -> Vec<CString> {
    [STAGE_NAME.to_owned(), CONTROL_FD.to_string()].into_iter().filter_map(|text| CString::new(text).ok()).collect()
}

fn plan(request: &LaunchRequest<'_>) -> Plan {
    let own: Vec<_> = IDENTITY.into_iter().filter_map(|name| Some((name, value(name)?))).collect();
    let mut directory = request.mount.host_path().as_os_str().as_bytes().to_vec();
    if let Some(path) = request.working_directory {
        directory.extend([b"/", path.as_bytes()].concat());
    }
    let mut programs: Vec<&Path> =
        request.exposed.programs.iter().filter_map(|program| program.found.parent()).collect();
    programs.dedup();
    Plan {
        reach: Reach::Tree,
        directory,
        arguments: request.command.arguments().to_vec(),
        environment: environment(request, &programs, &own),
        enclosure: None,
        terminal: request.terminal,
        rlimits: Vec::new(),
    }
}

fn report(control: Control) -> ControlReport {
    let not = |reason: &str| Enforcement::NotEnforced { reason: reason.to_owned() };
    let partially = |mechanism: &str, reason: &str| Enforcement::PartiallyEnforced {
        mechanism: mechanism.to_owned(),
        reason: reason.to_owned(),
    };
    let enforcement = match control {
        Control::Filesystem => not("the workload reads and writes whatever its user may"),
        Control::Network => not("the workload shares the host's network"),
        Control::Processes => partially(
            "subreaper and watchdog",
            "the workload can see and signal every process of its user, isobox's own included, and a program that \
             changes its user outlives the attempt",
        ),
        Control::Privileges => not("the workload has its user's privileges and may execute set-user-ID programs"),
        Control::Syscalls => not("no system call is filtered"),
        Control::Ipc => not("the workload shares the host's IPC, host name and cgroups"),
        Control::Environment => {
            partially("cleared environment", "the variables of other processes of the user can be read in /proc")
        }
        Control::Credentials => not("the user's files, agents and sockets are within reach"),
        Control::Limits => not("the policy sets no limits"),
    };
    ControlReport { control, enforcement }
}
