//! The commands that only look at one Task: `show`, `cat`.

use crate::cli::{CatArguments, Place, ShowArguments};
use crate::exit_code::ExitCode;
use crate::failure::{Failure, FailureKind};
use crate::output::console::Console;
use crate::output::redacting::Redacted;
use crate::output::stdout::{self, unwritten};
use crate::output::{columns, record_json, report_json, show as shown, text};
use crate::use_case::list::events;
use crate::use_case::open_tasks::{self, Meant};
use crate::use_case::select::{self, Selected};
use crate::use_case::verify;
use crate::use_case::{cat as find, logs as copying};
use crate::wiring::{self, Store};
use isobox_domain::archive_name::ArchiveName;
use isobox_domain::escape::Escaped;
use isobox_domain::record::{SandboxKind, TaskRecord};
use isobox_domain::repo_path::RepoPath;
use isobox_domain::task_id::{AttemptName, TaskId, TaskSelector};
use isobox_domain::task_state::Standing;
use std::ffi::{OsStr, OsString};
use std::io::Write;
use std::os::unix::ffi::OsStrExt;
use std::path::Path;

/// A Task that was named on the command line, in its store.
pub(super) struct Named {
    pub(super) store: Store,
    pub(super) selected: Selected,
    /// Whether it was named as the newest.
    is_latest: bool,
    /// What names its store in a further command, each flag after a blank.
    flags: String,
}

impl Named {
    /// The same for a command that shows it: that a newer Task is not over, which @latest could mean as well, is told.
    pub(super) fn find_to_show(console: Console, place: &Place, typed: &OsStr) -> Result<Self, Failure> {
        let named = Self::find(place, typed)?;
        if let Some((open, standing)) = named.newer()? {
            console.warning(&format!("{open} {standing}: @latest is {} here", named.selected.record.task));
        }
        Ok(named)
    }

    /// The Task that was begun later and is not on record, where this one was named as the newest: that could be meant as well. With
    /// why it is not, in words.
    fn newer(&self) -> Result<Option<(TaskId, &'static str)>, Failure> {
        if !self.is_latest {
            return Ok(None);
        }
        let open = open_tasks::look(&self.store.open_tasks_ports())?;
        let begun = self.selected.record.created_at;
        // A verification has no result that could be meant.
        let could_be_meant = |draft: &TaskRecord| draft.kind != SandboxKind::Verification && draft.created_at > begun;
        let newest = open.iter().find(|open| could_be_meant(open.draft()));
        let newest = newest.filter(|open| open.draft().task != self.selected.record.task);
        Ok(newest.map(|open| match open_tasks::is_running(&**open) {
            true => (open.draft().task, "is not over yet"),
            false => (open.draft().task, "was interrupted and is not on record yet"),
        }))
    }

    /// Finds the Task in the store that the command line means.
    pub(super) fn find(place: &Place, typed: &OsStr) -> Result<Self, Failure> {
        if let Some(name) = ArchiveName::parse(typed.as_bytes()) {
            return Self::in_archive(name);
        }
        let shown = Escaped(typed.as_bytes()).to_string();
        let selector = select::parse(typed.to_str().unwrap_or(&shown))?;
        let store = Store::find(place, Some(&selector))?;
        let ports = select::Ports { records: store.records(), clock: wiring::clock() };
        match select::select(&ports, &selector, &shown) {
            Ok(selected) => {
                let (is_latest, flags) = (selector == TaskSelector::Latest(0), place.flags());
                Ok(Self { store, selected, is_latest, flags })
            }
            Err(failure) => Err(open(&store, &selector, &shown, &place.flags()).unwrap_or(failure)),
        }
    }

    /// What the attempt is called that was found.
    pub(super) fn shown_name(&self) -> Result<String, Failure> {
        let newest = open_tasks::newest_attempt(&self.store.open_tasks_ports(), self.selected.record.task)?;
        let standing = if newest > 1 { Standing::Followed } else { Standing::Newest };
        Ok(text::attempt(&self.selected.record, standing))
    }

    /// What the attempt is called that was found, for a command that acts on it. That it is not the newest of its Task is told.
    /// Fails where it was named as the newest and a newer Task is not over: either could be meant.
    pub(super) fn told(&self, console: Console) -> Result<String, Failure> {
        let (task, attempt) = (self.selected.record.task, self.selected.record.attempt);
        let newest = open_tasks::newest_attempt(&self.store.open_tasks_ports(), task)?;
        let name = self.shown_name()?;
        if newest > attempt {
            let newer = AttemptName { task, attempt: newest };
            console.warning(&format!("{name} is not the newest attempt of its task: {newer} is"));
        }
        if let Some((open, standing)) = self.newer()? {
            let message = format!("@latest could mean {open}, which {standing}, or {name}, the newest on record");
            return Err(Failure::new(FailureKind::TaskNotFound, message).with_hint(format!(
                "name it: {name}, or first `isobox wait{} {open}`; nothing was changed",
                self.flags
            )));
        }
        Ok(name)
    }
}

impl Named {
    /// A Task that is known already.
    pub(super) const fn of(store: Store, selected: Selected) -> Self {
        Self { store, selected, is_latest: false, flags: String::new() }
    }

    /// Finds the Task in an Archive; without a name, the only one.
    fn in_archive(name: ArchiveName<'_>) -> Result<Self, Failure> {
        let store = Store::of_archive(Path::new(OsStr::from_bytes(name.host_path)))?;
        let ports = select::Ports { records: store.records(), clock: wiring::clock() };
        let selected = match name.task {
            None => select::only(&ports, &Escaped(name.host_path).to_string())?,
            Some(task) => {
                let shown = Escaped(task).to_string();
                select::select(&ports, &select::parse(&shown)?, &shown)?
            }
        };
        Ok(Self::of(store, selected))
    }
}

/// The failure for a Task that has no record because it is not over yet.
fn open(store: &Store, selector: &TaskSelector, shown: &str, flags: &str) -> Option<Failure> {
    let Ok(Meant::Open(attempt)) = open_tasks::select(&store.open_tasks_ports(), selector, shown) else { return None };
    let task = attempt.draft().task;
    let (what, hint) = match open_tasks::is_running(&*attempt) {
        true => (
            "is still running",
            format!(
                "its record comes when it is over: `isobox wait{flags} {task}`, `isobox logs --follow{flags} {task}`, or `isobox stop{flags} {task}`"
            ),
        ),
        false => (
            "was interrupted, and is not recorded yet",
            format!("`isobox wait{flags} {task}` records what is left of it, and so does the next task here"),
        ),
    };
    Some(Failure::new(FailureKind::TaskNotFound, format!("{task} {what}")).with_hint(hint))
}

/// Says on a terminal, which would show nothing, that there is nothing.
pub(super) fn tell_of_nothing(console: Console, record: &TaskRecord, what: &str, place: &Place) {
    if stdout::is_terminal() {
        console.line(&format!("{} {what}, next: isobox show{} {}", record.task, place.flags(), record.task));
    }
}

/// Tells of Tasks that ended with their isobox: until a later start has recorded what they left, there is no record to show.
fn tell_interrupted(console: Console, store: &Store, place: &Place) {
    // What cannot be looked at here is told by whoever needs it.
    let open = open_tasks::look(&store.open_tasks_ports()).unwrap_or_default();
    for attempt in open.iter().filter(|attempt| !open_tasks::is_running(&***attempt)) {
        let task = attempt.draft().task;
        console.warning(&format!(
            "{task} was interrupted; `isobox wait{} {task}` records what is left of it, and so does the next task here",
            place.flags()
        ));
    }
}

/// Shows the record of a Task.
pub(super) fn show(console: Console, arguments: &ShowArguments) -> Result<ExitCode, Failure> {
    let Named { store, selected, .. } = Named::find_to_show(console, &arguments.place, &arguments.task)?;
    match (arguments.raw, arguments.redact) {
        (true, true) => return Err(verified_by_hash("the bytes of a record")),
        (true, false) => return raw(&store, &selected),
        (false, _) => {}
    }
    let redacted = Redacted::default();
    tell_interrupted(console, &store, &arguments.place);
    let events = events(store.records(), &selected.digest)?;
    let mut out: Box<dyn Write> = match arguments.json {
        true => Box::new(stdout::for_documents()),
        false if arguments.redact => redacted.writer(stdout::for_reading(console.paging)?),
        false => stdout::for_reading(console.paging)?,
    };
    let written = match arguments.json {
        true => {
            let report = report_json::document(store.objects(), &selected.record)?;
            let document = record_json::show_document(&selected.record, &selected.digest, &events, report);
            let document = if arguments.redact { redacted.document(document) } else { document };
            writeln!(out, "{document:#}")
        }
        false => shown::show(&mut out, &selected.record, &selected.digest, &events, columns::of_stdout()),
    };
    written.and_then(|()| out.flush()).map_err(unwritten)?;
    drop(out);
    if arguments.redact {
        tell_of_redacted(console, &redacted)?;
    }
    Ok(ExitCode::SUCCESS)
}

/// Why what is verified by its hash is not redacted.
pub(super) fn verified_by_hash(what: &str) -> Failure {
    let message = format!("{what} cannot be redacted: their hash is what verifies them");
    Failure::new(FailureKind::Usage, message).with_hint("leave --redact out, or print or export plain text")
}

/// Prints a record as it is stored, for tools that compare digests.
fn raw(store: &Store, selected: &Selected) -> Result<ExitCode, Failure> {
    let bytes = store.records().bytes(&selected.digest)?.ok_or_else(|| verify::gone(&selected.digest))?;
    let mut out = stdout::for_content()?;
    out.write_all(&bytes).and_then(|()| out.flush()).map_err(unwritten)?;
    Ok(ExitCode::SUCCESS)
}

/// Tells how many secret-shaped strings were left out, if all else was written.
pub(super) fn tell_of_redacted(console: Console, redacted: &Redacted) -> Result<(), Failure> {
    redacted.finish().map_err(unwritten)?;
    console.line(&format!("{} redacted", text::counted(redacted.count(), "secret-shaped string")));
    Ok(())
}

/// Prints a file as a Task left it.
pub(super) fn cat(arguments: &CatArguments) -> Result<ExitCode, Failure> {
    let (task, path) = split(&arguments.file)?;
    let Named { store, selected, .. } = Named::find(&arguments.place, &task)?;
    let content = find::cat(&find::Ports { objects: store.objects() }, &selected.record, &path)?;
    let mut out = stdout::for_content()?;
    let ports = copying::Ports { objects: store.objects() };
    copying::copy(&ports, "the file", Some(content), &mut out)?.map_err(unwritten)?;
    Ok(ExitCode::SUCCESS)
}

/// Takes `TASK:PATH` apart. The colon in `b3:DIGEST` belongs to the task.
fn split(typed: &OsStr) -> Result<(OsString, RepoPath), Failure> {
    let bytes = typed.as_bytes();
    let usage = || {
        Failure::new(FailureKind::Usage, format!("`{}` is not TASK:PATH", Escaped(bytes)))
            .with_hint("for example: isobox cat @latest:README.md")
    };
    let from = if bytes.starts_with(b"b3:") { 3 } else { 0 };
    let colon = bytes[from..].iter().position(|&byte| byte == b':').map(|at| from + at);
    let plain = colon.map(|colon| (&bytes[..colon], &bytes[colon + 1..]));
    let is_task = |task: &[u8]| std::str::from_utf8(task).is_ok_and(|task| task.parse::<TaskSelector>().is_ok());
    let (task, path) = match plain {
        Some((task, _)) if is_task(task) => plain,
        _ => ArchiveName::split_path(bytes).or(plain),
    }
    .ok_or_else(usage)?;
    let path = RepoPath::parse(path).map_err(|error| usage().because(error))?;
    Ok((OsStr::from_bytes(task).to_owned(), path))
}
