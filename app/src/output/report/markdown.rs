//! The report in Markdown, for a comment on a change.
//!
//! What came from a workload is written in code spans alone, which have no markup, no links, no mentions and no HTML in them.

use super::Told;
use crate::failure::Failure;
use crate::output::stdout::unwritten;
use crate::output::{changes, text};
use isobox_domain::change::ChangeLine;
use isobox_domain::escape::Escaped;
use isobox_domain::report::{Finding, level_of};
use std::io::{self, Write};

/// Writes the totals, and below them every path that deserves a look.
pub(crate) fn write(out: &mut dyn Write, told: &Told<'_>) -> Result<(), Failure> {
    head(out, told).map_err(unwritten)?;
    let mut current = None;
    told.each_flagged(&mut |line, findings| {
        let level = level_of(findings);
        if let Some(level) = level.filter(|_| level != current) {
            writeln!(out, "\n### {}\n", level.name()).map_err(unwritten)?;
        }
        current = level;
        path(out, line, findings).map_err(unwritten)
    })?;
    match told.unflagged() {
        0 => Ok(()),
        others => {
            writeln!(out, "\n{} with nothing to look at.", text::counted(others, "other path")).map_err(unwritten)
        }
    }
}

fn head(out: &mut dyn Write, told: &Told<'_>) -> io::Result<()> {
    let (totals, summary) = (told.totals(), told.totals().summary());
    writeln!(out, "## isobox report of {}\n", told.selected.record.task)?;
    let changed = text::counted(summary.changed(), "changed path");
    let looked = if totals.flagged() == 0 { "nothing".to_owned() } else { changes::levels(totals) };
    writeln!(out, "{changed}, {} not captured. To look at: {looked}.", summary.not_captured)
}

fn path(out: &mut dyn Write, line: &ChangeLine, findings: &[Finding]) -> io::Result<()> {
    let (path, what) = match line {
        ChangeLine::Change(change) => (change.path.as_bytes(), changes::kind(change.kind())),
        ChangeLine::NotCaptured(left_out) => (left_out.workspace_path.as_slice(), "not captured"),
    };
    writeln!(out, "- {} ({what})", code_span(&Escaped(path).to_string()))?;
    for finding in findings {
        let note = finding.note.as_ref().map(|note| format!(": {}", code_span(note))).unwrap_or_default();
        writeln!(out, "  - {} {}{note}", finding.level.name(), code_span(finding.category.name()))?;
    }
    Ok(())
}

/// A code span of one line: its fence is longer than every run of backticks in it.
pub(crate) fn code_span(text: &str) -> String {
    let longest = text.split(|c| c != '`').map(str::len).max().unwrap_or(0);
    let fence = "`".repeat(longest + 1);
    // A reader drops one blank at either end again where there are two, and needs one where a backtick is next to the fence.
    let is_padded = text.starts_with(['`', ' ']) || text.ends_with(['`', ' ']);
    let pad = if is_padded { " " } else { "" };
    format!("{fence}{pad}{text}{pad}{fence}")
}

#[cfg(test)]
mod tests {
    use super::*;

    /// What a reader of Markdown takes for the content of a code span: up to the first run of as many backticks.
    fn read(span: &str) -> Option<&str> {
        let fence = span.len() - span.trim_start_matches('`').len();
        let mut at = fence;
        while at < span.len() {
            let run = span[at..].len() - span[at..].trim_start_matches('`').len();
            if run == fence {
                let inner = &span[fence..at];
                let bare = inner.strip_prefix(' ').and_then(|inner| inner.strip_suffix(' '));
                let is_end = at + run == span.len();
                return is_end.then_some(bare.filter(|_| !inner.trim().is_empty()).unwrap_or(inner));
            }
            at += run.max(span[at..].chars().next().map_or(1, char::len_utf8));
        }
        None
    }

    #[test]
    fn nothing_of_a_name_gets_out_of_its_code_span() {
        let longer = |names: &[String]| -> Vec<String> {
            names.iter().flat_map(|name| ["`", " ", "a", "]"].map(|c| format!("{name}{c}"))).collect()
        };
        let mut names = vec![String::new()];
        for _ in 0..6 {
            names = longer(&names);
            for name in names.iter().filter(|name| !name.trim().is_empty()) {
                assert_eq!(read(&code_span(name)), Some(name.as_str()), "{}", code_span(name));
            }
        }
    }

    #[test]
    fn a_name_that_is_markup_is_shown_as_it_is() {
        assert_eq!(code_span("[x](http://y)"), "`[x](http://y)`");
        assert_eq!(code_span("a``b`"), "``` a``b` ```");
    }
}
