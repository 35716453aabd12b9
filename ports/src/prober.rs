//! Attacking a Sandbox from inside.

use crate::{Cause, Exposed, LaunchError, RuntimeBackend, SupervisionError};
use isobox_domain::policy::EffectivePolicy;
use isobox_domain::probe::ProbeResult;

/// Why nothing was tried.
#[derive(Debug, thiserror::Error)]
pub enum ProbeError {
    /// What is to be attacked could not be set up on the host.
    #[error("{operation}")]
    Setup {
        /// What was being done, to what.
        operation: &'static str,
        /// What the system said.
        #[source]
        source: Cause,
    },
    /// No Sandbox came up.
    #[error("start a sandbox to attack from inside")]
    Launch(#[source] LaunchError),
    /// It could not be watched.
    #[error("watch a sandbox that is attacked from inside")]
    Supervision(#[source] SupervisionError),
}

/// Tries to get past the controls of a Sandbox from inside.
///
/// - Every control but the limits is attacked, and each result says what was tried and what came of it.
/// - The Sandbox is one that `backend` makes under `policy`, with what is `exposed`, with an empty Workspace of its own.
/// - An attack needs no program inside, changes nothing on the host where it gets through, and leaves nothing behind.
pub trait Prober: Send + Sync {
    /// Brings a Sandbox up, attacks it, and takes it down.
    fn probe(
        &self,
        backend: &dyn RuntimeBackend,
        policy: &EffectivePolicy,
        exposed: &Exposed,
    ) -> Result<Vec<ProbeResult>, ProbeError>;
}
