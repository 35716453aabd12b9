//! What enforces a policy on this machine, control by control.

use isobox_domain::enforcement::{Control, ControlReport, Enforcement};
use isobox_domain::fact::Fact;
use isobox_domain::policy::{BackendName, Capabilities, EffectivePolicy, SandboxPolicy, resolve};
use isobox_ports::HostProbe;

/// What holds here: by which backend, or why nothing starts.
#[derive(Clone, Debug)]
pub(crate) struct HeldHere(Result<EffectivePolicy, String>);

/// Resolves `asked` against what `probes` find of backends.
pub(crate) fn held_here(probes: &[&dyn HostProbe], asked: &SandboxPolicy) -> HeldHere {
    let facts = probes.iter().flat_map(|probe| probe.facts());
    let backends: Vec<Capabilities> = facts
        .filter_map(|fact| match fact {
            Fact::Backend(capabilities) => Some(*capabilities),
            _ => None,
        })
        .collect();
    HeldHere(resolve(asked, &backends).map_err(|refusal| refusal.to_string()))
}

impl HeldHere {
    /// The backend that is taken, and what it does for a control; the error says why nothing starts.
    pub(crate) fn of(&self, control: Control) -> Result<(BackendName, Option<&Enforcement>), &str> {
        let effective = self.0.as_ref().map_err(String::as_str)?;
        let report = effective.controls.iter().find(|ControlReport { control: known, .. }| *known == control);
        Ok((effective.backend, report.map(|report| &report.enforcement)))
    }
}

/// The control that a key of the policy is about; `None` for what isobox itself sees to.
pub(crate) fn control_of(key: &str) -> Option<Control> {
    match key {
        "network.default" | "network.allow" => Some(Control::Network),
        "runtime_backend"
        | "filesystem.expose_workspace"
        | "filesystem.read"
        | "filesystem.hide"
        | "caches"
        | "workspace.protected" => Some(Control::Filesystem),
        "development_environment.path_mode" => Some(Control::Environment),
        _ => None,
    }
}
