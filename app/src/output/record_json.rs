//! `record.json` and `show --json`: a record as a JSON document.

use crate::output::redacting::Redacted;
use crate::output::timings;
use isobox_domain::change::ChangeSetRef;
use isobox_domain::content::{ContentId, ContentRef, hex};
use isobox_domain::enforcement::{ControlReport, Enforcement};
use isobox_domain::escape::Escaped;
use isobox_domain::event::{Destination, Event, EventKind, Promoted, standing_promotions};
use isobox_domain::limit::{ExceededLimit, LimitReport};
use isobox_domain::outcome::{Exit, MemoryScope};
use isobox_domain::policy::{
    BackendChoice, CopyChanges, EffectivePolicy, Exposure, HideRule, ReuseInput, WorkspaceKind,
};
use isobox_domain::probe::ProbeResult;
use isobox_domain::promotion::Selection;
use isobox_domain::record::{OutputLoss, RecordedArgument, SandboxKind, TaskRecord, WorkspaceFate};
use isobox_domain::repo_path::RepoPath;
use isobox_domain::timings::Timings;
use isobox_domain::v1::ORIGIN_EXTENSION;
use serde_json::{Map, Value, json};
use std::collections::BTreeSet;

/// Version of the document's fields.
const SCHEMA_VERSION: &str = "v2";

/// The bytes of `record.json`.
pub(crate) fn view_document(
    record: &TaskRecord,
    digest: &ContentId,
    events: &[Event],
    report: Value,
    redacted: Option<&Redacted>,
) -> Vec<u8> {
    let document = Value::Object(fields(record, digest, events, report));
    let document = redacted.map_or(document.clone(), |redacted| redacted.document(document));
    let mut bytes = format!("{document:#}").into_bytes();
    bytes.push(b'\n');
    bytes
}

/// The document of `show --json`.
pub(crate) fn show_document(record: &TaskRecord, digest: &ContentId, events: &[Event], report: Value) -> Value {
    let mut document = Map::new();
    document.insert("schema".into(), "isobox.record/v1".into());
    document.extend(fields(record, digest, events, report));
    Value::Object(document)
}

fn fields(record: &TaskRecord, digest: &ContentId, events: &[Event], report: Value) -> Map<String, Value> {
    let fields = json!({
        "schema_version": SCHEMA_VERSION,
        "id": record.task.to_string(),
        "record": digest.to_string(),
        "attempt": record.attempt,
        "kind": kind(record.kind),
        "created_at": record.created_at.to_string(),
        "started_at": record.started_at.map(|moment| moment.to_string()),
        "ended_at": record.ended_at.to_string(),
        "command": command(&record.command),
        "effective_policy": effective_policy(&record.policy),
        "workspace": workspace(record),
        "terminal": record.terminal.map(|size| json!({ "columns": size.columns, "rows": size.rows })),
        "outcome": record.outcome.name(),
        "outcome_detail": record.outcome_detail,
        "exceeded_limits": record.exceeded.iter().map(exceeded).collect::<Vec<_>>(),
        "result": result(record),
        "promotion": promotion(events),
        "promotion_report": report,
        "events": events.iter().map(event).collect::<Vec<_>>(),
        "warnings": record.warnings,
        "tools": record.tools.iter().map(|(name, version)| (name.clone(), json!(version))).collect::<Map<_, _>>(),
        "salt": hex(&record.salt),
        "parents": record.parents.iter().map(ToString::to_string).collect::<Vec<_>>(),
    });
    match fields {
        Value::Object(mut fields) => {
            fields.extend(timings::of(record).map(|timings| ("timings_us".to_owned(), timings_us(&timings))));
            if !record.probes.is_empty() {
                fields.insert("probes".to_owned(), record.probes.iter().map(probe).collect());
            }
            fields.extend(origin(record).map(|origin| ("origin".to_owned(), origin.into())));
            fields
        }
        _ => Map::new(),
    }
}

/// One attack from inside, and what came of it.
fn probe(result: &ProbeResult) -> Value {
    json!({
        "control": result.control.name(),
        "tried": result.tried,
        "outcome": result.outcome.name(),
        "detail": result.outcome.detail(),
    })
}

/// Phases in order, each with its µs.
fn timings_us(timings: &Timings) -> Value {
    timings
        .laps()
        .iter()
        .map(|(phase, took_us)| (phase.name().to_owned(), json!(took_us)))
        .collect::<Map<_, _>>()
        .into()
}

/// Where an imported record comes from; nothing for one of isobox's own.
pub(crate) fn origin(record: &TaskRecord) -> Option<String> {
    let origin = record.extensions.iter().find(|(name, _)| name == ORIGIN_EXTENSION);
    origin.map(|(_, value)| Escaped(value).to_string())
}

/// The name of a kind of Sandbox.
pub(crate) const fn kind(kind: SandboxKind) -> &'static str {
    match kind {
        SandboxKind::Session => "session",
        SandboxKind::ToolCall => "tool_call",
        SandboxKind::Verification => "verification",
    }
}

/// The Workload Command: a text per argument, or what [`bytes`] makes of those that are not UTF-8.
pub(crate) fn command(arguments: &[RecordedArgument]) -> Value {
    arguments.iter().map(|argument| bytes(&argument.shown)).collect()
}

/// Bytes that need not be text: a string if they are UTF-8, else an object with their `hex` and how they are `shown`.
pub(crate) fn bytes(bytes: &[u8]) -> Value {
    match std::str::from_utf8(bytes) {
        Ok(text) => text.into(),
        Err(_) => json!({ "hex": hex(bytes), "shown": Escaped(bytes).to_string() }),
    }
}

fn effective_policy(policy: &EffectivePolicy) -> Value {
    let asked = &policy.asked;
    let chosen = match asked.backend {
        BackendChoice::Auto => "auto",
        BackendChoice::Named(name) => name.name(),
    };
    json!({
        "runtime_backend": policy.backend.name(),
        "requested_backend": chosen,
        "network": { "default": asked.network.name(), "allow": asked.network_allow },
        "path_mode": asked.path_mode.name(),
        "filesystem": {
            "expose_workspace": asked.workspace.name(),
            "read": asked.read.iter().map(|path| bytes(path)).collect::<Vec<_>>(),
            "write": asked.files.write.iter().map(|rule| bytes(&rule.path)).collect::<Vec<_>>(),
            "captured": asked.files.write.iter().filter(|rule| rule.changes == CopyChanges::Captured).map(|rule| bytes(&rule.path)).collect::<Vec<_>>(),
            "hide": asked.files.hide.iter().map(HideRule::as_str).collect::<Vec<_>>(),
            "unsafe_exposed": asked.files.unsafe_shown.iter().map(|path| bytes(path)).collect::<Vec<_>>(),
        },
        "protected": asked.files.protected.iter().map(|path| bytes(path.as_bytes())).collect::<Vec<_>>(),
        "reuse_inputs": asked.reuse_inputs.iter().map(reuse_input).collect::<Vec<_>>(),
        "caches": asked.caches.iter().map(|cache| cache.name()).collect::<Vec<_>>(),
        "exposures": policy.exposures.iter().map(exposure).collect::<Vec<_>>(),
        "require": asked.require.as_slice().iter().map(|required| required.name()).collect::<Vec<_>>(),
        "unsafe_overrides": asked.unsafe_overrides.iter().map(|override_| override_.name()).collect::<Vec<_>>(),
        "enforcement": policy.controls.iter().map(control).collect::<Map<_, _>>(),
        "limits": policy.limits.iter().map(limit).collect::<Map<_, _>>(),
        "limitations": policy.limitations,
        "workspace": policy.workspace.map(WorkspaceKind::name),
        "why_this_backend": policy.why_this_backend,
    })
}

fn reuse_input(input: &ReuseInput) -> Value {
    let digest = input.digest.map(|digest| digest.to_string());
    json!({ "kind": input.kind.name(), "value": input.value, "digest": digest })
}

fn exposure(exposure: &Exposure) -> Value {
    json!({ "what": exposure.what, "weakens": exposure.control.name(), "why": exposure.why })
}

/// Each limit that was asked for: values as a policy file has them, and whether it held.
fn limit(report: &LimitReport) -> (String, Value) {
    let LimitReport { limit, asked, applied, enforcement: held } = report;
    let mut value = enforcement(held);
    if let Value::Object(fields) = &mut value {
        fields.insert("asked".to_owned(), limit.shown(Some(*asked)).into());
        fields.insert("applied".to_owned(), applied.map(|applied| limit.shown(Some(applied))).into());
    }
    (limit.name().to_owned(), value)
}

/// A limit that the workload ran into.
pub(crate) fn exceeded(exceeded: &ExceededLimit) -> Value {
    let ExceededLimit { limit, value, observed, evidence, effect } = exceeded;
    json!({
        "limit": limit.name(),
        "value": limit.shown(Some(*value)),
        "observed": limit.shown(Some(*observed)),
        "evidence": evidence,
        "effect": effect.name(),
    })
}

fn control(report: &ControlReport) -> (String, Value) {
    (report.control.name().to_owned(), enforcement(&report.enforcement))
}

/// Whether a control held, and by what or why not.
pub(crate) fn enforcement(enforcement: &Enforcement) -> Value {
    match enforcement {
        Enforcement::Enforced { mechanism } => json!({ "status": enforcement.word(), "mechanism": mechanism }),
        Enforcement::PartiallyEnforced { mechanism, reason } => {
            json!({ "status": enforcement.word(), "mechanism": mechanism, "reason": reason })
        }
        Enforcement::NotEnforced { reason } => json!({ "status": enforcement.word(), "reason": reason }),
    }
}

fn workspace(record: &TaskRecord) -> Value {
    let (retention, path) = match &record.workspace {
        WorkspaceFate::NeverCreated => ("never_created", None),
        WorkspaceFate::Disposed => ("disposed", None),
        WorkspaceFate::Retained { host_path } => ("retained", Some(bytes(host_path))),
    };
    let source = &record.source;
    json!({
        "source_type": "repository",
        "source": bytes(&source.host_path),
        "root_commit": source.root_commit.map(|oid| oid.to_string()),
        "commit": source.commit.to_string(),
        "branch": source.branch.as_deref().map(bytes),
        "working_directory": source.working_directory.as_ref().map(|path| bytes(path.as_bytes())),
        "snapshot": record.artifacts.source_snapshot.map(snapshot),
        "retention": retention,
        "path": path,
    })
}

fn result(record: &TaskRecord) -> Value {
    let artifacts = &record.artifacts;
    let artifact = |found: Option<ContentRef>, path: &str| {
        found.map(|found| json!({ "path": path, "digest": found.id.to_string(), "length": found.length }))
    };
    json!({
        "exit_code": record.exit.map(Exit::passed_on),
        "signal": match record.exit { Some(Exit::Signal(signal)) => Some(signal), _ => None },
        "artifacts": {
            "stdout": artifact(artifacts.stdout, "artifacts/stdout.txt"),
            "stderr": artifact(artifacts.stderr, "artifacts/stderr.txt"),
            "timeline": artifacts.timeline.map(reference),
            "diff": artifact(artifacts.patch, "artifacts/diff.patch"),
            "change_set": artifacts.change_set.map(change_set),
            "workspace_git": artifacts.workspace_git.map(reference),
            "host_copies": artifacts.host_copies.map(snapshot),
            "v1_record": artifacts.v1_record.map(reference),
            "v1_files": artifacts.v1_files.map(reference),
        },
        "changes": artifacts.change_set.map(|set| changes(&set)),
        "stdin": record.stdin.map(reference),
        "dropped_output_bytes": match record.output_loss { OutputLoss::None => 0, OutputLoss::StoreFailed { dropped_bytes } => dropped_bytes },
        "usage": {
            "user_cpu_us": record.usage.user_cpu_us,
            "system_cpu_us": record.usage.system_cpu_us,
            "peak_memory_bytes": record.usage.peak_memory_bytes,
            "peak_memory_of": record.usage.peak_memory_of.map(|scope| match scope {
                MemoryScope::LargestProcess => "largest_process",
                MemoryScope::Tree => "tree",
            }),
        },
    })
}

/// A Change Set beside the Task's own, with its totals.
fn snapshot(set: ChangeSetRef) -> Value {
    json!({ "digest": set.id.to_string(), "length": set.length, "changes": changes(&set) })
}

fn reference(reference: ContentRef) -> Value {
    json!({ "digest": reference.id.to_string(), "length": reference.length })
}

fn change_set(set: ChangeSetRef) -> Value {
    json!({ "digest": set.id.to_string(), "length": set.length })
}

/// The totals of a Change Set.
pub(crate) fn changes(set: &ChangeSetRef) -> Value {
    let summary = set.summary;
    json!({
        "added": summary.added,
        "modified": summary.modified,
        "deleted": summary.deleted,
        "not_captured": summary.not_captured,
    })
}

/// The state of Promotion: of the last one that was made, or that there was none.
pub(crate) fn promotion(events: &[Event]) -> Value {
    let promoted = standing_promotions(events).filter_map(|event| match &event.kind {
        EventKind::Promoted(promoted) => Some((event, promoted)),
        _ => None,
    });
    promoted
        .last()
        .map_or_else(|| json!({ "state": "not_promoted" }), |(event, promoted)| promoted_document(event, promoted))
}

fn promoted_document(event: &Event, promoted: &Promoted) -> Value {
    let mut document = json!({
        "state": "promoted",
        "promoted_at": event.at.to_string(),
        "repository": bytes(&promoted.host_path),
        "commit": promoted.commit.to_string(),
        "branch": promoted.branch.as_deref().map(bytes),
        "confirmation": promoted.confirmation.name(),
        "paths": promoted.paths,
        "destination": promoted.destination.name(),
    });
    if let Some(part) = &promoted.part {
        document["part"] = part_document(part);
    }
    if let Some(made) = promoted.destination.made() {
        document["made"] = json!(made.to_string());
    }
    if let Destination::Branch { name, .. } = &promoted.destination {
        document["made_branch"] = bytes(name);
    }
    if let Some(merged) = &promoted.merged {
        document["three_way"] = json!({ "conflicts": merged.conflicts });
    }
    if let Some(overridden) = &promoted.overridden {
        document["overridden"] = json!({
            "reason": overridden.reason,
            "require": overridden.require.iter().map(|entry| entry.name()).collect::<Vec<_>>(),
            "block": overridden.block.iter().map(|entry| entry.name()).collect::<Vec<_>>(),
        });
    }
    if let Some(verified) = &promoted.verified {
        document["verified_by"] = json!(verified.to_string());
    }
    document
}

fn part_document(Selection { only, except, hunks }: &Selection) -> Value {
    let paths = |paths: &BTreeSet<RepoPath>| paths.iter().map(|path| bytes(path.as_bytes())).collect::<Vec<_>>();
    let mut document = json!({ "only": paths(only), "except": paths(except) });
    if !hunks.is_empty() {
        let hunks =
            hunks.iter().map(|chosen| json!({ "path": bytes(chosen.path.as_bytes()), "numbers": chosen.numbers }));
        document["hunks"] = hunks.collect();
    }
    document
}

fn event(event: &Event) -> Value {
    match &event.kind {
        EventKind::Promoted(promoted) => promoted_document(event, promoted),
        EventKind::Rejected { reason } => {
            json!({ "state": "rejected", "rejected_at": event.at.to_string(), "reason": reason })
        }
        EventKind::Undone => json!({ "state": "undone", "undone_at": event.at.to_string() }),
        EventKind::Pinned => json!({ "state": "pinned", "pinned_at": event.at.to_string() }),
        EventKind::Unpinned => json!({ "state": "unpinned", "unpinned_at": event.at.to_string() }),
        EventKind::Pruned { reason } => {
            json!({ "state": "pruned", "pruned_at": event.at.to_string(), "reason": reason })
        }
    }
}
