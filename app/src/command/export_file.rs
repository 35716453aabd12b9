//! `isobox export` into one file: an Archive, or a patch.

use super::export::{ALL, Asked, tell, tell_of_dirt};
use super::look::Named;
use super::transfer::shown;
use crate::cli::Format;
use crate::exit_code::ExitCode;
use crate::failure::{Failure, FailureKind, one_line};
use crate::output::console::Console;
use crate::output::export::Totals;
use crate::output::stdout;
use crate::output::text::counted;
use crate::output::working::Working;
use crate::use_case::{archive, logs as copying};
use crate::wiring::{self, Kind, Store};
use isobox_domain::content::ContentId;
use isobox_ports::{Advance, Archived, ExportError, ExportFile, ExportFiles, Replacing};
use std::io::{BufWriter, Write};
use std::path::Path;

/// Writes an Archive of the Tasks, or their patch.
pub(super) fn export(console: Console, asked: &Asked<'_>, format: Format) -> Result<ExitCode, Failure> {
    let destination = Destination::begin(asked, format)?;
    match format {
        Format::Archive => export_archive(console, asked, destination),
        _ => export_patch(console, asked, destination),
    }
}

/// Where the file goes.
pub(super) enum Destination {
    File(BufWriter<Box<dyn ExportFile>>),
    Stdout(Box<dyn Write>),
}

impl Destination {
    pub(super) fn begin(asked: &Asked<'_>, format: Format) -> Result<Self, Failure> {
        if asked.destination.as_os_str() == "-" {
            return Self::stdout(asked, format);
        }
        let replacing = if asked.arguments.force { Replacing::File } else { Replacing::Nothing };
        let begun = wiring::export_file(asked.destination).begin(replacing);
        begun.map(|file| Self::File(BufWriter::new(file))).map_err(|error| match error {
            ExportError::Exists { .. } => there(asked.destination),
            error @ ExportError::Io { .. } => error.into(),
        })
    }

    fn stdout(asked: &Asked<'_>, format: Format) -> Result<Self, Failure> {
        if asked.arguments.json {
            let message = "standard output cannot take both the export and a JSON document";
            return Err(Failure::new(FailureKind::Usage, message).with_hint("name a file, or leave --json out"));
        }
        if matches!(format, Format::Archive | Format::GitBundle | Format::Tar) && stdout::is_terminal() {
            let message = "this format is no text, and standard output is a terminal";
            return Err(Failure::new(FailureKind::Usage, message).with_hint("name a file, or pipe it somewhere"));
        }
        Ok(Self::Stdout(stdout::for_content()?))
    }

    pub(super) fn writer(&mut self) -> &mut dyn Write {
        match self {
            Self::File(file) => file,
            Self::Stdout(stdout) => stdout,
        }
    }

    pub(super) fn finish(self) -> Result<(), Failure> {
        match self {
            Self::File(file) => {
                let file = file.into_inner().map_err(|error| unwritten(error.into_error()))?;
                file.finish().map_err(Failure::from)
            }
            Self::Stdout(mut stdout) => stdout.flush().map_err(stdout::unwritten),
        }
    }
}

fn there(path: &Path) -> Failure {
    Failure::new(FailureKind::General, format!("{} is there already; nothing was exported", shown(path)))
        .with_hint("choose another name, or pass --force to replace it")
}

fn unwritten(error: std::io::Error) -> Failure {
    Failure::new(FailureKind::General, "write the export; nothing was exported").because(error)
}

fn export_archive(console: Console, asked: &Asked<'_>, mut destination: Destination) -> Result<ExitCode, Failure> {
    let mut failed = 0;
    let (store, records) = match asked.tasks {
        [all] if all == ALL => {
            let store = Store::find(&asked.arguments.place, None)?;
            let records = archive::whole_records(&store.archive_ports(), &mut |failure| {
                failed += 1;
                console.warning(&one_line(failure));
            })?;
            (store, records)
        }
        _ => named_records(asked)?,
    };
    if records.is_empty() {
        return Err(Failure::new(FailureKind::General, "there is no task to export; nothing was exported"));
    }
    let working = Working::start_percent(console, "exporting");
    let advance = |advance: Advance| working.reach(100 * advance.done_bytes / advance.all_bytes.max(1));
    let written = archive::archive(&store.archive_ports(), &records, destination.writer(), &advance)?;
    destination.finish()?;
    drop(working);
    let totals = Totals { exported: written.records, failed, ..Totals::default() };
    tell_of(console, asked, &totals, &sentence(&written))?;
    Ok(if failed == 0 { ExitCode::SUCCESS } else { ExitCode::NO })
}

fn sentence(written: &Archived) -> String {
    let counts = [counted(written.records, "record"), counted(written.events, "event")];
    format!("exported {} ({})", counts.join(" and "), counted(written.bytes, "byte"))
}

/// Tells what came of it, unless standard output has it.
pub(super) fn tell_of(console: Console, asked: &Asked<'_>, totals: &Totals, sentence: &str) -> Result<(), Failure> {
    if asked.destination.as_os_str() == "-" {
        return Ok(());
    }
    tell(console, asked, totals, &format!("{sentence} into {}", shown(asked.destination)))?;
    tell_of_dirt(console, asked.destination, Kind::File);
    Ok(())
}

/// The records that were named, of one store.
fn named_records(asked: &Asked<'_>) -> Result<(Store, Vec<ContentId>), Failure> {
    let mut named: Option<(Store, Vec<ContentId>)> = None;
    for typed in asked.tasks {
        let Named { store, selected, .. } = Named::find(&asked.arguments.place, typed)?;
        match &mut named {
            None => named = Some((store, vec![selected.digest])),
            Some((first, records)) if first.is_same(&store) => records.push(selected.digest),
            Some(_) => {
                let message = "the tasks are not in one store";
                return Err(Failure::new(FailureKind::Usage, message).with_hint("export those of each by themselves"));
            }
        }
    }
    named.ok_or_else(|| Failure::new(FailureKind::Usage, "there is no task to export"))
}

fn export_patch(console: Console, asked: &Asked<'_>, mut destination: Destination) -> Result<ExitCode, Failure> {
    if asked.tasks.iter().any(|task| task == ALL) {
        let message = "the changes of every task do not make one patch";
        return Err(Failure::new(FailureKind::Usage, message).with_hint("name the tasks whose changes it is to have"));
    }
    for typed in asked.tasks {
        let Named { store, selected, .. } = Named::find(&asked.arguments.place, typed)?;
        let patch = selected.record.artifacts.patch;
        if patch.is_none() {
            console.warning(&format!("{} changed nothing", selected.record.task));
        }
        let ports = copying::Ports { objects: store.objects() };
        copying::copy(&ports, "the patch", patch, destination.writer())?.map_err(unwritten)?;
    }
    destination.finish()?;
    let count = asked.tasks.len() as u64;
    let sentence = format!("exported the changes of {}", counted(count, "task"));
    tell_of(console, asked, &Totals { exported: count, ..Totals::default() }, &sentence)?;
    Ok(ExitCode::SUCCESS)
}
