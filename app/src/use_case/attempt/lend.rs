//! Which form the caches of package managers have in an attempt, and what is told of that.

use super::{Ports, TaskRequest, choose};
use crate::failure::{Failure, FailureKind};
use isobox_domain::policy::{BackendName, DependencyCache, EffectivePolicy};
use isobox_ports::{CacheError, CacheForm, Exposed, HiddenInCaches, RuntimeBackend};
use std::any::Any;

/// The form in which the caches that the policy names can be lent; `None` if none is, or the workload has the host's own.
pub(super) fn form(ports: &Ports<'_>, backend: &dyn RuntimeBackend, policy: &mut EffectivePolicy) -> Option<CacheForm> {
    let names: Vec<&str> = policy.asked.caches.iter().copied().map(DependencyCache::name).collect();
    let names = names.join(", ");
    if names.is_empty() {
        return None;
    }
    if policy.backend == BackendName::Host {
        policy.limitations.push(format!(
            "`caches` is not enforced: on the backend `host` the workload uses and changes the host's own of {names}"
        ));
        return None;
    }
    // What lies on disk beside the Workspace would get around a limit on what is written to disk.
    let memory = choose::memory_size(policy);
    let mounted = match (memory, ports.caches.directory()) {
        (None, None) => Err("isobox has no cache directory".to_owned()),
        (None, at) => backend.overlay(at),
        (Some(_), _) => backend.overlay(None),
    };
    Some(match (mounted, memory) {
        (Ok(kind), None) => CacheForm::Kept(kind),
        (Ok(kind), Some(size)) => {
            policy.limitations.push(format!(
                "what the workload adds to the caches of {names} is in memory, of the size of `limits.disk` each, and nobody keeps it"
            ));
            CacheForm::InMemory(kind, size)
        }
        (Err(why), _) => {
            policy.limitations.push(format!(
                "the caches of {names} are as on the host, with what earlier workloads wrote there on the backend `host`, and cannot be added to; pip makes no use of such a one: {why}"
            ));
            CacheForm::ReadOnly
        }
    })
}

/// What is exposed to the attempt, with the caches of its policy. They are its own as long as the second value is there.
pub(super) fn lend(
    ports: &Ports<'_>,
    request: &TaskRequest<'_>,
    form: Option<CacheForm>,
) -> Result<(Exposed, Box<dyn Any>), Failure> {
    let mut exposed = request.exposed.clone();
    let Some(form) = form else { return Ok((exposed, Box::new(()))) };
    let asked = &request.policy.sandbox;
    let hidden = HiddenInCaches { patterns: &exposed.hidden, rules: &asked.files.hide };
    let lent = ports.caches.lend(&asked.caches, form, &hidden).map_err(failure)?;
    exposed.hidden.extend(lent.hidden);
    exposed.shown.extend(lent.shown);
    exposed.layers = lent.layers;
    Ok((exposed, lent.held))
}

fn failure(error: CacheError) -> Failure {
    let hint = error.hint;
    let failure = Failure::new(FailureKind::General, "lend the caches of the policy").because(error);
    match hint {
        Some(hint) => failure.with_hint(hint),
        None => failure,
    }
}
