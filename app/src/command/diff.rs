//! `isobox diff`: what a Task changed, all of it or at chosen paths.

use super::look::{Named, tell_of_nothing};
use super::repo_paths;
use crate::cli::DiffArguments;
use crate::exit_code::ExitCode;
use crate::failure::Failure;
use crate::output::console::{Console, painting};
use crate::output::painted::{Painter, PatchLines};
use crate::output::patch_parts::PatchParts;
use crate::output::stdout::{self, unwritten};
use crate::output::{changes, report_json};
use crate::use_case::{diff as walk, logs as copying};
use isobox_domain::change::ChangeSummary;
use isobox_domain::promotion::Selection;
use isobox_domain::repo_path::RepoPath;
use std::io::{BufWriter, Write};

/// Shows what a Task changed.
pub(super) fn diff(console: Console, arguments: &DiffArguments) -> Result<ExitCode, Failure> {
    let selection = Selection { only: repo_paths::parse(&arguments.paths)?, ..Selection::default() };
    let named = Named::find_to_show(console, &arguments.place, &arguments.task)?;
    let has_shown = match (arguments.json, arguments.stat, arguments.name_only) {
        (true, ..) => {
            let (out, objects) = (&mut stdout::for_documents(), named.store.objects());
            report_json::stream(out, objects, &named.selected).map(|()| true)
        }
        (_, true, _) => list(&named, &selection, true),
        (_, _, true) => list(&named, &selection, false),
        _ => patch(console, &named, &selection),
    };
    if !has_shown? {
        let what =
            if arguments.paths.is_empty() { "changed nothing" } else { "changed nothing there that was captured" };
        tell_of_nothing(console, &named.selected.record, what, &arguments.place);
    }
    Ok(ExitCode::SUCCESS)
}

/// Prints the patch, as it is or for a person; whether there was one.
fn patch(console: Console, named: &Named, selection: &Selection) -> Result<bool, Failure> {
    if named.selected.record.artifacts.patch.is_none() {
        return Ok(false);
    }
    let Some(palette) = painting(console.colour) else {
        return copy(named, selection, &mut BufWriter::new(stdout::for_content()?));
    };
    let mut out = stdout::for_painted(console.paging)?;
    let mut lines = PatchLines::new(Painter::new(&mut out, palette));
    let has_shown = copy(named, selection, &mut lines)?;
    lines.finish().and_then(Painter::finish).map_err(unwritten)?;
    Ok(has_shown)
}

/// Copies the parts of the patch that were chosen to `out`; whether there was one.
fn copy(named: &Named, selection: &Selection, out: &mut dyn Write) -> Result<bool, Failure> {
    let (ports, artifact) = (copying::Ports { objects: named.store.objects() }, named.selected.record.artifacts.patch);
    if selection.is_everything() {
        copying::copy(&ports, "the patch", artifact, out)?.map_err(unwritten)?;
        return Ok(true);
    }
    let admits = |path: &[u8]| RepoPath::parse(path).map_or(true, |path| selection.admits(&path));
    let mut parts = PatchParts::new(out, &admits);
    copying::copy(&ports, "the patch", artifact, &mut parts)?.map_err(unwritten)?;
    parts.finish().map_err(unwritten)
}

/// Prints a line for each path, and the totals where lengths are told; whether there was one.
fn list(named: &Named, selection: &Selection, is_stat: bool) -> Result<bool, Failure> {
    let mut out = stdout::for_documents();
    let is_terminal = stdout::is_terminal();
    let (record, mut summary) = (&named.selected.record, ChangeSummary::default());
    walk::each_line(&walk::Ports { objects: named.store.objects() }, record, &mut |line| {
        if !walk::is_at(selection, &line) {
            return Ok(());
        }
        summary.count(&line);
        let written = match is_stat {
            true => changes::stat(&mut out, &line),
            false => changes::name(&mut out, &line, is_terminal),
        };
        written.map_err(unwritten)
    })?;
    if is_stat && record.artifacts.change_set.is_some() {
        changes::totals(&mut out, summary).map_err(unwritten)?;
    }
    out.flush().map_err(unwritten)?;
    Ok(is_stat || summary.changed() > 0)
}
