//! What every Runtime Backend enforces on this machine, and which one `auto` takes.

use crate::failure::Failure;
use isobox_domain::policy::{BackendChoice, BackendName, Capabilities, ProjectPolicy, Refusal, SandboxPolicy, resolve};
use isobox_ports::{PolicySource, RuntimeBackend};

/// What it touches.
#[derive(Clone, Copy)]
pub(crate) struct Ports<'a> {
    /// The project's policy, if there is a project.
    pub(crate) project: Option<&'a dyn PolicySource>,
    /// The user's own.
    pub(crate) user: &'a dyn PolicySource,
    /// In order of preference.
    pub(crate) backends: &'a [&'a dyn RuntimeBackend],
}

/// Whose policy was asked about.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum PolicyOf {
    /// The project's, as far as the user's own allows it.
    Project,
    /// Nobody's: the most restrictive one.
    Nobody,
}

/// What was found.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Backends {
    /// Of every backend, in order of preference.
    pub(crate) capabilities: Vec<Capabilities>,
    /// Whose policy was asked about.
    pub(crate) of: PolicyOf,
    /// Which backend that policy chooses.
    pub(crate) choice: BackendChoice,
    /// What `auto` takes under it and why, whatever it chooses; or why it takes none.
    pub(crate) auto: Result<(BackendName, String), Refusal>,
}

/// Tries every backend.
pub(crate) fn backends(ports: &Ports<'_>) -> Result<Backends, Failure> {
    let written = ports.project.map(PolicySource::written).transpose()?.flatten();
    let of = if written.is_some() { PolicyOf::Project } else { PolicyOf::Nobody };
    let mut policy = written.map_or_else(ProjectPolicy::default, |written| written.resolved());
    ports.user.written()?.unwrap_or_default().narrow(&mut policy);
    let asked = policy.sandbox;
    let capable = ports.backends.iter().map(|backend| backend.capabilities_with(&asked.limits));
    let capabilities: Vec<Capabilities> = capable.collect();
    let choice = asked.backend;
    let auto = resolve(&SandboxPolicy { backend: BackendChoice::Auto, ..asked }, &capabilities);
    let auto = auto.map(|effective| (effective.backend, effective.why_this_backend.unwrap_or_default()));
    Ok(Backends { capabilities, of, choice, auto })
}
