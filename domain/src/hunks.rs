//! The hunks of one text file's part of a patch, and what the file is where only some of them are taken.
//!
//! A hunk is a run of changed lines with nothing unchanged in it: the smallest piece that a person can take or leave. The
//! pieces that `@@` begins are sections; one has a hunk or more.

mod parse;

pub use parse::ranges;

use std::ops::Range;

/// What a line of a section does.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Sign {
    /// It is on both sides.
    Kept,
    /// It is there no more.
    Removed,
    /// It was not there before.
    Added,
}

/// A line of a section.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Line {
    /// What it does.
    pub sign: Sign,
    /// Its bytes, with its line feed if it has one.
    pub text: Vec<u8>,
}

/// What one `@@` begins.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Section {
    /// How many lines come before it, of the old file and of the new one.
    start: (usize, usize),
    lines: Vec<Line>,
    /// Its hunks in `lines`, in their order.
    hunks: Vec<Range<usize>>,
}

/// The hunks of a file, numbered from 0 in their order.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Hunks {
    sections: Vec<Section>,
}

/// Some hunks that follow each other, with what is unchanged around them.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Excerpt<'a> {
    /// The first line and the number of lines of the old file, and of the new one, as `@@` counts them.
    pub ranges: [(usize, usize); 2],
    /// The lines.
    pub lines: &'a [Line],
}

/// A whole section, for reading.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ShownSection<'a> {
    /// Its lines.
    pub excerpt: Excerpt<'a>,
    /// Its hunks in these lines, in their order.
    pub hunks: &'a [Range<usize>],
    /// The number of the first of them.
    pub first: u32,
}

impl Hunks {
    /// The sections of what stands between two headers of a patch; `None` where it has none, or is not well-formed.
    pub fn parse(part: &[u8]) -> Option<Self> {
        parse::sections(part).filter(|sections| !sections.is_empty()).map(|sections| Self { sections })
    }

    /// How many there are.
    pub fn count(&self) -> u32 {
        self.sections.iter().map(Section::count).sum()
    }

    /// The numbers of the hunks of each section.
    pub fn sections(&self) -> Vec<Range<u32>> {
        let mut first = 0;
        let numbers = self.sections.iter().map(|section| {
            let range = first..first + section.count();
            first = range.end;
            range
        });
        numbers.collect()
    }

    /// Every section.
    pub fn shown(&self) -> impl Iterator<Item = ShownSection<'_>> {
        self.sections.iter().zip(self.sections()).filter_map(|(section, numbers)| {
            let excerpt = section.excerpt(0..section.hunks.len())?;
            Some(ShownSection { excerpt, hunks: &section.hunks, first: numbers.start })
        })
    }

    /// Hunks of one section. `None`: there are no such hunks in one.
    pub fn excerpt(&self, numbers: &Range<u32>) -> Option<Excerpt<'_>> {
        let found = self.sections.iter().zip(self.sections()).find(|(_, range)| range.contains(&numbers.start))?;
        let (section, range) = found;
        let within = numbers.start - range.start..numbers.end.checked_sub(range.start)?;
        section.excerpt(within.start as usize..within.end as usize)
    }

    /// What the file is if of its hunks those alone are taken that `is_taken` says, by number. `None`: `after` is not what the
    /// hunks lead to.
    pub fn taken(&self, after: &[u8], is_taken: &dyn Fn(u32) -> bool) -> Option<Vec<u8>> {
        let mut rest = after.split_inclusive(|&byte| byte == b'\n');
        let (mut content, mut line, mut number) = (Vec::with_capacity(after.len()), 0, 0);
        for section in &self.sections {
            while line < section.start.1 {
                content.extend_from_slice(rest.next()?);
                line += 1;
            }
            let mut was_changed = false;
            for each in &section.lines {
                let (is_changed, is_there) = (each.sign != Sign::Kept, each.sign != Sign::Removed);
                number += u32::from(was_changed && !is_changed);
                was_changed = is_changed;
                if is_there {
                    (rest.next()? == each.text).then_some(())?;
                    line += 1;
                }
                if !is_changed || is_taken(number) == is_there {
                    content.extend_from_slice(&each.text);
                }
            }
            number += u32::from(was_changed);
        }
        rest.for_each(|each| content.extend_from_slice(each));
        Some(content)
    }
}

impl Section {
    fn count(&self) -> u32 {
        self.hunks.len() as u32
    }

    fn excerpt(&self, numbers: Range<usize>) -> Option<Excerpt<'_>> {
        let (first, last) = (numbers.start, numbers.end.checked_sub(1)?);
        self.hunks.get(first..=last)?;
        let begin = if first == 0 { 0 } else { self.hunks[first - 1].end };
        let end = self.hunks.get(last + 1).map_or(self.lines.len(), |next| next.start);
        let lines = &self.lines[begin..end];
        let ranges = [
            range(self.start.0, &self.lines[..begin], lines, Sign::Added),
            range(self.start.1, &self.lines[..begin], lines, Sign::Removed),
        ];
        Some(Excerpt { ranges, lines })
    }
}

/// Lines count from 1; an empty range is named by the line before it.
fn range(start: usize, before: &[Line], lines: &[Line], other_side: Sign) -> (usize, usize) {
    let count = |lines: &[Line]| lines.iter().filter(|line| line.sign != other_side).count();
    let (start, length) = (start + count(before), count(lines));
    (if length == 0 { start } else { start + 1 }, length)
}

#[cfg(test)]
mod tests;
