//! From what was asked for and what backends can do to what holds, or to a refusal.

mod auto;

use super::exposure::{exposures, weakened};
use super::requirement::unmet;
use super::{BackendChoice, BackendName, EffectivePolicy, NetworkAccess, ReuseKind, SandboxPolicy, Unmet};
use crate::enforcement::{Control, ControlReport, Enforcement};
use crate::escape::Escaped;
use crate::limit::{LimitReport, sum_up};

/// What one backend can do on this machine, found by trying.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Capabilities {
    /// The backend.
    pub backend: BackendName,
    /// Why it cannot start at all here, with the remedy if one is known; `None` when it can.
    pub unavailable: Option<String>,
    /// Every control once: what it enforces under the most restrictive policy.
    pub controls: Vec<ControlReport>,
    /// Known limitations, as sentences for people.
    pub limitations: Vec<String>,
    /// What it would enforce of the limits that are asked for; none where that is not known yet.
    pub limits: Vec<LimitReport>,
    /// Why it refuses rules that take a mount; `None` where it follows them, or starts without and says so.
    pub mounts_nothing: Option<String>,
}

impl Capabilities {
    /// Of a backend that starts, of which nothing is known but `controls`.
    pub const fn of(backend: BackendName, controls: Vec<ControlReport>) -> Self {
        Self { backend, unavailable: None, controls, limitations: Vec::new(), limits: Vec::new(), mounts_nothing: None }
    }

    /// Whether no other backend can enforce more: every control is enforced but limits, which do not depend on the backend.
    pub fn is_outdone_by_none(&self) -> bool {
        let controls = Control::ALL.into_iter().filter(|control| *control != Control::Limits);
        self.unavailable.is_none() && controls.into_iter().all(|control| self.enforces(control))
    }

    /// Why it cannot do what is asked for here, of that which no control tells.
    fn obstacle(&self, asked: &SandboxPolicy) -> Option<String> {
        let (what, why) = (asked.takes_mounts()?, self.mounts_nothing.as_ref()?);
        Some(format!("{what}, and {why}"))
    }

    fn enforces(&self, control: Control) -> bool {
        self.enforcement(control).is_some_and(Enforcement::is_enforced)
    }

    /// The same with what it does about the limits that are asked for.
    #[must_use]
    pub fn with_limits(mut self, limits: &[LimitReport]) -> Self {
        if let Some(report) = self.controls.iter_mut().find(|report| report.control == Control::Limits) {
            *report = sum_up(limits);
        }
        self.limits = limits.to_vec();
        self
    }

    /// What the backend does for one control.
    pub fn enforcement(&self, control: Control) -> Option<&Enforcement> {
        self.controls.iter().find(|report| report.control == control).map(|report| &report.enforcement)
    }
}

/// Why no Sandbox can be made for a policy on this machine.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Refusal {
    /// The backend that was named is not there, or cannot start.
    #[error("runtime backend `{}` cannot be used here: {reason}", backend.name())]
    BackendUnavailable {
        /// The backend.
        backend: BackendName,
        /// Why not.
        reason: String,
    },
    /// `auto` found no backend that contains.
    #[error("no runtime backend that contains the workload can be used here: {reasons}")]
    NoBackend {
        /// Per backend, why not.
        reasons: String,
    },
    /// Something that is required is not wholly enforced.
    #[error("not everything that is required is enforced here: {reasons}")]
    Unmet {
        /// Per backend that could have been taken, why it was not.
        reasons: String,
        /// Everything required that one of them does not enforce.
        unmet: Vec<Unmet>,
    },
    /// The policy has `network.allow` rules.
    #[error("`network.allow` cannot be enforced by any runtime backend yet (first rule: `{}`)", Escaped(rule.as_bytes()))]
    NetworkAllow {
        /// The first of them.
        rule: String,
    },
    /// A credential was referred to.
    #[error(
        "the reuse input `credential_ref={}` cannot be resolved: this version of isobox has no broker for credentials, and passes none on",
        Escaped(reference.as_bytes())
    )]
    CredentialReference {
        /// What was asked for.
        reference: String,
    },
}

impl Refusal {
    /// What to do about it.
    pub const fn hint(&self) -> &'static str {
        match self {
            Self::BackendUnavailable { backend: BackendName::Bubblewrap | BackendName::Landlock, .. }
            | Self::NoBackend { .. } => {
                "`isobox doctor` tries what is in the way, and says what to do; `host`, if asked for by name, contains nothing"
            }
            Self::Unmet { .. } => {
                "`isobox policy show --effective` shows what is required; ask for less, or for a backend or a machine that \
                 enforces it"
            }
            Self::BackendUnavailable { .. } => "ask for `auto`; `host` contains nothing",
            Self::CredentialReference { .. } => {
                "leave it out; a variable with a token can be passed by `env_var=NAME`, which the record names as a weakening"
            }
            Self::NetworkAllow { .. } => "remove the rules and choose `network.default: deny` or `inherited`",
        }
    }

    /// Whether the same policy can be followed on another machine, and this one lacks what it takes.
    pub const fn is_of_this_machine(&self) -> bool {
        match self {
            Self::BackendUnavailable { backend, .. } => {
                matches!(backend, BackendName::Bubblewrap | BackendName::Landlock)
            }
            Self::NoBackend { .. } | Self::Unmet { .. } => true,
            Self::NetworkAllow { .. } | Self::CredentialReference { .. } => false,
        }
    }
}

/// Resolves what was asked for against `backends`, in order of preference.
///
/// A named backend is taken or refused; `auto` takes the first that can start, contains the filesystem and enforces
/// everything that is required, unless a later one enforces all that it does and more; never `host`. What is enforced in
/// part is not enforced here. Resolving what has been resolved gives the same.
pub fn resolve(asked: &SandboxPolicy, backends: &[Capabilities]) -> Result<EffectivePolicy, Refusal> {
    if let Some(input) = asked.reuse_inputs.iter().find(|input| input.kind == ReuseKind::CredentialRef) {
        return Err(Refusal::CredentialReference { reference: input.value.clone() });
    }
    if let Some(rule) = asked.network_allow.first() {
        return Err(Refusal::NetworkAllow { rule: rule.clone() });
    }
    let (chosen, why) = match asked.backend {
        BackendChoice::Named(name) => (meets(asked, named(name, asked, backends)?)?, None),
        BackendChoice::Auto => auto::choose(asked, backends).map(|(chosen, why)| (chosen, Some(why)))?,
    };
    Ok(EffectivePolicy {
        backend: chosen.backend,
        asked: asked.clone(),
        controls: chosen.controls.iter().map(|report| under_policy(report, asked)).collect(),
        limitations: chosen.limitations.iter().cloned().chain(unheld(chosen.backend, asked)).collect(),
        workspace: None,
        exposures: exposures(asked),
        why_this_backend: why,
        limits: chosen.limits.clone(),
    })
}

/// What no backend hides: the Workspace has the objects of its commit.
const COMMITTED: &str =
    "`filesystem.hide` hides files of the workspace, and not what is committed of them: Git objects can be read";

/// Rules of `asked` that this backend does not follow, or in part, as sentences for people.
fn unheld(backend: BackendName, asked: &SandboxPolicy) -> Vec<String> {
    if backend != BackendName::Host {
        let hides_in_workspace = asked.files.hide.iter().any(|rule| rule.within().is_some());
        return hides_in_workspace.then(|| COMMITTED.to_owned()).into_iter().collect();
    }
    let hide =
        (!asked.files.hide.is_empty()).then_some("`filesystem.hide` is not enforced: the backend `host` hides nothing");
    let protected = (!asked.files.protected.is_empty())
        .then_some("`workspace.protected` is not enforced: on the backend `host` the workload can change every file");
    let write = (!asked.files.write.is_empty()).then_some(
        "`filesystem.write` is not enforced: on the backend `host` the workload changes the files themselves, not copies",
    );
    hide.into_iter().chain(write).chain(protected).map(str::to_owned).collect()
}

fn meets<'a>(asked: &SandboxPolicy, backend: &'a Capabilities) -> Result<&'a Capabilities, Refusal> {
    let unmet = unmet(asked, backend);
    match unmet.is_empty() {
        true => Ok(backend),
        false => Err(Refusal::Unmet { reasons: format!("{}: {}", backend.backend.name(), listed(&unmet)), unmet }),
    }
}

fn listed(unmet: &[Unmet]) -> String {
    unmet.iter().map(Unmet::to_string).collect::<Vec<_>>().join(", ")
}

fn named<'a>(
    name: BackendName,
    asked: &SandboxPolicy,
    backends: &'a [Capabilities],
) -> Result<&'a Capabilities, Refusal> {
    let refuse = |reason: &str| Refusal::BackendUnavailable { backend: name, reason: reason.to_owned() };
    let found = backends.iter().find(|candidate| candidate.backend == name);
    let found = found.ok_or_else(|| refuse("this version of isobox does not have it"))?;
    match found.unavailable.clone().or_else(|| found.obstacle(asked)) {
        Some(reason) => Err(refuse(&reason)),
        None => Ok(found),
    }
}

/// What a backend reports of a control, as it holds under `asked`.
pub(super) fn under_policy(report: &ControlReport, asked: &SandboxPolicy) -> ControlReport {
    let enforcement = match (asked.network, report.control, &report.enforcement) {
        (NetworkAccess::Inherited, Control::Network, _) => {
            Enforcement::NotEnforced { reason: "the policy lets the workload use the host's network".to_owned() }
        }
        (NetworkAccess::Inherited, Control::Credentials, Enforcement::Enforced { mechanism }) => {
            Enforcement::PartiallyEnforced {
                mechanism: mechanism.clone(),
                reason: "services and abstract sockets of the host can be reached over its network".to_owned(),
            }
        }
        (_, _, as_reported) => as_reported.clone(),
    };
    weakened(ControlReport { control: report.control, enforcement }, &exposures(asked))
}

#[cfg(test)]
mod tests;
