//! The adapters that look whether a machine and a project are ready.

use super::Location;
use super::audit::ProjectLogProbe;
use isobox_git::{GixRepository, RepositoryProbe};
use isobox_host::{Directories, FsPolicyPins, InstallationProbe, PolicyTrustProbe, YamlPolicySource};
use isobox_ports::HostProbe;
use isobox_sandbox::SandboxProbe;
use isobox_store::StoreProbe;
use std::path::Path;

/// Hands the probes of this machine, and of the project around `directory`, to `look`.
pub(crate) fn with_probes<T>(directory: &Path, look: impl FnOnce(&[&dyn HostProbe]) -> T) -> T {
    let installation = InstallationProbe::of_this_process(env!("CARGO_PKG_VERSION"));
    let (sandbox, repository) = (SandboxProbe::default(), RepositoryProbe::new(directory));
    // What is refused is told by the probe of the repository; nothing else of it is looked at then.
    let Ok(usable) = GixRepository::discover(directory) else {
        return look(&[&installation, &sandbox, &repository]);
    };
    let policy = YamlPolicySource::new(usable.root());
    let store = StoreProbe::new(&Location::of_project(&usable).records);
    let pins = FsPolicyPins::new(Directories::from_environment());
    let trust = PolicyTrustProbe::new(policy.clone(), pins, usable.common_dir().to_owned());
    let log = ProjectLogProbe(&usable);
    look(&[&installation, &sandbox, &repository, &policy, &trust, &store, &log])
}
