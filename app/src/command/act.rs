//! `isobox reject`, `isobox stop` and `isobox wait`.

use super::look::Named;
use super::workload::finish_interrupted;
use super::{rerun, trusted, workspace};
use crate::cli::{ActCommand, Place, RejectArguments, TaskArguments, UndoArguments};
use crate::exit_code::ExitCode;
use crate::failure::{Failure, FailureKind, one_line};
use crate::output::console::Console;
use crate::output::text;
use crate::use_case::open_tasks::{self, Meant};
use crate::use_case::reject::{self, Rejected};
use crate::use_case::select::{self, Selected};
use crate::use_case::{settle, undo};
use crate::wiring::{Project, Store, clock};
use isobox_domain::archive_name::ArchiveName;
use isobox_domain::escape::Escaped;
use isobox_domain::policy::ViewLimit;
use isobox_domain::record::TaskRecord;
use isobox_domain::task_id::{TaskId, TaskSelector};
use isobox_ports::{Asked, OpenAttempt};
use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt;
use std::path::Path;

/// Does what a command that acts on tasks says.
pub(super) fn act(console: Console, command: ActCommand) -> Result<ExitCode, Failure> {
    match command {
        ActCommand::Reject(arguments) => reject(console, &arguments),
        ActCommand::Undo(arguments) => undo(console, &arguments),
        ActCommand::Stop(arguments) => stop(console, &arguments),
        ActCommand::Wait(arguments) => wait(console, &arguments),
        ActCommand::Rerun(arguments) => rerun::rerun(console, &arguments),
        ActCommand::Workspace(command) => workspace::workspace(console, &command),
    }
}

/// Turns a Task Result down.
fn reject(console: Console, arguments: &RejectArguments) -> Result<ExitCode, Failure> {
    let named = Named::find(&arguments.place, &arguments.task)?;
    named.store.require_writable("reject a task of")?;
    let name = named.told(console)?;
    let (project, views) = project_of(&arguments.place, &named.store, &named.selected.record);
    if let Some(project) = &project {
        finish_interrupted(console, project, &named.store, views);
    }
    let ports = named.store.reject_ports();
    let told = match reject::reject(&ports, &named.selected, &arguments.reason)? {
        Rejected::Now => format!("rejected {name}"),
        Rejected::Before => format!("{name} was rejected before"),
    };
    if let Err(failure) = reject::show_in_view(&ports, &named.selected, views) {
        console.warning(&format!("the view of the record was not written: {}", one_line(&failure)));
    }
    console.line(&format!("{told}, next: isobox list{} --state unreviewed", arguments.place.flags()));
    Ok(ExitCode::SUCCESS)
}

/// Takes the last Promotion back.
fn undo(console: Console, arguments: &UndoArguments) -> Result<ExitCode, Failure> {
    let place = Place { source: arguments.source.clone(), records: None };
    let project = Project::find(&place)?;
    // What a killed process left half done is nothing that was promoted.
    if project.has_unfinished_promotion() {
        settle::settle(&project.settle_ports())?;
        if !project.has_unfinished_promotion() {
            console.line("a promotion that was interrupted is settled: the repository has all of it or nothing");
        }
    }
    let undone = undo::undo(&project.settle_ports(), clock())?;
    undone.warning.iter().for_each(|warning| console.warning(warning));
    let views = trusted::views(&project);
    // Only the project's own Views are known here; those of another store follow with what is next said of the Task.
    let store = Store::find(&place, None)?;
    if let Some(record) = store.records().load(&undone.record)? {
        let selected = Selected { digest: undone.record, record };
        if let Err(failure) = reject::show_in_view(&store.reject_ports(), &selected, views) {
            console.warning(&format!("the view of the record was not written: {}", one_line(&failure)));
        }
    }
    let paths = text::counted(undone.promoted.paths, "path");
    console.line(&format!("undid the promotion of {} ({paths}), next: git status", undone.task));
    Ok(ExitCode::SUCCESS)
}

/// The project of a record, if it can still be found, and how many Views it keeps.
fn project_of(place: &Place, store: &Store, record: &TaskRecord) -> (Option<Project>, ViewLimit) {
    let recorded = Path::new(OsStr::from_bytes(&record.source.host_path));
    let project = Project::at(place.source.as_deref().unwrap_or(recorded), store).ok();
    let views = project.as_ref().map(trusted::views);
    (project, views.unwrap_or_default())
}

/// A Task that need not be over, in its store.
pub(super) struct NamedOpen {
    pub(super) store: Store,
    pub(super) meant: Meant,
}

impl NamedOpen {
    /// Finds the Task in the store that the command line means.
    pub(super) fn find(place: &Place, typed: &OsStr) -> Result<Self, Failure> {
        let shown = Escaped(typed.as_bytes()).to_string();
        if ArchiveName::parse(typed.as_bytes()).is_some() {
            return Err(nothing_runs(&shown));
        }
        let selector = select::parse(typed.to_str().unwrap_or(&shown))?;
        let store = Store::find(place, Some(&selector))?;
        let meant = open_tasks::select(&store.open_tasks_ports(), &selector, &shown)?;
        Ok(Self { store, meant })
    }
}

fn nothing_runs(archive: &str) -> Failure {
    Failure::new(FailureKind::Usage, format!("{archive} is an archive: nothing in it runs"))
        .with_hint(format!("`isobox show {archive}` shows how its task ended"))
}

/// Ends a running Task, waits until it is recorded, and says how.
fn stop(console: Console, arguments: &TaskArguments) -> Result<ExitCode, Failure> {
    let NamedOpen { store, meant } = NamedOpen::find(&arguments.place, &arguments.task)?;
    let attempt = match meant {
        Meant::Open(attempt) => attempt,
        Meant::Recorded(selected) => return Err(over(&selected.record)),
    };
    let task = attempt.draft().task;
    if !open_tasks::is_running(&*attempt) {
        return Err(killed(task));
    }
    match attempt.interrupt()? {
        Asked::Sent => attempt.wait()?,
        Asked::Over => {}
        Asked::OutOfReach => return Err(out_of_reach(task)),
    }
    let selected = settled(console, &arguments.place, &store, &*attempt)?;
    console.line(&format!("isobox task {task}: stopped {}", text::outcome(&selected.record)));
    Ok(ExitCode::SUCCESS)
}

fn over(record: &TaskRecord) -> Failure {
    let message = format!("{} is not running: it ended with {}", record.task, text::outcome(record));
    Failure::new(FailureKind::General, message).with_hint("`isobox list` shows which tasks run")
}

fn killed(task: TaskId) -> Failure {
    Failure::new(FailureKind::General, format!("{task} is not running: its isobox was killed"))
        .with_hint("the next `isobox run`, `tool` or `promote` here records what is left of it")
}

fn out_of_reach(task: TaskId) -> Failure {
    Failure::new(FailureKind::General, format!("the process that runs {task} cannot be signalled from here"))
        .with_hint("it belongs to another user or runs in another container: stop it there")
}

/// Waits for a Task and exits as it did.
fn wait(console: Console, arguments: &TaskArguments) -> Result<ExitCode, Failure> {
    let NamedOpen { store, meant } = NamedOpen::find(&arguments.place, &arguments.task)?;
    let selected = match meant {
        Meant::Recorded(selected) => *selected,
        Meant::Open(attempt) => {
            attempt.wait()?;
            settled(console, &arguments.place, &store, &*attempt)?
        }
    };
    let record = &selected.record;
    console.line(&format!("isobox task {}: completed {}", record.task, text::outcome(record)));
    Ok(ExitCode::of_record(record))
}

/// The record of an attempt that no process runs any more; one that was killed is recorded now.
pub(super) fn settled(
    console: Console,
    place: &Place,
    store: &Store,
    attempt: &dyn OpenAttempt,
) -> Result<Selected, Failure> {
    let draft = attempt.draft();
    let is_left = open_tasks::look(&store.open_tasks_ports())?.iter().any(|open| open.draft().salt == draft.salt);
    if is_left {
        let (project, views) = project_of(place, store, draft);
        let project = project.ok_or_else(|| killed(draft.task))?;
        finish_interrupted(console, &project, store, views);
    }
    let named = draft.task.to_string();
    select::select(&store.select_ports(), &TaskSelector::Full(draft.task), &named)
}
