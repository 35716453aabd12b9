//! Attacks from inside a Sandbox like that of the attempt, before anything is made for it.

use super::{Ports, Probing, TaskRequest};
use crate::failure::{Failure, FailureKind, one_line};
use isobox_domain::policy::EffectivePolicy;
use isobox_domain::probe::{ProbeResult, contradictions};
use isobox_ports::{Access, RuntimeBackend};

/// What came of the attacks, if they were asked for. One that gets through what is called enforced refuses the attempt, and so
/// does a Sandbox that cannot be attacked.
pub(super) fn probe(
    ports: &Ports<'_>,
    request: &TaskRequest<'_>,
    backend: &dyn RuntimeBackend,
    effective: &EffectivePolicy,
) -> Result<Vec<ProbeResult>, Failure> {
    if request.probing == Probing::NotAsked {
        return Ok(Vec::new());
    }
    let mut exposed = request.exposed.clone();
    // There are no copies here that could be changed instead.
    exposed.shown.iter_mut().for_each(|shown| shown.access = Access::ReadOnly);
    let results = ports.prober.probe(backend, effective, &exposed).map_err(|error| {
        let why = format!("the sandbox could not be attacked from inside: {}; nothing was started", one_line(&error));
        Failure::new(FailureKind::General, why)
    })?;
    let lines: Vec<String> = contradictions(&effective.controls, &results).map(contradiction).collect();
    match lines.is_empty() {
        true => Ok(results),
        false => Err(Failure::new(
            FailureKind::General,
            format!("an attack from inside the sandbox got through: {}; nothing was started", lines.join("; ")),
        )
        .with_hint("`isobox doctor --probe` shows every attack and what came of it")),
    }
}

fn contradiction(result: &ProbeResult) -> String {
    let control = result.control.name();
    format!("{control} is called enforced, and it could {} ({})", result.tried, result.outcome.detail())
}
