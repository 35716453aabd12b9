//! The lines of a patch, as it passes by: what each of them is, in pieces that a long one is cut into.

use crate::output::patch_parts::BEGINNING;
use crate::output::terminal::cut_character;
use isobox_domain::hunks;
use std::io::{self, Write};

/// Longest piece, in bytes: a line that is no longer comes as one.
const LONGEST_PIECE: usize = 64 << 10;

/// What a line of a patch is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum LineKind {
    /// It stands between two files' lines, or says that a line feed is not there.
    Header,
    /// It begins lines of a file: `@@ -1,2 +3,4 @@`.
    Section,
    /// It is on both sides.
    Kept,
    /// It is there no more.
    Removed,
    /// It was not there before.
    Added,
}

/// A line, or a piece of a long one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Piece<'a> {
    pub(crate) kind: LineKind,
    /// Its bytes, without the sign and the line feed. No character is cut in two where a piece ends.
    pub(crate) text: &'a [u8],
    /// Whether it is the first of its line.
    pub(crate) begins: bool,
    /// Whether it is the last of its line.
    pub(crate) ends: bool,
}

impl Piece<'_> {
    /// Whether it is a whole line.
    pub(crate) const fn is_whole(&self) -> bool {
        self.begins && self.ends
    }
}

/// What takes the pieces.
pub(crate) trait Pieces {
    /// Takes the next one.
    fn take(&mut self, piece: Piece<'_>) -> io::Result<()>;
}

/// Takes a patch apart.
pub(crate) struct PatchLines<P: Pieces> {
    to: P,
    line: Vec<u8>,
    /// What the line is whose beginning was handed on.
    begun: Option<LineKind>,
    /// How many lines of a section are to come, of the old file and of the new one.
    left: (u32, u32),
}

impl<P: Pieces> PatchLines<P> {
    pub(crate) const fn new(to: P) -> Self {
        Self { to, line: Vec::new(), begun: None, left: (0, 0) }
    }

    /// Takes the end of the patch; what took the pieces.
    pub(crate) fn finish(mut self) -> io::Result<P> {
        if !self.line.is_empty() || self.begun.is_some() {
            self.end_line()?;
        }
        Ok(self.to)
    }

    fn end_line(&mut self) -> io::Result<()> {
        let mut line = std::mem::take(&mut self.line);
        let text = line.strip_suffix(b"\n").unwrap_or(&line);
        match self.begun.take() {
            Some(kind) => self.to.take(Piece { kind, text, begins: false, ends: true })?,
            None => {
                let (kind, text) = self.told_apart(text);
                self.to.take(Piece { kind, text, begins: true, ends: true })?;
            }
        }
        // Its room is kept for the next one.
        line.clear();
        self.line = line;
        Ok(())
    }

    fn cut_line(&mut self) -> io::Result<()> {
        let mut line = std::mem::take(&mut self.line);
        let rest = line.split_off(line.len() - cut_character(&line));
        let (kind, text, begins) = match self.begun {
            Some(kind) => (kind, line.as_slice(), false),
            None => {
                let (kind, text) = self.told_apart(&line);
                (kind, text, true)
            }
        };
        self.begun = Some(kind);
        self.line = rest;
        self.to.take(Piece { kind, text, begins, ends: false })
    }

    /// What the line is that begins with `line`, and what comes behind its sign.
    fn told_apart<'a>(&mut self, line: &'a [u8]) -> (LineKind, &'a [u8]) {
        if let (true, Some((sign, text))) = (self.left != (0, 0), line.split_first()) {
            let (kind, old, new) = match sign {
                b' ' => (LineKind::Kept, 1, 1),
                b'-' => (LineKind::Removed, 1, 0),
                b'+' => (LineKind::Added, 0, 1),
                _ => (LineKind::Header, 0, 0),
            };
            self.left = (self.left.0.saturating_sub(old), self.left.1.saturating_sub(new));
            if kind != LineKind::Header {
                return (kind, text);
            }
        }
        if line.starts_with(BEGINNING) {
            // A section that ended too early takes nothing of the next file.
            self.left = (0, 0);
        }
        let Some([(_, old), (_, new)]) = hunks::ranges(line) else { return (LineKind::Header, line) };
        self.left = (old, new);
        (LineKind::Section, line)
    }
}

impl<P: Pieces> Write for PatchLines<P> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        for part in bytes.split_inclusive(|&byte| byte == b'\n') {
            let mut rest = part;
            while !rest.is_empty() {
                let (now, later) = rest.split_at(rest.len().min(LONGEST_PIECE - self.line.len()));
                self.line.extend_from_slice(now);
                rest = later;
                if self.line.ends_with(b"\n") {
                    self.end_line()?;
                } else if self.line.len() == LONGEST_PIECE {
                    self.cut_line()?;
                }
            }
        }
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[derive(Default)]
    struct Kept(Vec<(LineKind, Vec<u8>, bool, bool)>);

    impl Pieces for Kept {
        fn take(&mut self, piece: Piece<'_>) -> io::Result<()> {
            self.0.push((piece.kind, piece.text.to_vec(), piece.begins, piece.ends));
            Ok(())
        }
    }

    fn pieces(patch: &[u8], step: usize) -> Vec<(LineKind, Vec<u8>, bool, bool)> {
        let mut lines = PatchLines::new(Kept::default());
        patch.chunks(step).for_each(|chunk| lines.write_all(chunk).expect("a vector takes everything"));
        lines.finish().expect("a vector takes everything").0
    }

    #[test]
    fn a_line_is_what_the_ranges_before_it_say_however_it_comes() {
        let patch = b"diff --git a/a b/a\n--- a/a\n@@ -1,2 +1,2 @@ x\n k\n--- a\n+++ b\n\\ No newline\n--- b\n";
        for step in [1, 3, patch.len()] {
            let kinds: Vec<_> = pieces(patch, step).into_iter().map(|(kind, text, ..)| (kind, text)).collect();
            let expected: [(LineKind, &[u8]); 8] = [
                (LineKind::Header, b"diff --git a/a b/a"),
                (LineKind::Header, b"--- a/a"),
                (LineKind::Section, b"@@ -1,2 +1,2 @@ x"),
                (LineKind::Kept, b"k"),
                (LineKind::Removed, b"-- a"),
                (LineKind::Added, b"++ b"),
                (LineKind::Header, b"\\ No newline"),
                (LineKind::Header, b"--- b"),
            ];
            assert_eq!(kinds, expected.map(|(kind, text)| (kind, text.to_vec())), "{step}");
        }
    }

    #[test]
    fn a_long_line_comes_in_pieces_and_no_character_is_cut() {
        let long = "ä".repeat(LONGEST_PIECE);
        let patch = format!("@@ -0,0 +1 @@\n+{long}\ndiff --git a/b b/b\n");
        let found = pieces(patch.as_bytes(), 1000);
        let text: Vec<u8> = found[1..found.len() - 1].iter().flat_map(|(_, text, ..)| text.clone()).collect();
        assert_eq!(String::from_utf8(text).expect("text"), long);
        assert!(found.iter().all(|(_, text, ..)| text.len() <= LONGEST_PIECE && std::str::from_utf8(text).is_ok()));
        let ends: Vec<_> = found.iter().map(|(kind, _, begins, ends)| (*kind, *begins, *ends)).collect();
        assert_eq!(ends[1], (LineKind::Added, true, false));
        assert_eq!(ends[ends.len() - 2], (LineKind::Added, false, true));
        assert_eq!(ends[ends.len() - 1], (LineKind::Header, true, true));
    }
}
