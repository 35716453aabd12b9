//! `isobox rerun`.

use super::look::Named;
use super::workload::{perform, prepare, session_policy, tool_policy};
use crate::cli::{RerunArguments, TrustFlag};
use crate::exit_code::ExitCode;
use crate::failure::{Failure, FailureKind};
use crate::output::console::Console;
use crate::output::events::Telling;
use crate::use_case::attempt::{FollowUp, Retention, Start, TaskRequest, preflight_of};
use crate::use_case::effective_policy::require_within;
use crate::use_case::open_tasks;
use crate::use_case::select::Selected;
use crate::wiring::{Project, Store};
use isobox_domain::command::WorkloadCommand;
use isobox_domain::policy::ProjectPolicy;
use isobox_domain::record::{SandboxKind, TaskRecord};
use isobox_domain::task_id::TaskId;
use isobox_domain::v1::is_imported;
use isobox_ports::StoreError;
use std::ffi::{OsStr, OsString};
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::path::PathBuf;

/// Attempts a Task once more.
pub(super) fn rerun(console: Console, arguments: &RerunArguments) -> Result<ExitCode, Failure> {
    let Named { store, selected } = Named::find(&arguments.place, &arguments.task)?;
    store.require_writable("attempt once more a task of")?;
    let record = &selected.record;
    let cannot = |failure: Failure| failure.while_doing(format!("cannot attempt {} once more", record.task));
    let command = command(record).map_err(cannot)?;
    let recorded = PathBuf::from(OsStr::from_bytes(&record.source.host_path));
    let host_path = arguments.place.source.clone().unwrap_or(recorded);
    let project = Project::at(&host_path, &store)
        .map_err(|failure| cannot(failure.with_hint("name the repository of the task with --source")))?;
    let policy = policy(console, &project, arguments.trust, record)?;
    let telling = Telling::open(&arguments.telling)?;
    // The store that the record is in takes the new one; it is made writable here.
    let store = prepare(console, &project, policy.views)?;
    let follows = follow_up(&store, &selected, arguments)?;
    tell_of_input(console, record);
    let request = TaskRequest {
        kind: record.kind,
        command,
        recorded_command: record.command.clone(),
        policy,
        retention: if arguments.retain_workspace { Retention::Retain } else { Retention::Dispose },
        caller_path: std::env::var_os("PATH").map(OsString::into_vec),
        follows: Some(follows),
    };
    perform(console, &project, &store, &request, &telling)
}

fn command(record: &TaskRecord) -> Result<WorkloadCommand, Failure> {
    if is_imported(record) {
        let failure =
            Failure::new(FailureKind::General, "it was imported from another tool, under whose policy it ran");
        return Err(failure.with_hint("type the command again, with `isobox run` or `isobox tool`"));
    }
    if record.command.iter().any(|argument| argument.masked_digest.is_some()) {
        let message = "its command has secrets, which are masked in the record and not kept";
        let failure = Failure::new(FailureKind::General, message);
        return Err(failure.with_hint("type the command again, with `isobox run` or `isobox tool`"));
    }
    let arguments = record.command.iter().map(|argument| argument.shown.clone()).collect();
    WorkloadCommand::parse(arguments).map_err(|error| Failure::new(FailureKind::General, error.to_string()))
}

/// What the earlier attempt asked of its Sandbox; all else is as the project says now.
fn policy(console: Console, project: &Project, flag: TrustFlag, record: &TaskRecord) -> Result<ProjectPolicy, Failure> {
    let mut policy = match record.kind {
        SandboxKind::ToolCall => tool_policy(console, project, flag)?,
        SandboxKind::Session => session_policy(console, project, flag)?,
    };
    policy.sandbox = record.policy.asked.clone();
    let refused = |failure: Failure| failure.while_doing(preflight_of(record.kind));
    // Meanwhile the user's own policy may have become narrower.
    require_within(&project.user_policy(), &policy).map_err(refused)?;
    policy.sandbox.read = project.read_paths(&policy.sandbox.read).map_err(refused)?;
    Ok(policy)
}

fn follow_up(store: &Store, selected: &Selected, arguments: &RerunArguments) -> Result<FollowUp, Failure> {
    let record = &selected.record;
    Ok(FollowUp {
        task: record.task,
        attempt: newest_attempt(store, record.task)?.saturating_add(1),
        parent: selected.digest,
        source: record.source.clone(),
        start: if arguments.current { Start::Head } else { Start::SameCommit },
    })
}

/// The number of the newest attempt of a Task, on record or not.
fn newest_attempt(store: &Store, task: TaskId) -> Result<u32, StoreError> {
    let recorded = store.records().list()?.filter_map(Result::ok).filter(|entry| entry.task == task);
    let recorded = recorded.map(|entry| entry.attempt).max().unwrap_or_default();
    let open = open_tasks::look(&store.open_tasks_ports())?;
    let open = open.iter().map(|attempt| attempt.draft()).filter(|draft| draft.task == task);
    Ok(open.map(|draft| draft.attempt).max().unwrap_or_default().max(recorded))
}

fn tell_of_input(console: Console, record: &TaskRecord) {
    if let Some(input) = record.stdin {
        let length = crate::output::text::counted(input.length, "byte");
        console.warning(&format!(
            "the earlier attempt read {length} of standard input, which are not kept; this one gets your own"
        ));
    }
}
