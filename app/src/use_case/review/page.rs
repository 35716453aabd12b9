//! What is read of one changed path: its lines, and which hunk each is in.

use super::subjects;
use isobox_domain::change::Change;
use isobox_domain::hunks::{Hunks, Sign};
use isobox_domain::review::Subject;

/// How much of a line is kept, in bytes.
const LONGEST_LINE: usize = 2000;

/// What begins the lines before the first section that say what the list says: the path, and what is in the sections.
const KNOWN: [&[u8]; 4] = [b"diff --git ", b"index ", b"--- ", b"+++ "];

/// What a line of a patch is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum LineKind {
    /// It is about the file, or says what isobox leaves out.
    About,
    /// It begins a section.
    Section,
    /// It is on both sides.
    Kept,
    /// It is there no more.
    Removed,
    /// It was not there before.
    Added,
}

/// A line as it is shown.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct ShownLine {
    pub(crate) kind: LineKind,
    /// The beginning of its bytes, with its sign and without its end.
    pub(crate) text: Vec<u8>,
    /// How many bytes of it are left out.
    pub(crate) left_out: u64,
    /// The hunk that it is in.
    pub(crate) hunk: Option<u32>,
}

/// One changed path, for reading.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Page {
    pub(crate) lines: Vec<ShownLine>,
    /// What the marks of its hunks are about; empty where it is decided as a whole.
    pub(crate) hunks: Vec<Subject>,
    /// The line that each hunk begins with.
    pub(crate) begins: Vec<usize>,
}

impl Page {
    /// Of a file in hunks.
    pub(super) fn of_hunks(change: &Change, header: &[u8], hunks: &Hunks) -> Self {
        let mut page = Self { hunks: subjects::hunks(change, hunks), ..Self::of_text(header) };
        for section in hunks.shown() {
            let [(old, old_length), (new, new_length)] = section.excerpt.ranges;
            let range = format!("@@ -{old},{old_length} +{new},{new_length} @@");
            page.lines.push(line(LineKind::Section, range.as_bytes(), None));
            let (mut number, mut ahead) = (section.first, section.hunks.iter().peekable());
            for (at, each) in section.excerpt.lines.iter().enumerate() {
                if ahead.next_if(|hunk| at >= hunk.end).is_some() {
                    number += 1;
                }
                let hunk = ahead.peek().filter(|hunk| hunk.contains(&at)).map(|_| number);
                if ahead.peek().is_some_and(|hunk| hunk.start == at) {
                    page.begins.push(page.lines.len());
                }
                let (kind, sign) = match each.sign {
                    Sign::Kept => (LineKind::Kept, b' '),
                    Sign::Removed => (LineKind::Removed, b'-'),
                    Sign::Added => (LineKind::Added, b'+'),
                };
                let text = each.text.strip_suffix(b"\n");
                page.lines.push(line(kind, &[&[sign], text.unwrap_or(&each.text)].concat(), hunk));
                if text.is_none() {
                    page.lines.push(line(LineKind::About, b"\\ No newline at end of file", hunk));
                }
            }
        }
        page
    }

    /// Of a part of a patch, or the beginning of one.
    pub(super) fn of_text(part: &[u8]) -> Self {
        let mut is_in_section = false;
        let lines = part.split_inclusive(|&byte| byte == b'\n').filter_map(|each| {
            is_in_section |= each.starts_with(b"@@ ");
            if !is_in_section && KNOWN.iter().any(|known| each.starts_with(known)) {
                return None;
            }
            let kind = match (is_in_section, each.first()) {
                (true, Some(b'@')) => LineKind::Section,
                (true, Some(b'+')) => LineKind::Added,
                (true, Some(b'-')) => LineKind::Removed,
                (true, Some(b' ')) => LineKind::Kept,
                _ => LineKind::About,
            };
            Some(line(kind, each.strip_suffix(b"\n").unwrap_or(each), None))
        });
        Self { lines: lines.collect(), ..Self::default() }
    }

    /// The same with a last line of isobox's own.
    pub(super) fn with_remark(mut self, remark: &str) -> Self {
        self.lines.push(line(LineKind::About, remark.as_bytes(), None));
        self
    }
}

fn line(kind: LineKind, text: &[u8], hunk: Option<u32>) -> ShownLine {
    let kept = &text[..text.len().min(LONGEST_LINE)];
    ShownLine { kind, text: kept.to_vec(), left_out: (text.len() - kept.len()) as u64, hunk }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_changed_line_is_in_its_hunk() {
        let header = b"diff --git a/f b/f\nold mode 100644\nnew mode 100755\n--- a/f\n+++ b/f\n";
        let part = b"@@ -1,4 +1,4 @@\n-a\n+A\n b\n-c\n+C\n d\n@@ -20 +20 @@\n-x\n\\ No newline at end of file\n+X\n";
        let path = isobox_domain::repo_path::RepoPath::parse("f").unwrap();
        let change = Change { path, before: None, after: None, renamed_from: None, submodule: None };
        let page = Page::of_hunks(&change, header, &Hunks::parse(&[&header[..], part].concat()).unwrap());
        let numbers: Vec<_> = page.lines.iter().map(|line| line.hunk).collect();
        let [none, zero, one, two] = [None, Some(0), Some(1), Some(2)];
        assert_eq!(numbers, [none, none, none, zero, zero, none, one, one, none, none, two, two, two]);
        assert_eq!((page.begins.as_slice(), page.hunks.len()), (&[3, 6, 10][..], 3));
    }

    #[test]
    fn of_a_long_line_the_beginning_is_kept_and_the_rest_counted() {
        let page = Page::of_text(&[b"@@ -0,0 +1 @@\n+".as_slice(), &[b'x'; 5000]].concat());
        assert_eq!((page.lines[1].text.len(), page.lines[1].left_out), (LONGEST_LINE, 3001));
        assert_eq!(page.lines[1].kind, LineKind::Added);
    }
}
