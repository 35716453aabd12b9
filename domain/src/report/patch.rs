//! Reads a patch as it passes by: the lines that each path gained and lost, with memory that does not grow with it.

use super::content::{ContentFinding, ContentScan, Side};
use super::marks::Piece;
use crate::change::{After, Change, Mode};
use crate::hunks::{self, Hunks, Line, Sign};
use crate::quoted_name::named_twice;
use std::collections::VecDeque;

/// How much of a line is looked at at once, in bytes: about twice as much as a header takes whose path is as long as one can
/// be, with every byte of it quoted.
const WINDOW: usize = 64 << 10;
/// How much of the end of a window is looked at again with what follows it, in bytes: what is longer, and lies there, may be
/// missed.
const AGAIN: usize = 4 << 10;
const HEADER: &[u8] = b"diff --git ";

/// A part of a patch: what was found in the lines of one path.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ExaminedPart {
    /// The path.
    pub path: Vec<u8>,
    /// What was found.
    pub findings: Vec<ContentFinding>,
    /// Whether its lines were there to be looked at. They are not of binary files and of very large ones.
    pub is_text: bool,
}

/// What is to be said of the content of `change`, of which `part` is what the patch has: that it could not be looked at, too.
/// Binary content is told of as such.
pub fn content_findings(change: &Change, part: Option<ExaminedPart>) -> Vec<ContentFinding> {
    let is_text = |after: &After| !after.binary && matches!(after.mode, Mode::File | Mode::Executable);
    let has_text = change.after.as_ref().is_some_and(is_text);
    match part {
        Some(part) if part.is_text || !has_text => part.findings,
        None if !has_text => Vec::new(),
        Some(_) | None => vec![ContentFinding::UNEXAMINED],
    }
}

/// What is found in some hunks of a file, by number, of which `header` is what the patch says first. Lines are counted as with all of
/// its hunks.
pub fn examine_hunks(header: &[u8], hunks: &Hunks, numbers: impl IntoIterator<Item = u32>) -> Option<ExaminedPart> {
    let mut scan = PatchScan::default();
    scan.push(header);
    for number in numbers {
        let excerpt = hunks.excerpt(&(number..number + 1))?;
        let [(old, old_count), (new, new_count)] = excerpt.ranges;
        scan.push(format!("@@ -{old},{old_count} +{new},{new_count} @@\n").as_bytes());
        excerpt.lines.iter().for_each(|line| scan.push_line(line));
    }
    scan.finish();
    scan.next_part()
}

/// What is found in the text that the file at `path` has become, of which no line was there before.
pub fn examine_text(path: &[u8], text: &[u8]) -> Option<ExaminedPart> {
    let part = Some((path.to_vec(), ContentScan::of(path)));
    let hunk = Hunk { new_number: 1, new_left: u32::MAX, ..Hunk::default() };
    let mut scan = PatchScan { part, hunk, is_text: true, ..PatchScan::default() };
    for line in text.split_inclusive(|byte| *byte == b'\n') {
        scan.push_line(&Line { sign: Sign::Added, text: line.to_vec() });
    }
    scan.finish();
    scan.next_part()
}

/// Takes a patch in pieces.
#[derive(Debug, Default)]
pub struct PatchScan {
    /// A line, or the window of one, without its end.
    line: Vec<u8>,
    /// Whether `line` goes on from a window that was looked at.
    is_continued: bool,
    hunk: Hunk,
    part: Option<(Vec<u8>, ContentScan)>,
    is_text: bool,
    done: VecDeque<ExaminedPart>,
}

/// Where the lines of a hunk stand, and how many of them are to come.
#[derive(Debug, Default)]
struct Hunk {
    old_number: u32,
    old_left: u32,
    new_number: u32,
    new_left: u32,
}

impl PatchScan {
    /// Takes the next piece.
    pub fn push(&mut self, piece: &[u8]) {
        for part in piece.split_inclusive(|byte| *byte == b'\n') {
            let mut rest = part;
            while !rest.is_empty() {
                let (now, later) = rest.split_at(rest.len().min(WINDOW - self.line.len()));
                self.line.extend_from_slice(now);
                rest = later;
                if self.line.ends_with(b"\n") {
                    self.end_line();
                } else if self.line.len() == WINDOW {
                    self.cut_line();
                }
            }
        }
    }

    /// Takes a line of a hunk.
    fn push_line(&mut self, line: &Line) {
        let sign: &[u8] = match line.sign {
            Sign::Kept => b" ",
            Sign::Removed => b"-",
            Sign::Added => b"+",
        };
        self.push(sign);
        self.push(line.text.strip_suffix(b"\n").unwrap_or(&line.text));
        self.push(b"\n");
    }

    /// The next part that is complete.
    pub fn next_part(&mut self) -> Option<ExaminedPart> {
        self.done.pop_front()
    }

    /// Takes the end of the patch.
    pub fn finish(&mut self) {
        if !self.line.is_empty() {
            self.end_line();
        }
        self.end_part();
    }

    fn end_line(&mut self) {
        let line = std::mem::take(&mut self.line);
        let is_continued = std::mem::take(&mut self.is_continued);
        if self.hunk.is_open() {
            self.look_at(&line, line.len(), is_continued);
            self.hunk.step(line.first().copied());
        } else if !is_continued {
            self.header(line.strip_suffix(b"\n").unwrap_or(&line));
        }
        // The room that a long line took is kept for the next one.
        self.line = line;
        self.line.clear();
    }

    /// Looks at a window of a line that is longer, and keeps the end of it and the sign of the line.
    fn cut_line(&mut self) {
        let line = std::mem::take(&mut self.line);
        if self.hunk.is_open() {
            self.look_at(&line, WINDOW - AGAIN, self.is_continued);
        }
        self.line.push(line[0]);
        self.line.extend_from_slice(&line[WINDOW - AGAIN..]);
        self.is_continued = true;
    }

    /// Looks at a line of a hunk, or a window of it, for what begins in its first `until` bytes.
    fn look_at(&mut self, line: &[u8], until: usize, is_continued: bool) {
        let Some((_, scan)) = &mut self.part else { return };
        let Some((sign, text)) = line.split_first() else { return };
        let (side, number) = match sign {
            b'+' => (Side::Added, self.hunk.new_number),
            b'-' => (Side::Removed, self.hunk.old_number),
            _ => return,
        };
        scan.take(side, Piece { number, text, until: until - 1, is_beginning: !is_continued });
    }

    fn header(&mut self, line: &[u8]) {
        if let Some(names) = line.strip_prefix(HEADER) {
            self.begin_part(names);
        } else if line.starts_with(b"@@ ") {
            self.hunk = Hunk::parse(line).unwrap_or_default();
        } else if line.starts_with(b"GIT binary patch") || line.starts_with(b"Binary files ") {
            self.is_text = false;
        }
    }

    fn begin_part(&mut self, names: &[u8]) {
        let path = named_twice(names);
        // What becomes another kind of thing is one part that deletes and one that adds.
        if self.part.as_ref().is_some_and(|(before, _)| Some(before) == path.as_ref()) {
            return;
        }
        self.end_part();
        self.is_text = true;
        self.part = path.map(|path| {
            let scan = ContentScan::of(&path);
            (path, scan)
        });
    }

    fn end_part(&mut self) {
        self.hunk = Hunk::default();
        if let Some((path, scan)) = self.part.take() {
            self.done.push_back(ExaminedPart { path, findings: scan.finish(), is_text: self.is_text });
        }
    }
}

impl Hunk {
    /// Of the ranges that `@@` begins.
    fn parse(header: &[u8]) -> Option<Self> {
        let [(old_number, old_left), (new_number, new_left)] = hunks::ranges(header)?;
        Some(Self { old_number, old_left, new_number, new_left })
    }

    const fn is_open(&self) -> bool {
        self.old_left > 0 || self.new_left > 0
    }

    /// Goes on behind a line of this sign. One that says that there is no line end counts as none.
    fn step(&mut self, sign: Option<u8>) {
        if !matches!(sign, Some(b'+' | b'\\')) {
            self.old_number = self.old_number.saturating_add(1);
            self.old_left = self.old_left.saturating_sub(1);
        }
        if !matches!(sign, Some(b'-' | b'\\')) {
            self.new_number = self.new_number.saturating_add(1);
            self.new_left = self.new_left.saturating_sub(1);
        }
    }
}
