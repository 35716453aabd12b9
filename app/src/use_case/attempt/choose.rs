//! Before anything is made: which backend, under which Effective Policy, and whether the Preflight Rules hold.

use super::{Ports, ROOM_BYTES, Retention, TaskRequest, Uncommitted, preflight_of};
use crate::failure::{Failure, FailureKind};
use isobox_domain::enforcement::Enforcement;
use isobox_domain::escape::Escaped;
use isobox_domain::limit::{Limit, LimitReport};
use isobox_domain::policy::{
    BackendChoice, BackendName, Capabilities, EffectivePolicy, Refusal, SandboxPolicy, WorkspaceChoice, WorkspaceKind,
    resolve,
};
use isobox_domain::preflight::PreflightRule;
use isobox_domain::source::{Cleanliness, DirtyEntry, DirtyState, WorkspaceSource};
use isobox_ports::{MemorySize, RuntimeBackend, WorkspaceForm};

/// Picks the backend for what was asked, or refuses. Only backends that could be picked are probed, and none after one that
/// no other can outdo.
pub(crate) fn choose<'a>(
    backends: &[&'a dyn RuntimeBackend],
    asked: &SandboxPolicy,
) -> Result<(&'a dyn RuntimeBackend, EffectivePolicy), Failure> {
    let candidates: Vec<_> = backends.iter().filter(|backend| is_candidate(asked.backend, backend.name())).collect();
    let mut capabilities: Vec<Capabilities> = Vec::new();
    for candidate in &candidates {
        capabilities.push(candidate.capabilities_with(&asked.limits));
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
    request: &TaskRequest<'_>,
    backend: &dyn RuntimeBackend,
    policy: &EffectivePolicy,
) -> Result<WorkspaceForm, Failure> {
    // What is in memory cannot be kept.
    let memory = memory_size(policy).filter(|_| request.retention == Retention::Dispose);
    let at = if memory.is_some() { None } else { Some(ports.workspaces.directory()) };
    let overlay = || Ok(WorkspaceForm::Overlay { kind: backend.overlay(at)?, memory });
    match request.workspace {
        WorkspaceChoice::Named(WorkspaceKind::Copy | WorkspaceKind::Reflink) => Ok(WorkspaceForm::Copy),
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
pub(super) fn insist(request: &TaskRequest<'_>, why: Option<&str>) -> Result<(), Failure> {
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

/// The size of what the workload may write, if that is limited and the limit is to hold: then it lies in memory.
pub(super) fn memory_size(policy: &EffectivePolicy) -> Option<MemorySize> {
    /// A file takes at least a page. That many small ones are no more than what large ones may take.
    const PAGE_BYTES: u64 = 4096;
    let held = |limit: Limit| {
        let report = policy.limits.iter().find(|report| report.limit == limit)?;
        report.applied
    };
    let bytes = held(Limit::Disk)?;
    let inodes = held(Limit::Inodes).unwrap_or_else(|| (bytes / PAGE_BYTES).saturating_add(1024));
    Some(MemorySize { bytes, inodes })
}

/// The Effective Policy once it is known what the Workspace is: one that is not in memory has no size of its own.
pub(super) fn with_form(policy: EffectivePolicy, form: &WorkspaceForm) -> Result<EffectivePolicy, Failure> {
    let why = match form {
        WorkspaceForm::Overlay { memory: Some(_), .. } => return Ok(policy),
        WorkspaceForm::Overlay { memory: None, .. } => "the workspace is written on disk",
        WorkspaceForm::Copy => "the workspace has files of its own, on disk",
    };
    let is_about_disk = |limit| matches!(limit, Limit::Disk | Limit::Inodes);
    let settle = |report: LimitReport| match report.enforcement {
        Enforcement::NotEnforced { .. } => report,
        _ if is_about_disk(report.limit) => LimitReport::not(report.limit, report.asked, why),
        _ => report,
    };
    let limits = policy.limits.iter().cloned().map(settle).collect();
    let policy = policy.with_limits(limits);
    match policy.unmet_limits() {
        Some(unmet) => Err(refused(Refusal::Unmet { reasons: unmet.to_string(), unmet: vec![unmet] })),
        None => Ok(policy),
    }
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
pub(super) fn look_at_rules(
    ports: &Ports<'_>,
    request: &TaskRequest<'_>,
    source: &WorkspaceSource,
) -> Result<(), Failure> {
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
