//! Changed paths, one a line: `diff --stat`, `diff --name-only` and the Promotion Report.

use crate::output::text;
use isobox_domain::change::{
    Change, ChangeKind, ChangeLine, ChangeSummary, NotCaptured, NotCapturedReason, RuleOrigin,
};
use isobox_domain::escape::Escaped;
use isobox_domain::quoted_name::quoted;
use isobox_domain::report::{Finding, PromotionReport, RiskCategory};
use isobox_ports::MergeTally;
use std::cmp::Reverse;
use std::io::{self, Write};

/// Writes a line with the kind, the path and the new length of a change, or why something was left out.
pub(crate) fn stat(out: &mut dyn Write, line: &ChangeLine) -> io::Result<()> {
    writeln!(out, "{}", described(line))
}

/// Writes a rename: both paths, what both contents share, and the new length.
pub(crate) fn stat_renamed(out: &mut dyn Write, change: &Change, old: &[u8], similarity: u8) -> io::Result<()> {
    let length = change.after.as_ref().map_or(0, |after| after.content.length);
    let (old, new) = (Escaped(old), &change.path);
    writeln!(out, "R {old} => {new} ({similarity}%, {})", text::counted(length, "byte"))
}

/// How paths are written where nothing but paths is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Names {
    /// Escaped, for a person at a terminal.
    Escaped,
    /// In quotes where Git would quote them, so that each has its line.
    Quoted,
    /// As they are, with a NUL after each.
    Raw,
}

impl Names {
    fn write(self, out: &mut dyn Write, path: &[u8]) -> io::Result<()> {
        match self {
            Self::Escaped => write!(out, "{}", Escaped(path)),
            Self::Quoted => out.write_all(&quoted(b"", path)),
            Self::Raw => out.write_all(path),
        }
    }

    /// What is after a letter, and between two paths.
    const fn separator(self) -> &'static [u8] {
        if matches!(self, Self::Raw) { b"\0" } else { b"\t" }
    }

    /// What is after everything that is told of a change.
    const fn end(self) -> &'static [u8] {
        if matches!(self, Self::Raw) { b"\0" } else { b"\n" }
    }
}

/// Writes a letter and the path of a change as Git does; `renamed` is its old path and what both contents share.
pub(crate) fn name_status(
    out: &mut dyn Write,
    change: &Change,
    renamed: Option<(&[u8], u8)>,
    names: Names,
) -> io::Result<()> {
    match renamed {
        Some((old, similarity)) => {
            write!(out, "R{similarity:03}")?;
            out.write_all(names.separator())?;
            names.write(out, old)?;
        }
        None => write!(out, "{}", letter(change.kind()))?,
    }
    out.write_all(names.separator())?;
    names.write(out, change.path.as_bytes())?;
    out.write_all(names.end())
}

/// Writes the totals; `renames` are pairs of the paths that were added and deleted.
pub(crate) fn totals(out: &mut dyn Write, summary: ChangeSummary, renames: u64) -> io::Result<()> {
    let renamed = match renames {
        0 => String::new(),
        count => format!(", with {}", text::counted(count, "rename")),
    };
    let left_out = match summary.not_captured {
        0 => String::new(),
        count => format!(", {count} not captured"),
    };
    writeln!(
        out,
        "{}: {} added, {} modified, {} deleted{left_out}{renamed}",
        text::counted(summary.changed(), "changed path"),
        summary.added,
        summary.modified,
        summary.deleted
    )
}

/// Writes the path of a change alone.
pub(crate) fn name(out: &mut dyn Write, line: &ChangeLine, names: Names) -> io::Result<()> {
    let ChangeLine::Change(change) = line else { return Ok(()) };
    names.write(out, change.path.as_bytes())?;
    out.write_all(names.end())
}

/// Writes a line of the Promotion Report: the change, and below it why it deserves a look.
pub(crate) fn reported(out: &mut dyn Write, line: &ChangeLine, findings: &[Finding]) -> io::Result<()> {
    writeln!(out, "  {}", described(line))?;
    for finding in findings {
        let note = finding.note.as_ref().map(|note| format!(": {note}")).unwrap_or_default();
        writeln!(out, "      ! {} ({}){note}", finding.category.name(), finding.level.name())?;
    }
    Ok(())
}

/// Writes how the paths meet what the repository changed since.
pub(crate) fn merged(out: &mut dyn Write, tally: &MergeTally) -> io::Result<()> {
    let MergeTally { untouched, present, merged, marked } = tally;
    let taken = text::counted(*untouched, "path");
    writeln!(out, "three-way: {taken} taken, {merged} merged, {present} there already")?;
    for path in marked {
        writeln!(out, "  ! {path}: both changed the same lines; it will hold conflict markers")?;
    }
    Ok(())
}

/// Writes the totals of the Promotion Report.
pub(crate) fn report_totals(out: &mut dyn Write, report: &PromotionReport) -> io::Result<()> {
    totals(out, report.summary(), 0)?;
    if report.flagged() > 0 {
        writeln!(out, "to look at: {}", levels(report))?;
    }
    for (category, count) in by_level(report) {
        writeln!(out, "  {:<20}{count:>4}  {}", category.name(), category.meaning())?;
    }
    out.flush()
}

/// How many paths there are of each level, without those that have none: `1 high, 2 low`.
pub(crate) fn levels(report: &PromotionReport) -> String {
    let levels = report.levels().into_iter().filter(|(_, count)| *count > 0);
    levels.map(|(level, count)| format!("{count} {}", level.name())).collect::<Vec<_>>().join(", ")
}

/// The categories that were found, those that weigh most first.
fn by_level(report: &PromotionReport) -> Vec<(RiskCategory, u64)> {
    let mut categories: Vec<_> = report.categories().collect();
    categories.sort_by_key(|(category, _)| Reverse(category.level()));
    categories
}

fn described(line: &ChangeLine) -> String {
    match line {
        ChangeLine::NotCaptured(left_out) => {
            format!("? {} (not captured: {})", Escaped(&left_out.workspace_path), reason(left_out))
        }
        ChangeLine::Change(change) => {
            let mut words = format!("{} {}", letter(change.kind()), change.path);
            if let Some(after) = &change.after {
                words.push_str(&format!(
                    " ({}{})",
                    text::counted(after.content.length, "byte"),
                    if after.binary { ", binary" } else { "" }
                ));
            }
            if let Some(from) = &change.renamed_from {
                words.push_str(&format!(" (same content as deleted {from})"));
            }
            words
        }
    }
}

/// The letter of a line: `?` for what was left out.
pub(crate) fn line_letter(line: &ChangeLine) -> char {
    match line {
        ChangeLine::Change(change) => letter(change.kind()),
        ChangeLine::NotCaptured(_) => '?',
    }
}

/// The name of a kind in documents.
pub(crate) const fn kind(kind: ChangeKind) -> &'static str {
    match kind {
        ChangeKind::Added => "added",
        ChangeKind::Deleted => "deleted",
        ChangeKind::Modified => "modified",
        ChangeKind::TypeChanged => "type_changed",
    }
}

/// The letter of a change in a list: that of its kind, or R for an added path with the content of a deleted one.
pub(crate) fn letter_of(change: &Change) -> char {
    if change.renamed_from.is_some() { 'R' } else { letter(change.kind()) }
}

const fn letter(kind: ChangeKind) -> char {
    match kind {
        ChangeKind::Added => 'A',
        ChangeKind::Deleted => 'D',
        ChangeKind::Modified => 'M',
        ChangeKind::TypeChanged => 'T',
    }
}

/// Why something was left out, in words.
pub(crate) fn reason(left_out: &NotCaptured) -> String {
    match &left_out.reason {
        NotCapturedReason::Ignored { rule, rule_file, origin } => {
            let whose = if *origin == RuleOrigin::Workload { ", which the workload added" } else { "" };
            format!("ignored by rule `{}` in {rule_file}{whose}", Escaped(rule))
        }
        NotCapturedReason::EmptyDirectory => "an empty directory".to_owned(),
        NotCapturedReason::NestedRepository => "a repository of its own".to_owned(),
        NotCapturedReason::Fifo => "a named pipe".to_owned(),
        NotCapturedReason::Socket => "a socket".to_owned(),
        NotCapturedReason::Device => "a device".to_owned(),
        NotCapturedReason::Unreadable(why) => format!("unreadable: {}", Escaped(why.as_bytes())),
        NotCapturedReason::SpecialModeBits(bits) => format!("mode bits {bits:04o}; the content itself is captured"),
        NotCapturedReason::TooLarge { length } => format!("too large, {length} bytes"),
        NotCapturedReason::UnsupportedName(rule) => {
            format!("its name can be no path of a Git repository: {}", Escaped(rule.as_bytes()))
        }
        NotCapturedReason::OtherFileSystem => "another file system is mounted there".to_owned(),
    }
}
