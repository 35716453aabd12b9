//! `isobox store repair` and `isobox store rebuild-index`.

use crate::cli::{RebuildIndexArguments, RepairArguments};
use crate::exit_code::ExitCode;
use crate::failure::{Failure, FailureKind};
use crate::output::console::Console;
use crate::output::repair as shown;
use crate::output::stdout::{for_documents, unwritten};
use crate::output::text::counted;
use crate::output::working::Working;
use crate::use_case::repair;
use crate::use_case::take_over::Source;
use crate::wiring::{self, Importable, Store};
use isobox_ports::{Advance, MendMode};
use std::io::Write;
use std::path::Path;

/// Mends a store, and says what stays lost.
pub(super) fn repair(console: Console, arguments: &RepairArguments) -> Result<ExitCode, Failure> {
    let store = Store::find(&arguments.place, None)?;
    let from = arguments.from.iter().map(|path| source(path)).collect::<Result<Vec<_>, _>>()?;
    let mode = if arguments.dry_run { MendMode::Look } else { MendMode::Mend };
    let working = Working::start_percent(console, "repairing");
    let advance = |advance: Advance| working.reach(100 * advance.done_bytes / advance.all_bytes.max(1));
    let sources: Vec<Source<'_>> = from
        .iter()
        .flatten()
        .filter_map(|held| match held {
            Importable::Store(held) => Some(Source { records: &**held, objects: &**held }),
            Importable::Directories(_) => None,
        })
        .collect();
    let repaired = repair::repair(&store.repair_ports()?, &sources, mode, &advance)?;
    drop(working);
    let mut out = for_documents();
    let written = match arguments.json {
        true => writeln!(out, "{:#}", shown::document(mode, &repaired)),
        false => shown::text(&mut out, mode, &repaired),
    };
    written.and_then(|()| out.flush()).map_err(unwritten)?;
    Ok(if repaired.after.is_sound() { ExitCode::SUCCESS } else { ExitCode::NO })
}

/// What whole copies are taken from at a path.
fn source(path: &Path) -> Result<Vec<Importable>, Failure> {
    let found = wiring::importable(path)?;
    if found.iter().any(|found| matches!(found, Importable::Store(_))) {
        return Ok(found);
    }
    let shown = super::transfer::shown(path);
    Err(Failure::new(FailureKind::Usage, format!("there is no archive and no store at {shown}"))
        .with_hint("name an archive, a store, or a records directory or repository that has one"))
}

/// Makes the derived tables anew.
pub(super) fn rebuild_index(console: Console, arguments: &RebuildIndexArguments) -> Result<ExitCode, Failure> {
    let store = Store::find(&arguments.place, None)?;
    let count = store.repair_ports()?.mender.rebuild_tables()?;
    console.line(&format!("the tables of {} are made anew", counted(count, "pack")));
    Ok(ExitCode::SUCCESS)
}
