//! What enforces a policy on this machine, control by control.

use isobox_domain::enforcement::{Control, ControlReport, Enforcement};
use isobox_domain::fact::Fact;
use isobox_domain::limit::Limit;
use isobox_domain::policy::{BackendName, Capabilities, EffectivePolicy, SandboxPolicy, resolve};
use isobox_ports::HostProbe;

/// What of a policy is enforced.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Subject {
    /// One of its controls.
    Control(Control),
    /// One of its limits.
    Limit(Limit),
}

impl Subject {
    /// As it is called in policies and records.
    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::Control(control) => control.name(),
            Self::Limit(limit) => limit.name(),
        }
    }

    /// What a key of the policy is about; `None` for what isobox itself sees to.
    pub(crate) fn of(key: &str) -> Option<Self> {
        let limit = Limit::ALL.into_iter().find(|limit| limit.key() == key);
        limit.map(Self::Limit).or_else(|| control_of(key).map(Self::Control))
    }
}

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
    /// The backend that is taken, and what it does for `subject`: nothing for a limit that nobody set. The error says why
    /// nothing starts.
    pub(crate) fn of(&self, subject: Subject) -> Result<(BackendName, Option<&Enforcement>), &str> {
        let effective = self.0.as_ref().map_err(String::as_str)?;
        let held = match subject {
            Subject::Control(control) => {
                let report = effective.controls.iter().find(|ControlReport { control: known, .. }| *known == control);
                report.map(|report| &report.enforcement)
            }
            Subject::Limit(limit) => {
                effective.limits.iter().find(|report| report.limit == limit).map(|report| &report.enforcement)
            }
        };
        Ok((effective.backend, held))
    }
}

fn control_of(key: &str) -> Option<Control> {
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
