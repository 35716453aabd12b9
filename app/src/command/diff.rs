//! `isobox diff`: what a Task changed, all of it or at chosen paths.

use super::look::{Named, tell_of_nothing};
use super::repo_paths;
use crate::cli::DiffArguments;
use crate::exit_code::ExitCode;
use crate::failure::Failure;
use crate::output::console::Console;
use crate::output::patch_parts::PatchParts;
use crate::output::stdout::{self, unwritten};
use crate::output::{changes, report_json};
use crate::use_case::logs as copying;
use crate::use_case::report::report_chosen;
use isobox_domain::promotion::{Chosen, Selection};
use isobox_domain::repo_path::RepoPath;
use std::cell::Cell;
use std::io::Write;

/// Shows what a Task changed.
pub(super) fn diff(console: Console, arguments: &DiffArguments) -> Result<ExitCode, Failure> {
    let selection = Selection { only: repo_paths::parse(&arguments.paths)?, except: Vec::new() };
    let named = Named::find_to_show(console, &arguments.place, &arguments.task)?;
    let chosen = Chosen { selection, earlier: Vec::new() };
    let has_shown = match (arguments.json, arguments.stat, arguments.name_only) {
        (true, ..) => {
            let (out, objects) = (&mut stdout::for_documents(), named.store.objects());
            report_json::stream(out, objects, &named.selected, &chosen).map(|()| true)
        }
        (_, true, _) => list(&named, &chosen, true),
        (_, _, true) => list(&named, &chosen, false),
        _ => patch(console, &named, &chosen),
    };
    if !has_shown? {
        let what = if arguments.paths.is_empty() { "changed nothing" } else { "changed nothing there" };
        tell_of_nothing(console, &named.selected.record, what, &arguments.place);
    }
    Ok(ExitCode::SUCCESS)
}

/// Prints the patch; whether there was one.
fn patch(console: Console, named: &Named, chosen: &Chosen) -> Result<bool, Failure> {
    let artifact = named.selected.record.artifacts.patch;
    if artifact.is_none() {
        return Ok(false);
    }
    let ports = copying::Ports { objects: named.store.objects() };
    let mut out = stdout::for_reading(console.paging)?;
    if *chosen == Chosen::default() {
        copying::copy(&ports, "the patch", artifact, &mut out)?.map_err(unwritten)?;
        return Ok(true);
    }
    let has_shown = Cell::new(false);
    let admits = |path: &[u8]| {
        let is_admitted = RepoPath::parse(path).map_or(true, |path| chosen.admits(&path));
        has_shown.set(has_shown.get() || is_admitted);
        is_admitted
    };
    copying::copy(&ports, "the patch", artifact, &mut PatchParts::new(&mut out, &admits))?.map_err(unwritten)?;
    Ok(has_shown.get())
}

/// Prints a line for each path, and the totals where lengths are told; whether there was one.
fn list(named: &Named, chosen: &Chosen, is_stat: bool) -> Result<bool, Failure> {
    let mut out = stdout::for_documents();
    let is_terminal = stdout::is_terminal();
    let record = &named.selected.record;
    let report = report_chosen(named.store.objects(), record, chosen, &mut |line, _| {
        let written = match is_stat {
            true => changes::stat(&mut out, line),
            false => changes::name(&mut out, line, is_terminal),
        };
        written.map_err(unwritten)
    })?;
    if is_stat && record.artifacts.change_set.is_some() {
        changes::totals(&mut out, report.summary()).map_err(unwritten)?;
    }
    out.flush().map_err(unwritten)?;
    Ok(is_stat || report.summary().changed() > 0)
}
