//! The Runtime Backends of this machine, tried for a policy.

use super::discover;
use crate::failure::Failure;
use crate::use_case::backends;
use isobox_git::GixRepository;
use isobox_host::{Directories, YamlPolicySource, YamlUserPolicy};
use isobox_ports::{PolicySource, RuntimeBackend};
use isobox_sandbox::{BubblewrapBackend, HostBackend, LandlockBackend};
use std::path::Path;

/// Every Runtime Backend.
pub(super) struct Backends {
    landlock: LandlockBackend,
    bubblewrap: BubblewrapBackend,
    host: HostBackend,
}

impl Backends {
    /// Ones that are tried anew.
    pub(super) fn new() -> Self {
        Self { landlock: LandlockBackend::new(), bubblewrap: BubblewrapBackend::new(), host: HostBackend::new() }
    }

    /// Ones that believe what was remembered of them in `cache`.
    pub(super) fn remembering(cache: &Path) -> Self {
        Self {
            landlock: LandlockBackend::remembering(cache),
            bubblewrap: BubblewrapBackend::remembering(cache),
            host: HostBackend::new(),
        }
    }

    /// In order of preference.
    pub(super) fn in_order(&self) -> [&dyn RuntimeBackend; 3] {
        [&self.landlock, &self.bubblewrap, &self.host]
    }
}

/// Hands every backend to `act`, with the policy of the project around `directory`, if there is one. What earlier Tasks
/// remember of the backends is not asked: each is tried anew.
pub(crate) fn with_backend_ports<T>(
    directory: &Path,
    act: impl FnOnce(&backends::Ports<'_>) -> T,
) -> Result<T, Failure> {
    let backends = Backends::new();
    let project = match GixRepository::is_around(directory) {
        true => Some(YamlPolicySource::new(discover(Some(directory))?.root())),
        false => None,
    };
    let user = YamlUserPolicy::new(Directories::from_environment());
    let project = project.as_ref().map(|policy| -> &dyn PolicySource { policy });
    Ok(act(&backends::Ports { project, user: &user, backends: &backends.in_order() }))
}
