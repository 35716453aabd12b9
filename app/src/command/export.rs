//! `isobox export` into directories of plain files.

use super::look::{Named, tell_of_redacted, verified_by_hash};
use super::transfer::shown;
use super::{attestation, export_file, export_git};
use crate::cli::{ExportArguments, Format, LayoutName};
use crate::exit_code::ExitCode;
use crate::failure::{Failure, FailureKind, one_line};
use crate::output::console::Console;
use crate::output::export::Totals;
use crate::output::redacting::Redacted;
use crate::output::stdout::{for_documents, unwritten};
use crate::output::text::counted;
use crate::output::working::Working;
use crate::use_case::export::{self, Exported, Layout};
use crate::use_case::select::Selected;
use crate::wiring::{self, Dirtied, Kind, Store};
use std::ffi::OsString;
use std::io::Write;
use std::path::Path;

/// What stands for every task.
pub(super) const ALL: &str = "@all";

/// What is exported where.
pub(super) struct Asked<'a> {
    pub(super) arguments: &'a ExportArguments,
    pub(super) tasks: &'a [OsString],
    pub(super) destination: &'a Path,
    redacted: Redacted,
}

impl Asked<'_> {
    /// What counts secret-shaped strings, if they are to be left out.
    fn redacted(&self) -> Option<&Redacted> {
        self.arguments.redact.then_some(&self.redacted)
    }
}

/// Exports Tasks.
pub(super) fn export(console: Console, arguments: &ExportArguments) -> Result<ExitCode, Failure> {
    let Some((tasks, destination)) = arguments.tasks_and_destination() else {
        return Err(Failure::new(
            FailureKind::Usage,
            "a task and a destination are needed, and one of them is missing",
        )
        .with_hint("for example: isobox export @latest ../out"));
    };
    let asked = &Asked { arguments, tasks, destination, redacted: Redacted::default() };
    if arguments.redact {
        refuse_to_redact(arguments)?;
    }
    let is_all = tasks.iter().any(|task| task == ALL);
    if is_all && tasks.len() > 1 {
        return Err(Failure::new(FailureKind::Usage, "@all is every task: name no other beside it"));
    }
    let layout = match arguments.layout {
        LayoutName::View => Layout::View,
        LayoutName::V1 => Layout::V1,
    };
    match arguments.format {
        Some(format @ (Format::InToto | Format::Dsse)) => export_statement(console, asked, format),
        Some(format @ (Format::Archive | Format::Patch)) => export_file::export(console, asked, format),
        Some(format) => export_git::export(console, asked, format),
        None if is_all => export_all(console, asked, layout),
        None => export_each(console, asked, layout),
    }
}

/// Refuses to redact what would not be what it is any more.
fn refuse_to_redact(arguments: &ExportArguments) -> Result<(), Failure> {
    let usage = |message: &str| {
        Failure::new(FailureKind::Usage, message)
            .with_hint("leave --redact out, or export plain files without --format and --layout")
    };
    match (arguments.format, arguments.layout) {
        (Some(Format::Archive), _) => Err(verified_by_hash("the objects of an archive")),
        (Some(Format::InToto | Format::Dsse), _) => {
            Err(usage("a statement cannot be redacted: it is about digests of what it names"))
        }
        (Some(Format::Patch), _) => {
            Err(usage("a patch cannot be redacted: it would make other files of those that it is applied to"))
        }
        (Some(Format::Commit | Format::Branch | Format::Mbox | Format::GitBundle | Format::Tar), _) => {
            Err(usage("a result cannot be redacted: others would take it for what the task made"))
        }
        (None, LayoutName::V1) => {
            Err(usage("the old layout cannot be redacted: an imported record comes out byte for byte"))
        }
        (None, LayoutName::View) => Ok(()),
    }
}

// A name that means no task ends the command before anything is written.
fn export_each(console: Console, asked: &Asked<'_>, layout: Layout) -> Result<ExitCode, Failure> {
    let named = asked.tasks.iter().map(|typed| find(asked, typed));
    let named: Vec<Named> = named.collect::<Result<_, _>>()?;
    let working = Working::start(console, "exporting");
    for Named { store, selected, .. } in &named {
        let exported = store
            .with_export_ports(asked.destination, |ports| export::export(ports, selected, layout, asked.redacted()));
        if exported? == Exported::There {
            let place = shown(&asked.destination.join(selected.record.task.to_string()));
            let rest =
                if named.len() > 1 { "it, and what comes after it, was not exported" } else { "nothing was exported" };
            return Err(Failure::new(FailureKind::General, format!("{place} is there already; {rest}"))
                .with_hint("choose another directory, or remove this one"));
        }
    }
    drop(working);
    let what = match named.as_slice() {
        [Named { selected, .. }] => selected.record.task.to_string(),
        several => counted(several.len() as u64, "task"),
    };
    let sentence = format!("exported {what} into {}", shown(asked.destination));
    tell(console, asked, &Totals { exported: named.len() as u64, ..Totals::default() }, &sentence)?;
    tell_of_dirt(console, asked.destination, Kind::Directory);
    Ok(ExitCode::SUCCESS)
}

fn find(asked: &Asked<'_>, typed: &OsString) -> Result<Named, Failure> {
    let is_all = typed == "all";
    Named::find(&asked.arguments.place, typed).map_err(|failure| Failure {
        hint: if is_all { Some("did you mean `@all`?".to_owned()) } else { failure.hint.clone() },
        ..failure
    })
}

fn export_statement(console: Console, asked: &Asked<'_>, format: Format) -> Result<ExitCode, Failure> {
    let (task, exported) = attestation::export(asked, format)?;
    if exported == Exported::There {
        let place = shown(&asked.destination.join(task.to_string()));
        return Err(Failure::new(FailureKind::General, format!("{place} is there already; nothing was exported"))
            .with_hint("choose another directory, or remove this one"));
    }
    let sentence = format!("exported {task} into {}", shown(asked.destination));
    tell(console, asked, &Totals { exported: 1, ..Totals::default() }, &sentence)?;
    tell_of_dirt(console, asked.destination, Kind::Directory);
    Ok(ExitCode::SUCCESS)
}

// The list is newest first: of a Task with several attempts the newest one makes the directory, and is there for the others.
fn export_all(console: Console, asked: &Asked<'_>, layout: Layout) -> Result<ExitCode, Failure> {
    let store = Store::find(&asked.arguments.place, None)?;
    let mut totals = Totals::default();
    let working = Working::start(console, "exporting");
    store.with_export_ports(asked.destination, |ports| -> Result<(), Failure> {
        for entry in ports.records.list()? {
            let exported = entry.map_err(Failure::from).and_then(|entry| {
                let Some(record) = ports.records.load(&entry.record)? else { return Ok(Exported::There) };
                export::export(ports, &Selected { digest: entry.record, record }, layout, asked.redacted())
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
    tell(console, asked, &totals, &format!("exported {made} into {}{rest}", shown(asked.destination)))?;
    if totals.exported > 0 {
        tell_of_dirt(console, asked.destination, Kind::Directory);
    }
    Ok(if totals.failed == 0 { ExitCode::SUCCESS } else { ExitCode::NO })
}

/// Tells what came of it.
pub(super) fn tell(console: Console, asked: &Asked<'_>, totals: &Totals, sentence: &str) -> Result<(), Failure> {
    if let Some(redacted) = asked.redacted() {
        tell_of_redacted(console, redacted)?;
    }
    if !asked.arguments.json {
        console.line(sentence);
        return Ok(());
    }
    let mut out = for_documents();
    writeln!(out, "{:#}", totals.document(asked.destination)).and_then(|()| out.flush()).map_err(unwritten)
}

/// Says where an Export keeps Tasks from being attempted, and how to mend that.
pub(super) fn tell_of_dirt(console: Console, destination: &Path, kind: Kind) {
    let Some(Dirtied { root, path }) = wiring::dirtied_project(destination, kind) else { return };
    console.warning(&format!(
        "{} lies in the repository {}, which is not clean with it: until it is gone or ignored, a task and a promotion are \
         refused there",
        shown(destination),
        shown(&root)
    ));
    let line = match kind {
        Kind::File => format!("/{}", shown(&path)),
        Kind::Directory if path.as_os_str().is_empty() => "task-*".to_owned(),
        Kind::Directory => format!("/{}/", shown(&path)),
    };
    console.line(&format!("hint: move it elsewhere, or add the line `{line}` to .gitignore or .git/info/exclude"));
}
