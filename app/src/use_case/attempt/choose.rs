//! Before anything is made: which backend, under which Effective Policy, and whether the Preflight Rules hold.

use super::{Ports, ROOM_BYTES, Retention, TaskRequest, Uncommitted, preflight_of};
use crate::failure::{Failure, FailureKind};
use isobox_domain::escape::Escaped;
use isobox_domain::policy::{
    BackendChoice, BackendName, Capabilities, EffectivePolicy, Refusal, SandboxPolicy, WorkspaceChoice, WorkspaceKind,
    resolve,
};
use isobox_domain::preflight::PreflightRule;
use isobox_domain::source::{Cleanliness, DirtyEntry, DirtyState, WorkspaceSource};
use isobox_ports::{RuntimeBackend, WorkspaceForm};

/// Picks the backend for what was asked, or refuses. Only backends that could be picked are probed, and none after one that
/// no other can outdo.
pub(crate) fn choose<'a>(
    backends: &[&'a dyn RuntimeBackend],
    asked: &SandboxPolicy,
) -> Result<(&'a dyn RuntimeBackend, EffectivePolicy), Failure> {
    let candidates: Vec<_> = backends.iter().filter(|backend| is_candidate(asked.backend, backend.name())).collect();
    let mut capabilities: Vec<Capabilities> = Vec::new();
    for candidate in &candidates {
        capabilities.push(candidate.capabilities());
        let is_settled = capabilities.last().is_some_and(Capabilities::is_outdone_by_none);
        if is_settled && resolve(asked, &capabilities).is_ok() {
            break;
        }
    }
    let effective = resolve(asked, &capabilities).map_err(refused)?;
    let chosen = candidates.into_iter().find(|backend| backend.name() == effective.backend);
    let chosen = chosen.ok_or_else(|| Failure::new(FailureKind::General, "the chosen runtime backend is not there"))?;
    Ok((*chosen, effective))
}

/// The form of the Workspace that was asked for, which `backend` has to be able to mount.
pub(super) fn form(
    ports: &Ports<'_>,
    request: &TaskRequest,
    backend: &dyn RuntimeBackend,
) -> Result<WorkspaceForm, Failure> {
    let overlay =
        || Ok(WorkspaceForm::Overlay { kind: backend.overlay(Some(ports.workspaces.directory()))?, memory: None });
    match request.workspace {
        WorkspaceChoice::Named(WorkspaceKind::Copy) => Ok(WorkspaceForm::Copy),
        WorkspaceChoice::Named(WorkspaceKind::Overlay) if request.uncommitted == Uncommitted::TakenAlong => {
            Err(Failure::new(FailureKind::Usage, "a workspace with uncommitted changes cannot be an overlay")
                .with_hint("leave --workspace out, or commit the changes"))
        }
        // The next attempt has other changes: nothing of this one could be shared.
        WorkspaceChoice::Auto if request.uncommitted == Uncommitted::TakenAlong => Ok(WorkspaceForm::Copy),
        // Whoever wants to keep a Workspace wants the files.
        WorkspaceChoice::Auto if request.retention == Retention::Retain => Ok(WorkspaceForm::Copy),
        WorkspaceChoice::Auto => Ok(overlay().unwrap_or(WorkspaceForm::Copy)),
        WorkspaceChoice::Named(WorkspaceKind::Overlay) => overlay().map_err(|why: String| no_overlay(&why)),
    }
}

/// Refuses a copy, for the reason `why`, where an overlay was named.
pub(super) fn insist(request: &TaskRequest, why: Option<&str>) -> Result<(), Failure> {
    match (request.workspace, why) {
        (WorkspaceChoice::Named(WorkspaceKind::Overlay), Some(why)) => {
            Err(no_overlay(why).while_doing(preflight_of(request.kind)))
        }
        _ => Ok(()),
    }
}

fn no_overlay(why: &str) -> Failure {
    Failure::new(FailureKind::General, format!("the workspace cannot be an overlay here: {why}"))
        .with_hint("without --workspace, or with --workspace copy, it has files of its own")
}

fn is_candidate(choice: BackendChoice, name: BackendName) -> bool {
    match choice {
        BackendChoice::Auto => name != BackendName::Host,
        BackendChoice::Named(named) => named == name,
    }
}

fn refused(refusal: Refusal) -> Failure {
    let failure = Failure::new(FailureKind::General, refusal.to_string()).with_hint(refusal.hint());
    match refusal {
        Refusal::Unmet { unmet, .. } => Failure { unmet, ..failure },
        _ => failure,
    }
}

/// Looks at the Preflight Rules that are in force.
pub(super) fn look_at_rules(ports: &Ports<'_>, request: &TaskRequest, source: &WorkspaceSource) -> Result<(), Failure> {
    for rule in &request.policy.preflight {
        match rule {
            PreflightRule::CleanSource if request.uncommitted == Uncommitted::TakenAlong => {}
            PreflightRule::CleanSource => clean(ports.repository.cleanliness()?, source)?,
            // A backend that does not start is refused when the policy is resolved.
            PreflightRule::BackendStarts => {}
            PreflightRule::StoreWritable => ports.attempts.probe(ROOM_BYTES)?,
        }
    }
    Ok(())
}

fn clean(cleanliness: Cleanliness, source: &WorkspaceSource) -> Result<(), Failure> {
    let Cleanliness::Dirty { first, count } = cleanliness else { return Ok(()) };
    let entries = if count == 1 { "entry" } else { "entries" };
    let message = format!("the repository {} is not clean: {count} {entries}", Escaped(&source.host_path));
    let is_of_init = |entry: &DirtyEntry| {
        entry.state == DirtyState::Untracked && entry.path.split(|b| *b == b'/').next() == Some(b".isobox")
    };
    let advice = match first.iter().any(is_of_init) {
        true => "commit what `isobox init` wrote, and the rest",
        false => "commit, stash or ignore them",
    };
    Err(Failure::new(FailureKind::General, message).because(listed(&first, count)).with_hint(format!(
        "{advice}: a task starts from what is committed, and nothing else; with --allow-dirty it takes them along"
    )))
}

fn listed(first: &[DirtyEntry], count: u64) -> String {
    let mut lines: Vec<String> =
        first.iter().map(|entry| format!("{}: {}", word(entry.state), Escaped(&entry.path))).collect();
    let rest = count.saturating_sub(first.len() as u64);
    if rest > 0 {
        lines.push(format!("… and {rest} more"));
    }
    lines.join("\n")
}

const fn word(state: DirtyState) -> &'static str {
    match state {
        DirtyState::Staged => "staged",
        DirtyState::Unstaged => "changed",
        DirtyState::Untracked => "untracked",
        DirtyState::Unmerged => "in conflict",
    }
}
