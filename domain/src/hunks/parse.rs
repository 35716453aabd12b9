//! The sections of a patch as lines.

use super::{Line, Section, Sign};
use std::ops::Range;

/// What stands for a line feed that is not there.
const NO_LINE_FEED: &[u8] = b"\\";

pub(super) fn sections(part: &[u8]) -> Option<Vec<Section>> {
    let mut rest = part;
    while !rest.is_empty() && !rest.starts_with(b"@@ ") {
        take_line(&mut rest);
    }
    let mut sections = Vec::new();
    while !rest.is_empty() {
        sections.push(section(&mut rest)?);
    }
    Some(sections)
}

fn take_line<'a>(rest: &mut &'a [u8]) -> &'a [u8] {
    let end = rest.iter().position(|&byte| byte == b'\n').map_or(rest.len(), |end| end + 1);
    let (line, left) = rest.split_at(end);
    *rest = left;
    line
}

fn section(rest: &mut &[u8]) -> Option<Section> {
    let [(old_start, old), (new_start, new)] = ranges(take_line(rest))?;
    let start = (before(old_start, old)?, before(new_start, new)?);
    let (mut old, mut new) = (old as usize, new as usize);
    let mut lines: Vec<Line> = Vec::new();
    while old > 0 || new > 0 {
        let line = line(rest)?;
        old = old.checked_sub(usize::from(line.sign != Sign::Added))?;
        new = new.checked_sub(usize::from(line.sign != Sign::Removed))?;
        lines.push(line);
    }
    let hunks = hunks(&lines);
    (!hunks.is_empty()).then_some(Section { start, lines, hunks })
}

fn line(rest: &mut &[u8]) -> Option<Line> {
    let (sign, text) = take_line(rest).split_first()?;
    let sign = match sign {
        b' ' => Sign::Kept,
        b'-' => Sign::Removed,
        b'+' => Sign::Added,
        _ => return None,
    };
    let mut text = text.to_vec();
    if rest.starts_with(NO_LINE_FEED) {
        take_line(rest);
        text.pop();
    }
    Some(Line { sign, text })
}

/// The first line and the number of lines of the old file, and of the new one: `@@ -1,2 +3,4 @@`, whatever comes behind.
pub fn ranges(header: &[u8]) -> Option<[(u32, u32); 2]> {
    let header = std::str::from_utf8(header.strip_prefix(b"@@ -")?.split(|&byte| byte == b'@').next()?).ok()?;
    let (old, new) = header.trim_end().split_once(" +")?;
    Some([range(old)?, range(new)?])
}

fn range(text: &str) -> Option<(u32, u32)> {
    let (start, length) = text.split_once(',').unwrap_or((text, "1"));
    Some((start.parse().ok()?, length.parse().ok()?))
}

/// How many lines come before a range.
fn before(start: u32, length: u32) -> Option<usize> {
    Some(if length == 0 { start } else { start.checked_sub(1)? } as usize)
}

fn hunks(lines: &[Line]) -> Vec<Range<usize>> {
    let mut hunks: Vec<Range<usize>> = Vec::new();
    for (at, _) in lines.iter().enumerate().filter(|(_, line)| line.sign != Sign::Kept) {
        match hunks.last_mut() {
            Some(last) if last.end == at => last.end = at + 1,
            _ => hunks.push(at..at + 1),
        }
    }
    hunks
}
