//! `isobox rerun`.

use super::look::Named;
use super::telling::telling;
use super::workload::{
    Witness, apply_turn, patience, perform, prepare, probing, session_policy, tell_of_unsafe, timekeeping, tool_policy,
    uncommitted,
};
use crate::cli::{Place, RerunArguments};
use crate::exit_code::ExitCode;
use crate::failure::{Failure, FailureKind};
use crate::output::console::Console;
use crate::output::trust;
use crate::use_case::attempt::{FollowUp, Retention, Start, TaskRequest, preflight_of};
use crate::use_case::effective_policy::require_within;
use crate::use_case::laps::Laps;
use crate::use_case::open_tasks;
use crate::use_case::select::Selected;
use crate::wiring::{Project, Store, stopwatch};
use isobox_domain::command::WorkloadCommand;
use isobox_domain::content::ContentId;
use isobox_domain::escape::Escaped;
use isobox_domain::policy::{ProjectPolicy, ReuseInput, WorkspaceChoice, WorkspaceKind};
use isobox_domain::promotion::check_head;
use isobox_domain::record::{SandboxKind, TaskRecord};
use isobox_domain::timings::Phase;
use isobox_domain::v1::is_imported;
use isobox_ports::Exposed;
use std::ffi::{OsStr, OsString};
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::path::PathBuf;

/// Attempts a Task once more.
pub(super) fn rerun(console: Console, arguments: &RerunArguments) -> Result<ExitCode, Failure> {
    let laps = Laps::start(stopwatch());
    let Named { store, selected, .. } = Named::find(&arguments.place, &arguments.task)?;
    store.require_writable("attempt once more a task of")?;
    let record = &selected.record;
    let cannot = |failure: Failure| failure.while_doing(format!("cannot attempt {} once more", record.task));
    let command = command(record).map_err(cannot)?;
    let recorded = PathBuf::from(OsStr::from_bytes(&record.source.host_path));
    let host_path = arguments.place.source.clone().unwrap_or(recorded);
    let project = Project::at(&host_path, &store)
        .map_err(|failure| cannot(failure.with_hint("name the repository of the task with --source")))?
        .named_by(&arguments.place);
    if arguments.place.source.is_none() {
        require_here(&project).map_err(cannot)?;
    }
    let (mut policy, exposed) = policy(console, &project, arguments, record)?;
    apply_turn(&project, arguments.turn, &mut policy)?;
    let telling = telling(console, &project, &policy, &arguments.telling)?;
    laps.end(Phase::Policy);
    // The store that the record is in takes the new one; it is made writable here.
    let store = prepare(console, &project, policy.views)?;
    laps.end(Phase::Store);
    let follows = follow_up(&store, &selected, arguments)?;
    tell_of_input(console, record);
    tell_of_snapshot(console, record, arguments.allow_dirty);
    if !arguments.current {
        tell_of_head(console, &project, record)?;
    }
    let request = TaskRequest {
        kind: record.kind,
        command,
        recorded_command: record.command.clone(),
        policy,
        exposed,
        retention: if arguments.retain_workspace { Retention::Retain } else { Retention::Dispose },
        workspace: match record.policy.workspace {
            Some(WorkspaceKind::Copy | WorkspaceKind::Reflink) => WorkspaceChoice::Named(WorkspaceKind::Copy),
            Some(WorkspaceKind::Overlay) | None => WorkspaceChoice::Auto,
        },
        caller_path: std::env::var_os("PATH").map(OsString::into_vec),
        follows: Some(follows),
        patience: patience(arguments.turn),
        uncommitted: uncommitted(arguments.allow_dirty),
        timekeeping: timekeeping(&arguments.telling),
        probing: probing(arguments.probe),
        verifies: None,
    };
    console.line(&format!(
        "attempting {} once more: `isobox list{}` tells the attempts apart",
        record.task,
        arguments.place.flags()
    ));
    perform(Witness { console, telling: &telling, laps: &laps }, &project, &store, &request)
}

/// Refuses a repository that only the record names: one of another machine's records could name any here, whose content
/// and trusted policy its command would get.
fn require_here(project: &Project) -> Result<(), Failure> {
    let here = Project::find(&Place { source: None, records: None });
    match here.is_ok_and(|here| here.common_dir() == project.common_dir()) {
        true => Ok(()),
        false => {
            let message = format!("it started from {}, which is not the repository around you", project.shown_root());
            Err(Failure::new(FailureKind::General, message).with_hint(
                "change to that repository, or name it with --source, if you know whose command the record holds",
            ))
        }
    }
}

fn command(record: &TaskRecord) -> Result<WorkloadCommand, Failure> {
    if record.kind == SandboxKind::Verification {
        let failure = Failure::new(FailureKind::General, "it verified the result of another task for its promotion");
        return Err(failure.with_hint("verify that one again, with `isobox promote --verify`"));
    }
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

/// What the earlier attempt asked of its Sandbox, as far as it is trusted now; all else is as the project says now.
fn policy(
    console: Console,
    project: &Project,
    arguments: &RerunArguments,
    record: &TaskRecord,
) -> Result<(ProjectPolicy, Exposed), Failure> {
    let flag = arguments.trust;
    let mut now = match record.kind {
        SandboxKind::ToolCall => tool_policy(console, project, flag)?,
        SandboxKind::Session | SandboxKind::Verification => session_policy(console, project, flag)?,
    };
    let mut policy = ProjectPolicy { sandbox: record.policy.asked.clone(), ..now.clone() };
    // To require more takes nothing away from what the earlier attempt could do.
    for more in [&now.sandbox.require, &arguments.require.requirements()] {
        policy.sandbox.require.add(more);
    }
    // Neither does to hide and to protect more.
    let (hide, protected) = (&now.sandbox.files.hide, &now.sandbox.files.protected);
    policy.sandbox.files.add(Some(hide), Some(protected));
    let refused = |failure: Failure| failure.while_doing(preflight_of(record.kind));
    // Meanwhile the user's own policy may have become narrower.
    require_within(&project.user_policy(), &mut policy).map_err(refused)?;
    let digests: Vec<_> = policy.sandbox.reuse_inputs.iter().map(|input| input.digest).collect();
    let exposed = project.exposed(&mut policy.sandbox, &[]).map_err(refused)?;
    tell_of_unsafe(console, &policy.sandbox);
    tell_of_variables(console, &policy.sandbox.reuse_inputs, &digests);
    now.sandbox.read = shown_now(project, &now.sandbox.read);
    now.sandbox.files.write.retain_mut(|rule| {
        let shown = shown_now(project, std::slice::from_ref(&rule.path)).pop();
        shown.map(|path| rule.path = path).is_some()
    });
    // The record may be of a policy that is not trusted any more, of flags that were typed once, or of another machine.
    let beyond = policy.beyond(&now);
    policy.sandbox.unsafe_overrides.retain(|what| beyond.iter().any(|effect| what.is_about(effect.key)));
    if !beyond.is_empty() && !flag.trust_policy {
        trust::ask_once_more(console, record.task, &beyond).map_err(refused)?;
    }
    Ok((policy, exposed))
}

/// Tells of variables that have another value than the earlier attempt had.
fn tell_of_variables(console: Console, inputs: &[ReuseInput], earlier: &[Option<ContentId>]) {
    for (input, earlier) in inputs.iter().zip(earlier) {
        if earlier.is_some() && input.digest != *earlier {
            let name = Escaped(input.value.as_bytes());
            console.warning(&format!("the variable {name} has another value than the earlier attempt had"));
        }
    }
}

/// Host paths that the project's policy shows now. One that cannot be shown allows nothing, and is not needed here.
fn shown_now(project: &Project, written: &[Vec<u8>]) -> Vec<Vec<u8>> {
    let resolved = written.iter().filter_map(|path| project.read_paths(std::slice::from_ref(path)).ok());
    resolved.flatten().collect()
}

fn follow_up(store: &Store, selected: &Selected, arguments: &RerunArguments) -> Result<FollowUp, Failure> {
    let record = &selected.record;
    Ok(FollowUp {
        task: record.task,
        attempt: open_tasks::newest_attempt(&store.open_tasks_ports(), record.task)?.saturating_add(1),
        parent: selected.digest,
        source: record.source.clone(),
        start: if arguments.current { Start::Head } else { Start::SameCommit },
    })
}

/// Tells before anything is started that its result will be of no use here as things are.
fn tell_of_head(console: Console, project: &Project, record: &TaskRecord) -> Result<(), Failure> {
    if let Err(refusal) = check_head(&record.source, &project.at_head(&record.source)?) {
        console.warning(&format!(
            "{refusal}: this attempt starts from there too, and its result cannot be promoted here as it is; --current starts \
             from HEAD"
        ));
    }
    Ok(())
}

/// Tells that this attempt starts from something else than the earlier one did.
fn tell_of_snapshot(console: Console, record: &TaskRecord, is_dirty_allowed: bool) {
    match (record.artifacts.source_snapshot, is_dirty_allowed) {
        (None, _) => {}
        (Some(_), true) => {
            console.warning("the earlier attempt took uncommitted changes along; this one takes those that are there now");
        }
        (Some(_), false) => console.warning(
            "the earlier attempt took uncommitted changes along, and this one does not; --allow-dirty takes those that are there now",
        ),
    }
}

fn tell_of_input(console: Console, record: &TaskRecord) {
    if let Some(input) = record.stdin {
        let length = crate::output::text::counted(input.length, "byte");
        console.warning(&format!(
            "the earlier attempt read {length} of standard input, which are not kept; this one gets your own"
        ));
    }
}
