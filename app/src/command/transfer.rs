//! `isobox import` and `isobox export`.

use super::attestation;
use super::look::Named;
use crate::cli::{ExportArguments, ImportArguments, LayoutName, TransferCommand};
use crate::exit_code::ExitCode;
use crate::failure::{Failure, FailureKind, one_line};
use crate::output::console::Console;
use crate::output::export::Totals;
use crate::output::import::ImportWriter;
use crate::output::stdout::{for_documents, unwritten};
use crate::output::text::counted;
use crate::output::working::Working;
use crate::use_case::export::{self, Exported, Layout};
use crate::use_case::import;
use crate::use_case::select::Selected;
use crate::wiring::{self, Dirtied, Store};
use isobox_domain::task_id::TaskId;
use std::io::Write;
use std::path::Path;

/// Does what a command that moves records says.
pub(super) fn transfer(console: Console, command: &TransferCommand) -> Result<ExitCode, Failure> {
    match command {
        TransferCommand::Import(arguments) => import(console, arguments),
        TransferCommand::Export(arguments) => export(console, arguments),
    }
}

/// Imports record directories; each that cannot be is told, and makes the command end with 1.
fn import(console: Console, arguments: &ImportArguments) -> Result<ExitCode, Failure> {
    let store = Store::create(&arguments.place)?;
    let mut writer = ImportWriter::new(for_documents(), console, arguments.json).map_err(unwritten)?;
    let working = Working::start(console, "importing");
    for path in &arguments.paths {
        match wiring::v1_directories(path) {
            Err(error) => writer.unreadable(path, &one_line(&error)).map_err(unwritten)?,
            Ok(directories) => store.with_import_ports(|ports| {
                import::import(ports, &directories, &mut |name, verdict| {
                    working.count();
                    writer.add(path, name, &verdict).map_err(unwritten)
                })
            })?,
        }
    }
    drop(working);
    if writer.is_empty() {
        let places: Vec<String> = arguments.paths.iter().map(|path| shown(path)).collect();
        return Err(Failure::new(
            FailureKind::General,
            format!("there is no record directory in {}", places.join(", ")),
        )
        .with_hint("name a directory with `task-…` directories of version 1 in it, or one of these"));
    }
    match writer.finish().map_err(unwritten)? {
        0 => Ok(ExitCode::SUCCESS),
        _ => Ok(ExitCode::NO),
    }
}

/// Exports one Task, or all.
fn export(console: Console, arguments: &ExportArguments) -> Result<ExitCode, Failure> {
    let layout = match arguments.layout {
        LayoutName::View => Layout::View,
        LayoutName::V1 => Layout::V1,
    };
    if let Some(format) = arguments.format {
        let (task, exported) = attestation::export(arguments, format)?;
        return tell_one(console, arguments, task, exported);
    }
    if arguments.task == "@all" {
        return export_all(console, arguments, layout);
    }
    let named = Named::find(&arguments.place, &arguments.task);
    let is_all = arguments.task == "all";
    let Named { store, selected, .. } = named.map_err(|failure| Failure {
        hint: if is_all { Some("did you mean `@all`?".to_owned()) } else { failure.hint.clone() },
        ..failure
    })?;
    let task = selected.record.task;
    let working = Working::start(console, "exporting");
    let exported = store.with_export_ports(&arguments.destination, |ports| export::export(ports, &selected, layout));
    drop(working);
    tell_one(console, arguments, task, exported?)
}

fn tell_one(
    console: Console,
    arguments: &ExportArguments,
    task: TaskId,
    exported: Exported,
) -> Result<ExitCode, Failure> {
    match exported {
        Exported::Made => {
            let sentence = format!("exported {task} into {}", shown(&arguments.destination));
            tell(console, arguments, &Totals { exported: 1, ..Totals::default() }, &sentence)?;
            tell_of_dirt(console, &arguments.destination);
        }
        Exported::There => {
            let place = shown(&arguments.destination.join(task.to_string()));
            return Err(Failure::new(FailureKind::General, format!("{place} is there already; nothing was exported"))
                .with_hint("choose another directory, or remove this one"));
        }
    }
    Ok(ExitCode::SUCCESS)
}

// The list is newest first: of a Task with several attempts the newest one makes the directory, and is there for the others.
fn export_all(console: Console, arguments: &ExportArguments, layout: Layout) -> Result<ExitCode, Failure> {
    let store = Store::find(&arguments.place, None)?;
    let mut totals = Totals::default();
    let working = Working::start(console, "exporting");
    store.with_export_ports(&arguments.destination, |ports| -> Result<(), Failure> {
        for entry in ports.records.list()? {
            let exported = entry.map_err(Failure::from).and_then(|entry| {
                let Some(record) = ports.records.load(&entry.record)? else { return Ok(Exported::There) };
                export::export(ports, &Selected { digest: entry.record, record }, layout)
            });
            working.count();
            match exported {
                Ok(Exported::Made) => totals.exported += 1,
                Ok(Exported::There) => totals.there += 1,
                Err(failure) => {
                    totals.failed += 1;
                    console.warning(&one_line(&failure));
                }
            }
        }
        Ok(())
    })?;
    drop(working);
    let there = totals.there;
    let rest = match there {
        0 => String::new(),
        _ => format!(
            "; {} left out: a directory of that task is there, perhaps of a later attempt",
            counted(there, "attempt")
        ),
    };
    let made = counted(totals.exported, "task");
    tell(console, arguments, &totals, &format!("exported {made} into {}{rest}", shown(&arguments.destination)))?;
    if totals.exported > 0 {
        tell_of_dirt(console, &arguments.destination);
    }
    Ok(if totals.failed == 0 { ExitCode::SUCCESS } else { ExitCode::NO })
}

fn tell(console: Console, arguments: &ExportArguments, totals: &Totals, sentence: &str) -> Result<(), Failure> {
    if !arguments.json {
        console.line(sentence);
        return Ok(());
    }
    let mut out = for_documents();
    writeln!(out, "{:#}", totals.document(&arguments.destination)).and_then(|()| out.flush()).map_err(unwritten)
}

/// Says where an Export keeps Tasks from being attempted, and how to mend that.
fn tell_of_dirt(console: Console, destination: &Path) {
    let Some(Dirtied { root, path }) = wiring::dirtied_project(destination) else { return };
    console.warning(&format!(
        "{} lies in the repository {}, which is not clean with it: until it is gone or ignored, a task and a promotion are \
         refused there",
        shown(destination),
        shown(&root)
    ));
    let line = if path.as_os_str().is_empty() { "task-*".to_owned() } else { format!("/{}/", shown(&path)) };
    console.line(&format!("hint: move it elsewhere, or add the line `{line}` to .gitignore or .git/info/exclude"));
}

fn shown(path: &Path) -> String {
    use std::os::unix::ffi::OsStrExt;
    isobox_domain::escape::Escaped(path.as_os_str().as_bytes()).to_string()
}
