//! What was rejected, and why, for whoever made the changes.

use super::page::{LineKind, Page, ShownLine};
use super::reading::Reading;
use super::{Ports, subjects};
use crate::failure::Failure;
use crate::use_case::diff;
use isobox_domain::change::{Change, ChangeLine};
use isobox_domain::record::TaskRecord;
use isobox_domain::review::{Mark, Marks, Subject, Verdict};

/// Lines around a hunk that are told with it, on either side.
const AROUND: usize = 3;

/// One thing that was rejected, or that something was noted about.
pub(crate) struct Told<'a> {
    pub(crate) change: &'a Change,
    pub(crate) mark: Mark,
    /// The number of the hunk, from 1, and of how many; `None`: it is about all of the path.
    pub(crate) hunk: Option<(usize, usize)>,
    pub(crate) lines: &'a [ShownLine],
}

/// Hands to `each` what of the changes of `record` was rejected or has a note, in the order of their paths.
pub(crate) fn each_told(
    ports: &Ports<'_>,
    record: &TaskRecord,
    each: &mut dyn FnMut(&Told<'_>) -> Result<(), Failure>,
) -> Result<(), Failure> {
    let marks = ports.reviews.load()?;
    if marks.is_empty() {
        return Ok(());
    }
    let mut reading = Reading::new(ports, record)?;
    diff::each_line(&diff::Ports { objects: ports.objects }, record, &mut |line| {
        let ChangeLine::Change(change) = line else { return Ok(()) };
        let file = subjects::file(&change);
        if !is_told(&marks.of(&file)) && !marks.has_hunks_of(&subjects::path(&change.path)) {
            return Ok(());
        }
        let page = reading.page(&change)?;
        let mark = Mark { verdict: verdict(&marks, &file, &page), ..marks.of(&file) };
        if is_told(&mark) {
            each(&Told { change: &change, mark: mark.clone(), hunk: None, lines: &page.lines })?;
        }
        each_hunk(&marks, (&file, &mark), &change, &page, each)
    })
}

/// What is decided about a file: what is about each of its hunks, if it has some.
fn verdict(marks: &Marks, file: &Subject, page: &Page) -> Verdict {
    match page.hunks.is_empty() {
        true => marks.verdict(file),
        false => Verdict::of_all(page.hunks.iter().map(|hunk| marks.verdict_in(file, hunk))),
    }
}

fn each_hunk(
    marks: &Marks,
    (file, of_file): (&Subject, &Mark),
    change: &Change,
    page: &Page,
    each: &mut dyn FnMut(&Told<'_>) -> Result<(), Failure>,
) -> Result<(), Failure> {
    for (number, subject) in page.hunks.iter().enumerate() {
        let mark = Mark { verdict: marks.verdict_in(file, subject), ..marks.of(subject) };
        // Of a file that is rejected as a whole all lines are told already.
        let is_news = of_file.verdict != Verdict::Rejected || !mark.note.is_empty();
        if is_told(&mark) && is_news {
            let lines = around(page, number as u32);
            each(&Told { change, mark, hunk: Some((number + 1, page.hunks.len())), lines })?;
        }
    }
    Ok(())
}

fn is_told(mark: &Mark) -> bool {
    mark.verdict == Verdict::Rejected || !mark.note.is_empty()
}

/// The lines of a hunk, and what is unchanged next to it.
fn around(page: &Page, number: u32) -> &[ShownLine] {
    let is_it = |line: &ShownLine| line.hunk == Some(number);
    let Some(first) = page.lines.iter().position(is_it) else { return &[] };
    let last = page.lines.iter().rposition(is_it).unwrap_or(first);
    let is_kept = |line: &&ShownLine| line.kind == LineKind::Kept;
    let before = page.lines[..first].iter().rev().take_while(is_kept).take(AROUND).count();
    let after = page.lines[last + 1..].iter().take_while(is_kept).take(AROUND).count();
    &page.lines[first - before..=last + after]
}
