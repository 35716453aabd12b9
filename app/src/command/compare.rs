//! `isobox compare`: what several Tasks made of the same base, side by side.

use super::look::Named;
use super::repo_paths;
use crate::cli::CompareArguments;
use crate::exit_code::ExitCode;
use crate::failure::{Failure, FailureKind};
use crate::output::compare::{self as told, Compared};
use crate::output::console::Console;
use crate::output::line_count::LineCount;
use crate::output::patch_lines::PatchLines;
use crate::output::stdout::{self, unwritten};
use crate::use_case::compare::{Side, same_base};
use crate::use_case::logs as copying;
use crate::use_case::ranked_report::rank;
use isobox_domain::promotion::Selection;
use isobox_domain::record::TaskRecord;
use std::io::Write;

/// Most Tasks that fit beside each other.
const MOST_TASKS: usize = 5;

/// Shows Tasks side by side.
pub(super) fn compare(console: Console, arguments: &CompareArguments) -> Result<ExitCode, Failure> {
    let selection = Selection { only: repo_paths::parse(&arguments.paths)?, ..Selection::default() };
    if arguments.tasks.len() > MOST_TASKS {
        let message = format!("cannot show {} tasks side by side", arguments.tasks.len());
        return Err(Failure::new(FailureKind::Usage, message).with_hint(format!("name {MOST_TASKS} at most")));
    }
    let find = |task| Named::find_to_show(console, &arguments.place, task);
    let named = arguments.tasks.iter().map(|task| find(task)).collect::<Result<Vec<_>, _>>()?;
    let records: Vec<&TaskRecord> = named.iter().map(|named| &named.selected.record).collect();
    same_base(&records)?;
    let rank = |named: &Named| rank(named.store.objects(), &named.selected.record, &selection);
    let reports = named.iter().map(rank).collect::<Result<Vec<_>, _>>()?;
    let lines = named.iter().map(lines).collect::<Result<Vec<_>, _>>()?;
    let sides = named.iter().zip(&reports).map(|(named, report)| Side {
        objects: named.store.objects(),
        record: &named.selected.record,
        report,
    });
    let compared = Compared {
        sides: sides.collect(),
        digests: named.iter().map(|named| named.selected.digest).collect(),
        lines,
        selection: &selection,
    };
    let mut out: Box<dyn Write> = match arguments.json {
        true => Box::new(stdout::for_documents()),
        false => stdout::for_reading(console.paging)?,
    };
    match arguments.json {
        true => told::json::write(&mut out, &compared),
        false => told::text::write(&mut out, &compared),
    }?;
    out.flush().map_err(unwritten)?;
    Ok(ExitCode::SUCCESS)
}

/// How many lines the patch of a Task adds and removes.
fn lines(named: &Named) -> Result<LineCount, Failure> {
    let ports = copying::Ports { objects: named.store.objects() };
    let mut lines = PatchLines::new(LineCount::default());
    copying::copy(&ports, "the patch", named.selected.record.artifacts.patch, &mut lines)?.map_err(unwritten)?;
    lines.finish().map_err(unwritten)
}
