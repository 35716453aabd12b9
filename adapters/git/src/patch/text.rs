//! Text diffs in the unified format.

use gix::diff::blob::sources::byte_lines;
use gix::diff::blob::{Algorithm, Hunk, InternedInput, Token, diff_with_slider_heuristics};
use std::io::{self, Write};
use std::ops::Range;

/// Unchanged lines around a changed one.
const CONTEXT: u32 = 3;

/// Writes the file names and the hunks that make `new` of `old`; they differ.
pub(super) fn write(out: &mut dyn Write, old: &[u8], new: &[u8], labels: &(Vec<u8>, Vec<u8>)) -> io::Result<()> {
    // An empty file that comes or goes has no hunk, and then no names either.
    if old.is_empty() && new.is_empty() {
        return Ok(());
    }
    write_name(out, b"--- ", &labels.0)?;
    write_name(out, b"+++ ", &labels.1)?;
    let input = InternedInput::new(byte_lines(old), byte_lines(new));
    let diff = diff_with_slider_heuristics(Algorithm::Histogram, &input);
    let mut group: Vec<Hunk> = Vec::new();
    for hunk in diff.hunks() {
        if group.last().is_some_and(|last| hunk.before.start - last.before.end > 2 * CONTEXT) {
            write_group(out, &input, &group)?;
            group.clear();
        }
        group.push(hunk);
    }
    write_group(out, &input, &group)
}

fn write_name(out: &mut dyn Write, prefix: &[u8], label: &[u8]) -> io::Result<()> {
    // A tab ends a name that has spaces in it, so that no reader takes the rest for a time.
    let end: &[u8] = if label.contains(&b' ') { b"\t\n" } else { b"\n" };
    out.write_all(&[prefix, label, end].concat())
}

fn write_group(out: &mut dyn Write, input: &InternedInput<&[u8]>, group: &[Hunk]) -> io::Result<()> {
    let (Some(first), Some(last)) = (group.first(), group.last()) else { return Ok(()) };
    let lead = CONTEXT.min(first.before.start);
    let trail = CONTEXT.min(input.before.len() as u32 - last.before.end);
    let before = first.before.start - lead..last.before.end + trail;
    let after = first.after.start - lead..last.after.end + trail;
    writeln!(out, "@@ -{} +{} @@", range(&before), range(&after))?;
    let mut context = before.start;
    for hunk in group {
        write_lines(out, b' ', input, &input.before, context..hunk.before.start)?;
        write_lines(out, b'-', input, &input.before, hunk.before.clone())?;
        write_lines(out, b'+', input, &input.after, hunk.after.clone())?;
        context = hunk.before.end;
    }
    write_lines(out, b' ', input, &input.before, context..before.end)
}

/// Lines count from 1; an empty range is named by the line before it.
fn range(lines: &Range<u32>) -> String {
    let start = if lines.is_empty() { lines.start } else { lines.start + 1 };
    format!("{start},{}", lines.len())
}

fn write_lines(
    out: &mut dyn Write,
    sign: u8,
    input: &InternedInput<&[u8]>,
    tokens: &[Token],
    lines: Range<u32>,
) -> io::Result<()> {
    for token in &tokens[lines.start as usize..lines.end as usize] {
        let line = input.interner[*token];
        out.write_all(&[sign])?;
        out.write_all(line)?;
        if !line.ends_with(b"\n") {
            out.write_all(b"\n\\ No newline at end of file\n")?;
        }
    }
    Ok(())
}
