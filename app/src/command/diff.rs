//! `isobox diff`: what a Task changed, all of it or at chosen paths.

use super::look::{Named, tell_of_nothing};
use super::repo_paths;
use crate::cli::{ColorMoved, DiffArguments};
use crate::exit_code::ExitCode;
use crate::failure::Failure;
use crate::output::changes::Names;
use crate::output::console::{Console, painting};
use crate::output::diff_tool::{DiffTool, FileComparingTool, PatchReadingTool};
use crate::output::moved::MoveSearch;
use crate::output::painted::{Painter, Palette};
use crate::output::patch_lines::PatchLines;
use crate::output::patch_parts::{PatchParts, Treatment};
use crate::output::renamed::{RenameSearch, Renames};
use crate::output::stdout::{self, unwritten};
use crate::output::terminal::TerminalWriter;
use crate::output::{changes, report_json};
use crate::use_case::{diff as walk, logs as copying, sides};
use crate::wiring;
use isobox_domain::change::{ChangeLine, ChangeSummary};
use isobox_domain::moves::Mark;
use isobox_domain::promotion::Selection;
use isobox_domain::repo_path::RepoPath;
use std::io::{BufWriter, Write};

/// How much two files share that are taken for one, in percent, where nothing else is asked for. It is Git's default.
const LEAST_SIMILARITY: u8 = 50;

/// A Task, what of it was chosen, and how it is looked at.
struct Look<'a> {
    named: &'a Named,
    selection: &'a Selection,
    arguments: &'a DiffArguments,
}

/// Shows what a Task changed.
pub(super) fn diff(console: Console, arguments: &DiffArguments) -> Result<ExitCode, Failure> {
    let selection = Selection { only: repo_paths::parse(&arguments.paths)?, ..Selection::default() };
    let named = Named::find_to_show(console, &arguments.place, &arguments.task)?;
    let look = Look { named: &named, selection: &selection, arguments };
    let has_shown = if arguments.json {
        let renames = look.renames()?;
        report_json::stream(&mut stdout::for_documents(), named.store.objects(), &named.selected, &renames)
            .map(|()| true)
    } else if arguments.stat || arguments.name_only || arguments.name_status {
        look.list()
    } else if let Some(tool) = arguments.tool {
        look.with_tool(console, tool)
    } else {
        look.patch(console)
    };
    if !has_shown? {
        let what =
            if arguments.paths.is_empty() { "changed nothing" } else { "changed nothing there that was captured" };
        tell_of_nothing(console, &named.selected.record, what, &arguments.place);
    }
    Ok(ExitCode::SUCCESS)
}

impl Look<'_> {
    /// Prints the patch, as it was stored or for a person; whether there was one.
    fn patch(&self, console: Console) -> Result<bool, Failure> {
        if self.named.selected.record.artifacts.patch.is_none() {
            return Ok(false);
        }
        match painting(console.colour) {
            Some(palette) => self.paint(console, palette),
            None => {
                let mut out = BufWriter::new(stdout::for_content()?);
                let renames = self.arguments.find_renames.map(|_| self.renames()).transpose()?;
                self.copy(&renames.unwrap_or_default(), &mut out)
            }
        }
    }

    fn paint(&self, console: Console, palette: Palette) -> Result<bool, Failure> {
        let renames = self.renames()?;
        let marks = if palette == Palette::Plain { Vec::new() } else { self.marks(&renames)? };
        let mut out = stdout::for_painted(console.paging)?;
        let painter = Painter::new(&mut out, palette, marks);
        let mut lines = PatchLines::new(if self.arguments.no_syntax { painter.without_syntax() } else { painter });
        let has_shown = self.copy(&renames, &mut lines)?;
        lines.finish().and_then(Painter::finish).map_err(unwritten)?;
        Ok(has_shown)
    }

    /// Lets a program show it; whether there was something to show.
    fn with_tool(&self, console: Console, tool: DiffTool) -> Result<bool, Failure> {
        if tool == DiffTool::Delta {
            let mut child = PatchReadingTool::start(tool)?;
            let has_shown = self.copy(&self.renames()?, &mut TerminalWriter::new(&mut child))?;
            return child.finish().map(|()| has_shown);
        }
        let (mut files, mut has_shown) = (FileComparingTool::new(tool)?, false);
        let (objects, record) = (self.named.store.objects(), &self.named.selected.record);
        sides::each(objects, record, self.selection, &mut |change, sides| {
            has_shown = true;
            match sides {
                Some(sides) => files.show(change.path.as_bytes(), &sides),
                None => {
                    console.line(&format!("{} is no text that can be compared", change.path));
                    Ok(())
                }
            }
        })?;
        Ok(has_shown)
    }

    /// Which files were renamed. Where nothing was deleted, or nothing added, the patch is not read.
    fn renames(&self) -> Result<Renames, Failure> {
        let summary = self.named.selected.record.artifacts.change_set.map(|set| set.summary);
        let is_possible = summary.is_none_or(|summary| summary.added > 0 && summary.deleted > 0);
        if self.arguments.no_renames || !is_possible {
            return Ok(Renames::default());
        }
        let mut lines = PatchLines::new(RenameSearch::new());
        self.copy(&Renames::default(), &mut lines)?;
        let search = lines.finish().map_err(unwritten)?;
        Ok(search.renames(self.arguments.find_renames.unwrap_or(LEAST_SIMILARITY)))
    }

    /// Which of the changed lines were moved.
    fn marks(&self, renames: &Renames) -> Result<Vec<Mark>, Failure> {
        if self.arguments.color_moved == ColorMoved::No {
            return Ok(Vec::new());
        }
        let mut lines = PatchLines::new(MoveSearch::new());
        self.copy(renames, &mut lines)?;
        Ok(lines.finish().map_err(unwritten)?.marks())
    }

    /// Copies the parts of the patch that were chosen to `out`, with what was renamed as such; whether there was one.
    fn copy(&self, renames: &Renames, out: &mut dyn Write) -> Result<bool, Failure> {
        let (record, selection) = (&self.named.selected.record, self.selection);
        let (ports, artifact) = (copying::Ports { objects: self.named.store.objects() }, record.artifacts.patch);
        if selection.is_everything() && renames.is_empty() {
            copying::copy(&ports, "the patch", artifact, out)?.map_err(unwritten)?;
            return Ok(artifact.is_some());
        }
        let admits = |path: &[u8]| RepoPath::parse(path).map_or(true, |path| selection.admits(&path));
        let treats = |path: &[u8]| match admits(path) {
            true => renames.treatment(path, wiring::write_text_diff),
            false => Treatment::LeaveOut,
        };
        let mut parts = PatchParts::new(out, &treats);
        copying::copy(&ports, "the patch", artifact, &mut parts)?.map_err(unwritten)?;
        parts.finish().map_err(unwritten)
    }

    /// Prints a line for each path, and the totals where lengths are told; whether there was one.
    fn list(&self) -> Result<bool, Failure> {
        let renames = if self.arguments.name_only { Renames::default() } else { self.renames()? };
        let mut out = stdout::for_documents();
        let (record, mut summary) = (&self.named.selected.record, ChangeSummary::default());
        let is_stat = self.arguments.stat;
        walk::each_line(&walk::Ports { objects: self.named.store.objects() }, record, &mut |line| {
            if !walk::is_at(self.selection, &line) {
                return Ok(());
            }
            summary.count(&line);
            self.line(&mut out, &renames, &line).map_err(unwritten)
        })?;
        if is_stat && record.artifacts.change_set.is_some() {
            changes::totals(&mut out, summary, renames.count()).map_err(unwritten)?;
        }
        out.flush().map_err(unwritten)?;
        Ok(is_stat || summary.changed() > 0)
    }

    /// No `-z` makes a terminal get a name as it is.
    fn names(&self) -> Names {
        match (stdout::is_terminal(), self.arguments.nul_terminated) {
            (true, _) => Names::Escaped,
            (false, false) => Names::Quoted,
            (false, true) => Names::Raw,
        }
    }

    fn line(&self, out: &mut dyn Write, renames: &Renames, line: &ChangeLine) -> std::io::Result<()> {
        let names = self.names();
        if self.arguments.name_only {
            return changes::name(out, line, names);
        }
        let change = match line {
            ChangeLine::Change(change) if renames.has_left(change.path.as_bytes()) => return Ok(()),
            ChangeLine::Change(change) => change,
            ChangeLine::NotCaptured(_) if self.arguments.stat => return changes::stat(out, line),
            ChangeLine::NotCaptured(_) => return Ok(()),
        };
        match (renames.origin(change.path.as_bytes()), self.arguments.stat) {
            (Some((old, similarity)), true) => changes::stat_renamed(out, change, old, similarity),
            (None, true) => changes::stat(out, line),
            (renamed, false) => changes::name_status(out, change, renamed, names),
        }
    }
}
