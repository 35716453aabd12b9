//! The v1 record that stands for a Task Record.

use super::{DIFF_FILE, STDERR_FILE, STDOUT_FILE, V1Output, V1Policy, V1Record};
use crate::content::ContentRef;
use crate::event::{Confirmation, Event, EventKind, standing_promotions};
use crate::outcome::{Exit, Outcome};
use crate::record::{TaskRecord, WorkspaceFate};
use crate::repo_path::RepoPath;

impl V1Record {
    /// What the existing tool would have written about `record`, as far as its words go; `events` are those about it.
    pub fn of(record: &TaskRecord, events: &[Event]) -> Self {
        let (retention, workspace_path) = match &record.workspace {
            WorkspaceFate::Retained { host_path } => ("retained", text(host_path)),
            WorkspaceFate::NeverCreated | WorkspaceFate::Disposed => ("disposable", String::new()),
        };
        Self {
            id: record.task.to_string(),
            created_at: record.created_at.to_string(),
            policy: policy(record),
            source_type: "repository".to_owned(),
            source_commit: record.source.commit.to_string(),
            retention: retention.to_owned(),
            workspace_path,
            outcome: outcome(record.outcome).name().to_owned(),
            exit_code: record.exit.map(Exit::passed_on).filter(|&code| code != 0).map(i64::from),
            error: record.outcome_detail.clone().unwrap_or_default(),
            exit_status: record.exit.map(Exit::passed_on).map(i64::from),
            stdout: output(record.artifacts.stdout, STDOUT_FILE),
            stderr: output(record.artifacts.stderr, STDERR_FILE),
            diff: output(record.artifacts.patch, DIFF_FILE),
            untracked: Vec::new(),
            promotion_mode: standing_promotions(events).filter_map(mode).last().unwrap_or_default().to_owned(),
            changed_files: record.artifacts.change_set.map_or(0, |set| set.summary.changed()),
        }
    }
}

fn policy(record: &TaskRecord) -> V1Policy {
    let asked = &record.policy.asked;
    V1Policy {
        workspace_source: text(&record.source.host_path),
        workload_command: record.command.iter().map(|argument| text(&argument.shown)).collect(),
        runtime_backend: record.policy.backend.name().to_owned(),
        network: asked.network.name().to_owned(),
        reuse_inputs: asked
            .reuse_inputs
            .iter()
            .map(|input| (input.kind.name().to_owned(), input.value.clone()))
            .collect(),
        limitations: record.policy.limitations.clone(),
    }
}

// The existing tool refuses a record with an outcome that it does not know.
const fn outcome(outcome: Outcome) -> Outcome {
    match outcome {
        Outcome::Interruption | Outcome::LimitExceeded => Outcome::ResultCaptureFailure,
        known => known,
    }
}

fn output(artifact: Option<ContentRef>, path: &str) -> V1Output {
    match (artifact, RepoPath::parse(path)) {
        (Some(_), Ok(path)) => V1Output::File(path),
        _ => V1Output::Absent,
    }
}

fn mode(event: &Event) -> Option<&'static str> {
    match &event.kind {
        EventKind::Promoted(promoted) => Some(match promoted.confirmation {
            Confirmation::Interactive => "interactive",
            Confirmation::Piped | Confirmation::Flag | Confirmation::Unknown => "explicit_non_interactive",
        }),
        _ => None,
    }
}

// JSON is text; what is none is shown with U+FFFD, as the existing tool's own encoder does.
fn text(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}
