//! The Runtime Backends of this machine, tried for a policy.

use super::discover;
use crate::failure::Failure;
use crate::use_case::backends;
use isobox_git::GixRepository;
use isobox_host::{Directories, YamlPolicySource, YamlUserPolicy};
use isobox_ports::{PolicySource, RuntimeBackend};
use isobox_sandbox::{BubblewrapBackend, HostBackend, LandlockBackend};
use std::path::Path;

/// Hands every backend to `act`, with the policy of the project around `directory`, if there is one. What earlier Tasks
/// remember of the backends is not asked: each is tried anew.
pub(crate) fn with_backend_ports<T>(
    directory: &Path,
    act: impl FnOnce(&backends::Ports<'_>) -> T,
) -> Result<T, Failure> {
    let (landlock, bubblewrap, host) = (LandlockBackend::new(), BubblewrapBackend::new(), HostBackend::new());
    let backends: [&dyn RuntimeBackend; 3] = [&landlock, &bubblewrap, &host];
    let project = match GixRepository::is_around(directory) {
        true => Some(YamlPolicySource::new(discover(Some(directory))?.root())),
        false => None,
    };
    let user = YamlUserPolicy::new(Directories::from_environment());
    let project = project.as_ref().map(|policy| -> &dyn PolicySource { policy });
    Ok(act(&backends::Ports { project, user: &user, backends: &backends }))
}
