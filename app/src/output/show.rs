//! A record for people.

use crate::output::columns::wrapped;
use crate::output::record_json;
use crate::output::text;
use crate::output::timings;
use isobox_domain::change::ChangeSummary;
use isobox_domain::content::{ContentId, ContentRef};
use isobox_domain::escape::Escaped;
use isobox_domain::event::{Destination, Event, EventKind, Merged, Promoted};
use isobox_domain::limit::LimitReport;
use isobox_domain::record::{SandboxKind, TaskRecord, WorkspaceFate};
use std::io::{self, Write};

/// The column in which values begin, and the one in which what is said of a control begins.
const VALUES: usize = 13;
const CONTROLS: usize = VALUES + 13;

/// Writes what a reviewer wants to know first: what ran, how it ended, what it changed, what held. Sentences are broken at
/// `columns`, if there are any; the command and what is copied are not.
pub(crate) fn show(
    out: &mut dyn Write,
    record: &TaskRecord,
    digest: &ContentId,
    events: &[Event],
    columns: Option<usize>,
) -> io::Result<()> {
    let mut field = |name: &str, value: String| writeln!(out, "{name:<12} {value}");
    let sentence = |text: &str| wrapped(text, VALUES, columns);
    field("task", record.task.to_string())?;
    if record.attempt > 1 {
        field("attempt", record.attempt.to_string())?;
    }
    field("record", digest.to_string())?;
    field("command", text::command(&record.command))?;
    field("kind", record_json::kind(record.kind).to_owned())?;
    if let (SandboxKind::Verification, Some(verified)) = (record.kind, record.parents.first()) {
        field("verifies", verified.to_string())?;
    }
    field("outcome", text::outcome(record).trim_start_matches("outcome=").to_owned())?;
    if let Some(detail) = &record.outcome_detail {
        field("", sentence(&Escaped(detail.as_bytes()).to_string()))?;
    }
    field("created", record.created_at.to_string())?;
    field("ended", record.ended_at.to_string())?;
    if let Some(timings) = timings::of(record) {
        field("timings", sentence(&timings::line(&timings)))?;
    }
    if let Some(origin) = record_json::origin(record) {
        field("origin", format!("imported ({origin}); not checked by this isobox"))?;
    }
    field("source", source(record))?;
    if let Some(snapshot) = record.artifacts.source_snapshot {
        let what = match record.kind {
            SandboxKind::Verification => "with what it verified",
            SandboxKind::Session | SandboxKind::ToolCall => "with what was not committed",
        };
        field("", sentence(&format!("{what}: {} ({})", totals(&snapshot.summary), snapshot.id)))?;
    }
    field("workspace", workspace(record))?;
    field("changes", changes(record))?;
    if let Some(git) = record.artifacts.workspace_git {
        field(
            "commits",
            sentence(&format!("{} of its own, kept in the record; a promotion brings files alone", length(Some(git)))),
        )?;
    }
    if let Some(copies) = record.artifacts.host_copies {
        let told = format!(
            "{} in copies of host files, kept in the record: `isobox export` writes and lists them; they are no part of a \
             promotion",
            counts(&copies.summary)
        );
        field("copies", sentence(&told))?;
    }
    if let Some(size) = record.terminal {
        field(
            "terminal",
            sentence(&format!("{} columns, {} rows; standard output is what was shown there", size.columns, size.rows)),
        )?;
    }
    for (name, artifact) in [("stdout", record.artifacts.stdout), ("stderr", record.artifacts.stderr)] {
        field(name, length(artifact))?;
    }
    field("backend", record.policy.backend.name().to_owned())?;
    for report in &record.policy.controls {
        let held = wrapped(&text::enforcement(&report.enforcement), CONTROLS, columns);
        field("", format!("{:<12} {held}", report.control.name()))?;
    }
    for limitation in &record.policy.limitations {
        field("limitation", sentence(&Escaped(limitation.as_bytes()).to_string()))?;
    }
    for exposure in &record.policy.exposures {
        let weakens = format!("{} weakens {}: {}", exposure.what, exposure.control.name(), exposure.why);
        field("exposed", sentence(&Escaped(weakens.as_bytes()).to_string()))?;
    }
    for result in &record.probes {
        let told =
            format!("{}: {} ({})", result.outcome.name().replace('_', " "), result.tried, result.outcome.detail());
        let told = wrapped(&Escaped(told.as_bytes()).to_string(), CONTROLS, columns);
        field("probe", format!("{:<12} {told}", result.control.name()))?;
    }
    for report in &record.policy.limits {
        let LimitReport { limit, asked, enforcement, .. } = report;
        let held = wrapped(&text::enforcement(enforcement), CONTROLS, columns);
        field("limit", format!("{:<12} {held}", format!("{limit}={}", limit.shown(Some(*asked)))))?;
    }
    let required: Vec<&str> = record.policy.asked.require.as_slice().iter().map(|required| required.name()).collect();
    if !required.is_empty() {
        field("required", sentence(&required.join(", ")))?;
    }
    for override_ in &record.policy.asked.unsafe_overrides {
        field("unsafe", sentence(&format!("{}: weaker than the project's policy had it", override_.key())))?;
    }
    for event in events {
        field("event", sentence(&happened(event)))?;
    }
    for warning in &record.warnings {
        field("warning", sentence(&Escaped(warning.as_bytes()).to_string()))?;
    }
    Ok(())
}

fn source(record: &TaskRecord) -> String {
    let source = &record.source;
    let branch = source.branch.as_deref().map_or_else(
        || "detached".to_owned(),
        |branch| Escaped(branch.strip_prefix(b"refs/heads/").unwrap_or(branch)).to_string(),
    );
    format!("{} at {} ({branch})", Escaped(&source.host_path), source.commit.short())
}

fn workspace(record: &TaskRecord) -> String {
    let kind = record.policy.workspace.map_or_else(String::new, |kind| format!("{}, ", kind.name()));
    match &record.workspace {
        WorkspaceFate::NeverCreated => "never created".to_owned(),
        WorkspaceFate::Disposed => format!("{kind}disposed"),
        WorkspaceFate::Retained { host_path } => format!("{kind}retained at {}", Escaped(host_path)),
    }
}

fn changes(record: &TaskRecord) -> String {
    match (text::summary(record), record.artifacts.patch) {
        (Some(summary), _) => counts(&summary),
        (None, Some(patch)) => format!("a patch of {}, which was imported", text::counted(patch.length, "byte")),
        (None, None) => "none".to_owned(),
    }
}

/// The totals, with what was not captured if there is any.
fn counts(summary: &ChangeSummary) -> String {
    let mut words = totals(summary);
    if summary.not_captured > 0 {
        words.push_str(&format!(", {} not captured", summary.not_captured));
    }
    words
}

fn totals(summary: &ChangeSummary) -> String {
    format!("{} added, {} modified, {} deleted", summary.added, summary.modified, summary.deleted)
}

fn length(artifact: Option<ContentRef>) -> String {
    artifact.map_or("empty".to_owned(), |artifact| text::counted(artifact.length, "byte"))
}

/// Where a Promotion went, if not into the files alone.
fn went_to(destination: &Destination) -> String {
    match destination {
        Destination::WorkingTree => String::new(),
        Destination::Index => ", staged".into(),
        Destination::Commit { made } => format!(", as commit {}", made.short()),
        Destination::Branch { made, name } => {
            let name = name.strip_prefix(b"refs/heads/").unwrap_or(name);
            format!(", as commit {} on branch {}", made.short(), Escaped(name))
        }
    }
}

/// What a merge left, if there was one.
fn merged(merged: Option<Merged>) -> String {
    match merged {
        None => String::new(),
        Some(Merged { conflicts: 0 }) => ", by a three-way merge".into(),
        Some(Merged { conflicts }) => {
            format!(", by a three-way merge that left {} with conflict markers", text::counted(conflicts, "path"))
        }
    }
}

/// What is to be said of a policy that asked for something, and of a verification.
fn gate(promoted: &Promoted) -> String {
    let verified = promoted.verified.map_or_else(String::new, |record| format!(", verified by {}", record));
    let overridden = promoted.overridden.as_deref().map_or_else(String::new, |overridden| {
        let entries = text::overridden(overridden).join(", ");
        format!(", in spite of {entries}: {}", Escaped(overridden.reason.as_bytes()))
    });
    verified + &overridden
}

fn happened(event: &Event) -> String {
    match &event.kind {
        EventKind::Promoted(promoted) => format!(
            "{} promoted {}into {} at {} ({}, {}){}",
            event.at,
            if promoted.part.is_some() { "in part " } else { "" },
            Escaped(&promoted.host_path),
            promoted.commit.short(),
            text::counted(promoted.paths, "path"),
            promoted.confirmation.name(),
            [went_to(&promoted.destination), merged(promoted.merged), gate(promoted)].concat()
        ),
        EventKind::Undone => format!("{} promotion undone", event.at),
        EventKind::Rejected { reason } => format!("{} rejected: {}", event.at, Escaped(reason.as_bytes())),
        EventKind::Pinned => format!("{} pinned", event.at),
        EventKind::Unpinned => format!("{} unpinned", event.at),
        EventKind::Pruned { reason } => format!("{} pruned: {}", event.at, Escaped(reason.as_bytes())),
    }
}
