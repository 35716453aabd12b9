//! `record.json` of the existing tool: which of its members are understood, and how they are written.

use crate::json::{self, Kept, Wanted};
use isobox_domain::escape::Escaped;
use isobox_domain::repo_path::RepoPath;
use isobox_domain::v1::{NotImportable, V1Output, V1Policy, V1Record};
use isobox_ports::{V1Format, V1ParseError};
use serde_json::{Value, json};

const VERSION: &str = "v1";
/// The version of isobox's own Views.
const VIEW_VERSION: &str = "v2";

const FILE: Wanted = Wanted::Object(&[("path", Wanted::Text)]);
const REUSE_INPUT: Wanted = Wanted::Object(&[("kind", Wanted::Text), ("value", Wanted::Text)]);
const POLICY: Wanted = Wanted::Object(&[
    ("workspace_source", Wanted::Text),
    ("workload_command", Wanted::List(&Wanted::Text)),
    ("runtime_backend", Wanted::Text),
    ("network", Wanted::Object(&[("default", Wanted::Text), ("mode", Wanted::Text)])),
    ("reuse_inputs", Wanted::List(&REUSE_INPUT)),
    ("limitations", Wanted::List(&Wanted::Text)),
]);
const RESULT: Wanted = Wanted::Object(&[
    ("exit_status", Wanted::Integer),
    ("stdout", Wanted::Text),
    ("stderr", Wanted::Text),
    ("diff", Wanted::Text),
    (
        "artifacts",
        Wanted::Object(&[("stdout", FILE), ("stderr", FILE), ("diff", FILE), ("untracked_files", Wanted::List(&FILE))]),
    ),
]);
const RECORD: Wanted = Wanted::Object(&[
    ("schema_version", Wanted::Text),
    ("id", Wanted::Text),
    ("created_at", Wanted::Text),
    ("effective_policy", POLICY),
    (
        "workspace",
        Wanted::Object(&[
            ("source_type", Wanted::Text),
            ("source_commit", Wanted::Text),
            ("retention", Wanted::Text),
            ("path", Wanted::Text),
        ]),
    ),
    ("outcome", Wanted::Object(&[("type", Wanted::Text), ("exit_code", Wanted::Integer), ("error", Wanted::Text)])),
    ("result", RESULT),
    ("promotion_report", Wanted::Object(&[("changed_files", Wanted::Count)])),
    ("promotion", Wanted::Object(&[("confirmation", Wanted::Object(&[("mode", Wanted::Text)]))])),
]);
/// The only member that tells a View, whose other members are shaped differently.
const ENVELOPE: Wanted = Wanted::Object(&[("schema_version", Wanted::Text)]);

/// v1 records as JSON.
#[derive(Clone, Copy, Debug, Default)]
pub struct V1Json;

impl V1Format for V1Json {
    fn parse(&self, json: &[u8]) -> Result<V1Record, V1ParseError> {
        let version = json::read(json, ENVELOPE).map_err(unread)?.text("schema_version");
        match version.as_str() {
            VERSION => {}
            VIEW_VERSION => return Err(V1ParseError::View),
            other => {
                let found = Escaped(other.as_bytes());
                return Err(refused(format!("its `schema_version` is `{found}`, not `{VERSION}`")));
            }
        }
        record(json::read(json, RECORD).map_err(unread)?)
    }

    fn encode(&self, record: &V1Record) -> Vec<u8> {
        let mut bytes = format!("{:#}", document(record)).into_bytes();
        bytes.push(b'\n');
        bytes
    }
}

fn unread(error: serde_json::Error) -> V1ParseError {
    let reason = error.to_string();
    match error.is_data() {
        true => V1ParseError::Refused { reason },
        false => V1ParseError::NotImportable(NotImportable { reason }),
    }
}

fn refused(reason: String) -> V1ParseError {
    V1ParseError::Refused { reason }
}

fn record(mut kept: Kept) -> Result<V1Record, V1ParseError> {
    let (mut workspace, mut outcome, mut result) = (kept.take("workspace"), kept.take("outcome"), kept.take("result"));
    let mut artifacts = result.take("artifacts");
    let untracked = artifacts.items("untracked_files").into_iter();
    let untracked = untracked.map(|mut file| path("untracked_files", &file.text("path")));
    Ok(V1Record {
        id: kept.text("id"),
        created_at: kept.text("created_at"),
        policy: policy(kept.take("effective_policy")),
        source_type: workspace.text("source_type"),
        source_commit: workspace.text("source_commit"),
        retention: workspace.text("retention"),
        workspace_path: workspace.text("path"),
        outcome: outcome.text("type"),
        exit_code: outcome.integer("exit_code"),
        error: outcome.text("error"),
        untracked: untracked.collect::<Result<_, _>>()?,
        exit_status: result.integer("exit_status"),
        stdout: output("stdout", &mut result, &mut artifacts)?,
        stderr: output("stderr", &mut result, &mut artifacts)?,
        diff: output("diff", &mut result, &mut artifacts)?,
        promotion_mode: kept.take("promotion").take("confirmation").text("mode"),
        changed_files: match kept.take("promotion_report").take("changed_files") {
            Kept::Count(count) => count,
            _ => 0,
        },
    })
}

fn policy(mut kept: Kept) -> V1Policy {
    let mut network = kept.take("network");
    let network = [network.text("default"), network.text("mode")].into_iter().find(|word| !word.is_empty());
    let reuse_inputs = kept.items("reuse_inputs").into_iter();
    V1Policy {
        workspace_source: kept.text("workspace_source"),
        workload_command: texts(kept.items("workload_command")),
        runtime_backend: kept.text("runtime_backend"),
        network: network.unwrap_or_default(),
        reuse_inputs: reuse_inputs.map(|mut input| (input.text("kind"), input.text("value"))).collect(),
        limitations: texts(kept.items("limitations")),
    }
}

// A `null` among texts is an empty one, as for the existing tool.
fn texts(items: Vec<Kept>) -> Vec<String> {
    let text = |item| if let Kept::Text(text) = item { text } else { String::new() };
    items.into_iter().map(text).collect()
}

// The existing tool, too, takes the file where a record has both.
fn output(name: &str, result: &mut Kept, artifacts: &mut Kept) -> Result<V1Output, V1ParseError> {
    let (inline, file) = (result.text(name), artifacts.take(name).text("path"));
    Ok(match (file.is_empty(), inline.is_empty()) {
        (false, _) => V1Output::File(path(name, &file)?),
        (true, false) => V1Output::Inline(inline),
        (true, true) => V1Output::Absent,
    })
}

fn path(name: &str, written: &str) -> Result<RepoPath, V1ParseError> {
    let shown = Escaped(written.as_bytes());
    RepoPath::parse(written).map_err(|error| refused(format!("the path `{shown}` of `{name}` is refused: {error}")))
}

fn document(record: &V1Record) -> Value {
    let policy = &record.policy;
    let reuse_inputs = policy.reuse_inputs.iter().map(|(kind, value)| json!({ "kind": kind, "value": value }));
    json!({
        "schema_version": VERSION,
        "id": record.id,
        "created_at": record.created_at,
        "effective_policy": {
            "schema_version": VERSION,
            "workspace_source": policy.workspace_source,
            "workload_command": policy.workload_command,
            "runtime_backend": policy.runtime_backend,
            "retention_default": record.retention,
            "network": { "default": policy.network },
            "reuse_inputs": reuse_inputs.collect::<Vec<_>>(),
            "limitations": policy.limitations,
        },
        "workspace": without_empty(json!({
            "source_type": record.source_type,
            "source_commit": record.source_commit,
            "retention": record.retention,
            "path": record.workspace_path,
        })),
        "result": result(record),
        "outcome": without_empty(json!({ "type": record.outcome, "exit_code": record.exit_code, "error": record.error })),
        "promotion": { "confirmation": without_empty(json!({ "mode": record.promotion_mode })) },
    })
}

fn result(record: &V1Record) -> Value {
    let outputs = [("stdout", &record.stdout), ("stderr", &record.stderr), ("diff", &record.diff)];
    let mut result = without_empty(json!({ "exit_status": record.exit_status }));
    let mut artifacts = json!({});
    for (name, output) in outputs {
        match output {
            V1Output::Absent => {}
            V1Output::Inline(text) => result[name] = text.as_str().into(),
            V1Output::File(path) => artifacts[name] = file(path),
        }
    }
    if !record.untracked.is_empty() {
        artifacts["untracked_files"] = record.untracked.iter().map(file).collect();
    }
    result["artifacts"] = artifacts;
    result
}

// A path that is no UTF-8 comes from no v1 record.
fn file(path: &RepoPath) -> Value {
    json!({ "path": String::from_utf8_lossy(path.as_bytes()) })
}

fn without_empty(mut object: Value) -> Value {
    if let Value::Object(members) = &mut object {
        members.retain(|_, value| !value.is_null() && value != "");
    }
    object
}
