//! How an attempt of a v1 record ended.

use super::V1Record;
use crate::outcome::{Exit, Outcome};
use crate::record::WorkspaceFate;

/// The outcome, in this tool's words; `None` for a word that the existing tool does not use.
pub(super) fn outcome(record: &V1Record) -> Option<Outcome> {
    Outcome::ALL.into_iter().find(|outcome| outcome.name() == record.outcome)
}

/// How the command's process ended. A code that no process can have, as the existing tool writes it for a signal, says nothing.
pub(super) fn exit(record: &V1Record, outcome: Option<Outcome>) -> Option<Exit> {
    let written = record.exit_code.or(record.exit_status);
    let code = match outcome? {
        Outcome::Success => written.unwrap_or(0),
        Outcome::WorkloadCommandExit => written?,
        _ => return None,
    };
    u8::try_from(code).ok().map(Exit::Code)
}

/// What became of the Workspace.
pub(super) fn fate(record: &V1Record) -> WorkspaceFate {
    let host_path = record.workspace_path.as_bytes();
    let is_path = host_path.starts_with(b"/") && !host_path.contains(&0);
    match (record.retention.as_str(), record.source_type.as_str()) {
        ("retained", _) if is_path => WorkspaceFate::Retained { host_path: host_path.to_vec() },
        (_, "") => WorkspaceFate::NeverCreated,
        _ => WorkspaceFate::Disposed,
    }
}
