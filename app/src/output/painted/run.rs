//! Changed lines with nothing unchanged between them: those that are gone, then those that took their place.

use super::style::{Hue, Palette, Style};
use super::syntax::{Looks, Sides, Syntax};
use super::words::{self, Words};
use crate::output::patch_lines::{LineKind, Piece};
use isobox_domain::moves::Mark;
use std::io::{self, Write};
use std::ops::Range;

/// Most lines that are kept until their counterparts are known.
const MOST_LINES: usize = 400;
/// The same in bytes. What is more is written line by line, and no words of it are told.
const MOST_BYTES: usize = 64 << 10;
/// Longest line that is compared word by word, in bytes.
const LONGEST_LINE: usize = 4 << 10;

/// A line of a run, or the note that one has no line feed.
struct Line {
    kind: LineKind,
    text: Vec<u8>,
    mark: Mark,
}

/// The lines of a run, as far as they came.
#[derive(Default)]
pub(super) struct Run {
    lines: Vec<Line>,
    bytes: usize,
    added: usize,
}

impl Run {
    /// Whether `piece` can belong to the lines that came.
    pub(super) fn fits(&self, piece: &Piece<'_>) -> bool {
        let is_next = piece.kind == LineKind::Added || self.added == 0;
        is_next && takes(piece) && self.lines.len() < MOST_LINES && self.bytes + piece.text.len() <= MOST_BYTES
    }

    /// Keeps `piece`, if it is a line that can be kept.
    pub(super) fn push(&mut self, piece: &Piece<'_>, mark: Mark) -> bool {
        if !takes(piece) {
            return false;
        }
        self.bytes += piece.text.len();
        self.added += usize::from(piece.kind == LineKind::Added);
        self.lines.push(Line { kind: piece.kind, text: piece.text.to_vec(), mark });
        true
    }

    /// Keeps what is said of the last line, if that is kept.
    pub(super) fn note(&mut self, piece: Piece<'_>) -> bool {
        let is_kept = !self.lines.is_empty() && takes(&piece);
        if is_kept {
            self.lines.push(Line { kind: piece.kind, text: piece.text.to_vec(), mark: Mark::Unmoved });
        }
        is_kept
    }

    /// Writes the lines.
    pub(super) fn write(self, out: &mut dyn Write, palette: Palette, syntax: &mut Syntax) -> io::Result<()> {
        let (removed, added) = if palette == Palette::Plain { Default::default() } else { self.words() };
        let (mut removed, mut added) = (removed.into_iter(), added.into_iter());
        for Line { kind, text, mark } in &self.lines {
            let (sign, sides, words) = match kind {
                LineKind::Removed => (b"-", Sides::Old, removed.next()),
                LineKind::Added => (b"+", Sides::New, added.next()),
                _ => {
                    palette.write(out, Style::default(), text)?;
                    out.write_all(b"\n")?;
                    continue;
                }
            };
            let base = base(*kind, *mark);
            let (mut looks, mut words) = (Looks::new(), words.unwrap_or_default());
            if palette != Palette::Plain {
                looks = syntax.looks(sides, text);
            }
            if *mark != Mark::Unmoved {
                // Of what was moved nothing else is told.
                (looks, words) = Default::default();
            }
            palette.write(out, base, sign)?;
            write_text(out, palette, base, text, &looks, &words)?;
            out.write_all(b"\n")?;
        }
        Ok(())
    }

    /// The changed words of the lines that are gone, and of those that came; none where one side has no line.
    fn words(&self) -> (Words, Words) {
        let of = |kind: LineKind| -> Vec<&[u8]> {
            self.lines.iter().filter(|line| line.kind == kind).map(|line| line.text.as_slice()).collect()
        };
        let (removed, added) = (of(LineKind::Removed), of(LineKind::Added));
        match removed.is_empty() || added.is_empty() {
            true => Default::default(),
            false => words::changed(&removed, &added),
        }
    }
}

/// How a changed line looks: in the colours of Git.
pub(super) const fn base(kind: LineKind, mark: Mark) -> Style {
    match (kind, mark) {
        (LineKind::Removed, Mark::Unmoved) => Style::of(Hue::Red),
        (LineKind::Removed, Mark::Moved) => Style::bold(Hue::Magenta),
        (LineKind::Removed, Mark::MovedApart) => Style::bold(Hue::Blue),
        (_, Mark::Unmoved) => Style::of(Hue::Green),
        (_, Mark::Moved) => Style::bold(Hue::Cyan),
        (_, Mark::MovedApart) => Style::bold(Hue::Yellow),
    }
}

fn takes(piece: &Piece<'_>) -> bool {
    piece.is_whole() && piece.text.len() <= LONGEST_LINE
}

/// Writes a line that looks like `base`, its parts as `looks` says, and `words` of it with text and background changed.
pub(super) fn write_text(
    out: &mut dyn Write,
    palette: Palette,
    base: Style,
    text: &[u8],
    looks: &Looks,
    words: &[Range<usize>],
) -> io::Result<()> {
    let edges = looks.iter().map(|(range, _)| range).chain(words).flat_map(|range| [range.start, range.end]);
    let mut edges: Vec<usize> = edges.chain([0, text.len()]).collect();
    edges.sort_unstable();
    edges.dedup();
    // What looks the same is one piece, so that no character is cut in two that was not.
    let mut begun: Option<(usize, Style)> = None;
    for edge in edges {
        let style = style_at(edge, base, looks, words);
        match begun {
            Some((_, before)) if before == style && edge < text.len() => continue,
            Some((start, before)) => palette.write(out, before, &text[start..edge])?,
            None => {}
        }
        begun = Some((edge, style));
    }
    Ok(())
}

/// How the byte at `at` looks; `looks` and `words` are in their order.
fn style_at(at: usize, base: Style, looks: &Looks, words: &[Range<usize>]) -> Style {
    let look = looks.get(looks.partition_point(|(range, _)| range.end <= at)).filter(|(range, _)| range.start <= at);
    let look = look.map_or(base, |(_, look)| Style { hue: look.hue.or(base.hue), ..*look });
    let word = words.get(words.partition_point(|range| range.end <= at));
    Style { is_reversed: word.is_some_and(|range| range.start <= at), ..look }
}
