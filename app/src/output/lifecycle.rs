//! The lines that `run` and `tool` print around a workload.

use crate::exit_code::ExitCode;
use crate::failure::{Failure, FailureKind};
use crate::output::console::{Console, Verbosity};
use crate::output::text;
use crate::use_case::attempt::{Attempted, Progress};
use isobox_domain::enforcement::{Control, Enforcement};
use isobox_domain::escape::Escaped;
use isobox_domain::limit::LimitReport;
use isobox_domain::outcome::{Exit, Outcome};
use isobox_domain::policy::BackendName;
use isobox_domain::promotion::PromotionRefusal;
use isobox_domain::record::{SandboxKind, TaskRecord, WorkspaceFate};
use isobox_domain::timestamp::Timestamp;

/// Tells what goes on during an attempt.
pub(crate) fn progress(console: Console, progress: Progress<'_>) {
    match progress {
        Progress::Warning(sentence) => console.warning(sentence),
        Progress::TookAlong(record, summary) => {
            let paths = text::counted(summary.changed(), "path");
            let what = match (record.kind, summary.changed()) {
                (SandboxKind::Verification, 1) => "as the promotion would leave it",
                (SandboxKind::Verification, _) => "as the promotion would leave them",
                (_, 1) => "of the source that is not committed",
                _ => "of the source that are not committed",
            };
            console.line(&format!("isobox task {}: with {paths} {what}", record.task));
        }
        Progress::Waiting { running } => console.line(&waiting(running)),
        Progress::Started(record) => {
            console.line(&format!("isobox task {}: {}", record.task, beginning(record.kind)));
            console.line(&format!("isobox task {}: {}", record.task, policy(record)));
            for report in &record.policy.controls {
                let held = text::enforcement(&report.enforcement);
                console.detail(&format!("isobox task {}: {} {held}", record.task, report.control.name()));
            }
            let is_held = |report: &&LimitReport| report.enforcement.is_enforced();
            for report in record.policy.limits.iter().filter(|report| !is_held(report)) {
                // Whoever asks for a limit and does not have it must not learn of it afterwards.
                let (limit, asked) = (report.limit, report.limit.shown(Some(report.asked)));
                let held = text::enforcement(&report.enforcement);
                console.line(&format!("isobox task {}: limit {limit}={asked} {held}", record.task));
            }
        }
    }
}

fn waiting(running: u64) -> String {
    let run = if running == 1 { "1 task runs".to_owned() } else { format!("{running} tasks run") };
    format!("waiting: {run} in this task store, as many as may; --no-wait refuses instead")
}

const fn beginning(kind: SandboxKind) -> &'static str {
    match kind {
        SandboxKind::Session => "starting session",
        SandboxKind::ToolCall => "starting tool call",
        SandboxKind::Verification => "starting verification",
    }
}

fn policy(record: &TaskRecord) -> String {
    let word = |control| {
        let found = record.policy.controls.iter().find(|report| report.control == control);
        found.map_or("not_enforced", |report| report.enforcement.word())
    };
    let mut line = format!(
        "policy network={} network_enforcement={} credentials=none credential_enforcement={} backend={}",
        record.policy.asked.network.name(),
        word(Control::Network),
        word(Control::Credentials),
        record.policy.backend.name(),
    );
    let filesystem = record.policy.controls.iter().find(|report| report.control == Control::Filesystem);
    if !filesystem.is_some_and(|report| report.enforcement.is_enforced()) {
        let word = filesystem.map_or("not_enforced", |report| Enforcement::word(&report.enforcement));
        line.push_str(&format!(" filesystem_enforcement={word}"));
    }
    line
}

/// Tells how an attempt ended, and what to do next. `obstacle` stands in the way of a Promotion into the repository as it
/// is now; `flags` name the place that the next command is about, each after a blank.
pub(crate) fn ended(console: Console, attempted: &Attempted, obstacle: Option<&PromotionRefusal>, flags: &str) {
    let Attempted { record, code, .. } = attempted;
    let task = record.task;
    let tell = |line: String| console.line(&format!("isobox task {task}: {line}"));
    if let (Some(detail), None) = (&record.outcome_detail, failure(record, flags)) {
        tell(format!("{}: {}", record.outcome.name(), Escaped(detail.as_bytes())));
    }
    tell(format!("completed {}", text::outcome(record)));
    console.detail(&format!("isobox task {task}: {}", durations(record)));
    if record.kind == SandboxKind::Session || matches!(record.workspace, WorkspaceFate::Retained { .. }) {
        workspace(record).into_iter().for_each(tell);
    }
    let changed = text::summary(record).map_or(0, |summary| summary.changed());
    if record.outcome == Outcome::LaunchFailure {
        if let (Verbosity::Quiet, Some(detail)) = (console.verbosity, &record.outcome_detail) {
            console.warning(&Escaped(detail.as_bytes()).to_string());
        }
        console.line(advice(record, *code));
    }
    if lost_command(record) {
        console.line(NO_TOOLCHAIN);
    }
    let obstacle = obstacle.filter(|_| text::is_reviewable(record));
    if let Some(refusal) = obstacle {
        console.line(&format!("isobox task {task}: cannot be promoted as it is: {refusal}"));
    }
    let next = match obstacle {
        Some(PromotionRefusal::HeadMoved { .. }) => {
            format!("isobox rerun --current{flags} {task}, or isobox diff{flags} {task}")
        }
        Some(refusal) => refusal.hint(record, flags),
        None if text::is_reviewable(record) && record.outcome == Outcome::Success => {
            format!("isobox diff{flags} {task} && isobox promote{flags} {task}")
        }
        None if text::is_reviewable(record) => format!("isobox diff{flags} {task}"),
        None => format!("isobox show{flags} {task}"),
    };
    let left_out = text::summary(record).map_or(0, |summary| summary.not_captured);
    if changed > 0 || record.kind == SandboxKind::Session || record.outcome != Outcome::Success {
        let files = text::counted(changed, "changed file");
        let more = if left_out > 0 { format!(" and {left_out} not captured") } else { String::new() };
        console.line(&format!("isobox task {task}: {files}{more}, next: {next}"));
    } else if left_out > 0 {
        let paths = text::counted(left_out, "path");
        console.line(&format!("isobox task {task}: {paths} not captured, next: isobox diff --stat{flags} {task}"));
    }
}

/// Tells how a verification ended.
pub(crate) fn verified(console: Console, record: &TaskRecord) {
    let task = record.task;
    if let Some(detail) = &record.outcome_detail {
        console.line(&format!("isobox task {task}: {}: {}", record.outcome.name(), Escaped(detail.as_bytes())));
    }
    console.line(&format!("isobox task {task}: completed {}", text::outcome(record)));
    console.detail(&format!("isobox task {task}: {}", durations(record)));
    if lost_command(record) {
        console.line(NO_TOOLCHAIN);
    }
}

/// Whether a shell or a script inside of a Sandbox did not find a command: perhaps the host has it.
fn lost_command(record: &TaskRecord) -> bool {
    record.exit == Some(Exit::Code(COMMAND_NOT_FOUND)) && record.policy.backend != BackendName::Host
}

/// What to do about a command that could not be executed.
fn advice(record: &TaskRecord, code: ExitCode) -> &'static str {
    let name = record.command.first().map(|word| String::from_utf8_lossy(&word.shown).into_owned()).unwrap_or_default();
    match () {
        () if name.contains([';', '|', '&', '>', '<', '$']) => "hint: give this to a shell: sh -c '…'",
        () if name.contains(' ') => "hint: this is one word; leave its quotes out, or give it to a shell: sh -c '…'",
        () if BUILT_IN.contains(&name.as_str()) => "hint: this is a command of shells; give it to one: sh -c '…'",
        () if name.contains('/') && code == ExitCode::COMMAND_NOT_FOUND => {
            "hint: a sandbox shows the system's programs and what is committed here: is it committed, or ignored by Git?"
        }
        () if name.contains('/') => {
            "hint: is it executable? `chmod +x` and commit it, or name its interpreter before it"
        }
        () => NO_TOOLCHAIN,
    }
}

/// What a shell ends with that did not find a command; see sh(1).
const COMMAND_NOT_FOUND: u8 = 127;
const NO_TOOLCHAIN: &str =
    "hint: a sandbox shows the system's programs and the repository; to show it a toolchain, see `isobox help policy`";

/// What people type that no program of that name is needed for.
const BUILT_IN: [&str; 6] = ["cd", "export", "source", ".", "alias", "set"];

/// How long it took, in milliseconds.
fn durations(record: &TaskRecord) -> String {
    let ms = |from: Timestamp, to: Timestamp| to.unix_ms().saturating_sub(from.unix_ms());
    match record.started_at {
        None => format!("never started; took {} ms", ms(record.created_at, record.ended_at)),
        Some(started_at) => {
            let (before, during) = (ms(record.created_at, started_at), ms(started_at, record.ended_at));
            format!("took {before} ms until its start and ran {during} ms")
        }
    }
}

/// What isobox itself could not do for a Task that is on record all the same.
pub(crate) fn failure(record: &TaskRecord, flags: &str) -> Option<Failure> {
    let what = match record.outcome {
        Outcome::PreparationFailure => "was not started",
        Outcome::ResultCaptureFailure => "ran, but not all of its result could be captured",
        _ => return None,
    };
    let failure = Failure::new(FailureKind::General, format!("{} {what}", record.task));
    let failure = record.outcome_detail.iter().fold(failure, |failure, why| failure.because(why.clone()));
    let doctor = if record.started_at.is_none() { "; `isobox doctor` tries this machine" } else { "" };
    Some(failure.with_hint(format!("`isobox show{flags} {}` shows what is on record{doctor}", record.task)))
}

fn workspace(record: &TaskRecord) -> Option<String> {
    match &record.workspace {
        WorkspaceFate::NeverCreated => None,
        WorkspaceFate::Disposed => Some("workspace disposed".to_owned()),
        WorkspaceFate::Retained { host_path } => Some(format!("workspace retained at: {}", Escaped(host_path))),
    }
}
