//! The adapters that look whether a machine and a project are ready.

use super::audit::ProjectLogProbe;
use super::backends::Backends;
use super::policies::{exposable, expose};
use super::{Location, Project};
use crate::use_case::doctor::Attack;
use isobox_domain::policy::SandboxPolicy;
use isobox_git::{GixRepository, RepositoryProbe};
use isobox_host::{
    Directories, FsPolicyPins, InstallationProbe, PolicyAskedProbe, PolicyTrustProbe, YamlPolicySource, YamlUserPolicy,
};
use isobox_ports::{Access, Exposed, HostProbe, PolicySource};
use isobox_sandbox::{BackendsProbe, SandboxProbe, SandboxProber};
use isobox_store::StoreProbe;
use std::path::Path;

/// Hands the probes of this machine, and of the project around `directory`, to `look`.
pub(crate) fn with_probes<T>(directory: &Path, look: impl FnOnce(&[&dyn HostProbe]) -> T) -> T {
    let installation = InstallationProbe::of_this_process(env!("CARGO_PKG_VERSION"));
    let sandbox = sandbox();
    let repository = RepositoryProbe::new(directory);
    // What is refused is told by the probe of the repository; nothing else of it is looked at then.
    let Ok(usable) = GixRepository::discover(directory) else {
        return look(&[&installation, &sandbox, &repository]);
    };
    let (policy, directories) = (YamlPolicySource::new(usable.root()), Directories::from_environment());
    let location = Location::of_project(&usable);
    let store = StoreProbe::new(&location.records);
    let backends = backends(&policy, &directories);
    let asked = asked(&policy, &directories, &usable, &location);
    let trust = PolicyTrustProbe::new(policy.clone(), FsPolicyPins::new(directories), usable.common_dir().to_owned());
    look(&[&installation, &sandbox, &backends, &repository, &policy, &trust, &asked, &store, &ProjectLogProbe(&usable)])
}

/// Hands what attacks Sandboxes from inside, for the project around `directory`, to `look`.
pub(crate) fn with_attack<T>(directory: &Path, look: impl FnOnce(Attack<'_>) -> T) -> T {
    let backends = Backends::new();
    let project = GixRepository::discover(directory).ok();
    let exposing = |asked: &mut SandboxPolicy| match &project {
        None => Ok(Exposed::default()),
        Some(repository) => {
            let location = Location::of_project(repository);
            let mut exposed = expose(&exposable(&Directories::from_environment(), repository, &location), asked, &[])?;
            // There are no copies here that could be written instead.
            exposed.shown.iter_mut().for_each(|shown| shown.access = Access::ReadOnly);
            Ok(exposed)
        }
    };
    look(Attack { backends: &backends.in_order(), prober: &SandboxProber, expose: &exposing })
}

fn sandbox() -> SandboxProbe {
    let directories = Directories::from_environment();
    match (directories.cache(), directories.workspaces()) {
        (Ok(cache_directory), Ok(workspaces)) => SandboxProbe::default().remembering(&cache_directory, workspaces),
        _ => SandboxProbe::default(),
    }
}

/// What backends can do, and would of the limits of the policy. Of one that cannot be read another probe tells.
fn backends(policy: &YamlPolicySource, directories: &Directories) -> BackendsProbe {
    let written = |source: &dyn PolicySource| source.written().ok().flatten().unwrap_or_default();
    let mut resolved = written(policy).resolved();
    written(&YamlUserPolicy::new(directories.clone())).narrow(&mut resolved);
    BackendsProbe::of_limits(resolved.sandbox.limits)
}

fn asked(
    policy: &YamlPolicySource,
    directories: &Directories,
    repository: &GixRepository,
    location: &Location,
) -> PolicyAskedProbe {
    let read_paths = exposable(directories, repository, location);
    PolicyAskedProbe::new(policy.clone(), YamlUserPolicy::new(directories.clone()), read_paths)
}

impl Project {
    /// Hands the probes that look whether anything starts under the project's policy to `look`.
    pub(crate) fn with_policy_probes<T>(&self, look: impl FnOnce(&[&dyn HostProbe]) -> T) -> T {
        let policy = YamlPolicySource::new(self.repository.root());
        let asked = asked(&policy, &self.directories, &self.repository, &self.location);
        look(&[&backends(&policy, &self.directories), &asked])
    }
}
