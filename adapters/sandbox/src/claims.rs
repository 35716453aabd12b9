//! What a backend can do, from what was found out about it.

use isobox_domain::enforcement::{Control, ControlReport, Enforcement};
use isobox_domain::policy::{BackendName, Capabilities};

/// The capabilities of a backend about which something was found, or which does not start.
pub(crate) fn capabilities<F>(
    backend: BackendName,
    findings: Result<&F, &String>,
    claim: impl Fn(Control, &F) -> Enforcement,
    limitations: impl FnOnce(&F) -> Vec<String>,
) -> Capabilities {
    let enforcement = |control| match findings {
        Ok(findings) => claim(control, findings),
        Err(reason) => Enforcement::NotEnforced { reason: reason.clone() },
    };
    let controls = Control::ALL.into_iter();
    let controls = controls.map(|control| ControlReport { control, enforcement: enforcement(control) }).collect();
    Capabilities {
        unavailable: findings.err().cloned(),
        limitations: findings.map(limitations).unwrap_or_default(),
        ..Capabilities::of(backend, controls)
    }
}
