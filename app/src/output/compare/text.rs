//! Tasks side by side for a person: a column each, then a line for each path.

use super::Compared;
use crate::failure::Failure;
use crate::output::stdout::unwritten;
use crate::output::{changes, columns, text};
use crate::use_case::compare::{Relation, Row, Side, Tally, Tests};
use isobox_domain::change::ChangeLine;
use isobox_domain::escape::Escaped;
use isobox_domain::report::RiskCategory;
use std::io::{self, Write};

/// Columns of a line: what every terminal has.
const COLUMNS: usize = 80;
/// Columns of the words before the columns of the Tasks.
const LABEL: usize = 12;

/// Writes what is known of the Tasks, and below it every path.
pub(crate) fn write(out: &mut dyn Write, compared: &Compared<'_>) -> Result<(), Failure> {
    let (tally, tests) = compared.totals()?;
    head(out, compared, &tests).map_err(unwritten)?;
    compared.each_row(&mut |row| path(out, row).map_err(unwritten))?;
    totals(out, tally, compared.sides.len()).map_err(unwritten)
}

/// How a Task is called here: `A` for the first.
fn letter(number: usize) -> char {
    char::from(b'A' + u8::try_from(number).unwrap_or(u8::MAX - b'A'))
}

fn head(out: &mut dyn Write, compared: &Compared<'_>, tests: &[Tests]) -> io::Result<()> {
    for (number, side) in compared.sides.iter().enumerate() {
        let shown =
            format!("{}  {} (attempt {})  {}", letter(number), side.record.task, side.record.attempt, command(side));
        writeln!(out, "{}", columns::cut(&shown, COLUMNS))?;
    }
    writeln!(out)?;
    let sides = || compared.sides.iter();
    let letters: Vec<String> = (0..compared.sides.len()).map(|number| letter(number).to_string()).collect();
    line(out, "", letters.into_iter())?;
    line(out, "outcome", sides().map(|side| side.record.outcome.name().to_owned()))?;
    line(out, "exit code", sides().map(|side| optional(side.record.exit.map(|exit| exit.passed_on().to_string()))))?;
    line(out, "duration", sides().map(duration))?;
    line(out, "limits hit", sides().map(limits))?;
    line(out, "paths", sides().map(paths))?;
    line(out, "lines", compared.lines.iter().map(|lines| format!("+{} -{}", lines.added, lines.removed)))?;
    line(out, "left out", sides().map(|side| side.report.totals().summary().not_captured.to_string()))?;
    line(
        out,
        "test files",
        tests.iter().map(|tests| format!("+{} ~{} -{}", tests.added, tests.changed, tests.deleted)),
    )?;
    for (label, category) in [("fewer tests", RiskCategory::TestRemoved), ("skipped", RiskCategory::TestSkipped)] {
        line(out, label, sides().map(|side| side.report.totals().count(category).to_string()))?;
    }
    for position in 0..3 {
        let level = |side: &Side<'_>| side.report.totals().levels()[position];
        let Some(name) = sides().next().map(|side| level(side).0.name()) else { continue };
        line(out, &format!("{name} risk"), sides().map(|side| level(side).1.to_string()))?;
    }
    writeln!(out)
}

fn command(side: &Side<'_>) -> String {
    text::command(&side.record.command)
}

fn duration(side: &Side<'_>) -> String {
    let record = side.record;
    optional(record.started_at.map(|began| text::duration(record.ended_at.unix_ms().saturating_sub(began.unix_ms()))))
}

fn limits(side: &Side<'_>) -> String {
    let limits: Vec<String> = side.record.exceeded.iter().map(|exceeded| exceeded.limit.to_string()).collect();
    optional(Some(limits.join(", ")).filter(|limits| !limits.is_empty()))
}

fn paths(side: &Side<'_>) -> String {
    let summary = side.report.totals().summary();
    format!("+{} ~{} -{}", summary.added, summary.modified, summary.deleted)
}

fn optional(told: Option<String>) -> String {
    told.unwrap_or_else(|| "-".to_owned())
}

fn line(out: &mut dyn Write, label: &str, cells: impl ExactSizeIterator<Item = String>) -> io::Result<()> {
    let width = (COLUMNS - LABEL) / cells.len().max(1);
    let mut line = format!("{label:<LABEL$}");
    cells.for_each(|cell| line.push_str(&format!("{:<width$}", columns::cut(&cell, width - 1))));
    writeln!(out, "{}", line.trim_end())
}

fn path(out: &mut dyn Write, row: &Row) -> io::Result<()> {
    let relation = row.relation();
    let mark = match relation {
        Relation::Same => "=",
        Relation::Differs => "≠",
        Relation::Partly => "·",
    };
    let letters: String =
        row.made.iter().map(|made| made.as_ref().map_or('.', |made| changes::line_letter(&made.line))).collect();
    writeln!(out, "{mark} {letters} {}{}", Escaped(&row.path), sizes(row, relation))?;
    for (number, made) in row.made.iter().enumerate() {
        let Some(made) = made else { continue };
        for finding in made.findings.iter().filter(|finding| !row.is_shared(finding)) {
            let (name, level) = (finding.category.name(), finding.level.name());
            writeln!(out, "    {} ! {name} ({level})", letter(number))?;
        }
    }
    Ok(())
}

/// The new lengths: one where all have the same.
fn sizes(row: &Row, relation: Relation) -> String {
    let size = |line: &ChangeLine| match line {
        ChangeLine::Change(change) => change.after.as_ref().map(|after| text::counted(after.content.length, "byte")),
        ChangeLine::NotCaptured(_) => Some("not captured".to_owned()),
    };
    let sizes: Vec<String> = match relation {
        Relation::Same => row.made.iter().take(1).flatten().filter_map(|made| size(&made.line)).collect(),
        _ => {
            let told =
                row.made.iter().enumerate().filter_map(|(number, made)| Some((number, size(&made.as_ref()?.line)?)));
            told.map(|(number, size)| format!("{} {size}", letter(number))).collect()
        }
    };
    if sizes.is_empty() { String::new() } else { format!(" ({})", sizes.join(", ")) }
}

fn totals(out: &mut dyn Write, tally: Tally, tasks: usize) -> io::Result<()> {
    let Tally { same, differing, partly } = tally;
    let all = if tasks == 2 { "both" } else { "all" };
    writeln!(
        out,
        "{}: {same} the same (=), {differing} different (≠), {partly} not changed by {all} (·)",
        text::counted(same + differing + partly, "path")
    )
}
