//! A patch for a person at a terminal: which side a line is on, which words changed, and what its code is, told in colours; binary
//! content told by its lengths. What came from a workload is escaped here, and nothing else writes a sequence.

mod run;
mod style;
mod syntax;
mod words;

pub(crate) use style::Palette;

use crate::output::patch_lines::{LineKind, Piece, Pieces};
use crate::output::patch_parts::BEGINNING;
use isobox_domain::moves::Mark;
use run::Run;
use std::io::{self, Write};
use style::{Hue, Style};
use syntax::{Sides, Syntax};

/// What begins content that is not text, as Git writes it.
const BINARY: &[u8] = b"GIT binary patch";
/// What begins the content itself, before its length.
const LITERAL: &[u8] = b"literal ";

/// Takes the pieces of a patch, and writes what a person is to see.
pub(crate) struct Painter<'a> {
    out: &'a mut dyn Write,
    palette: Palette,
    syntax: Syntax,
    run: Run,
    /// What is known of the changed lines that come, in their order.
    marks: std::vec::IntoIter<Mark>,
    /// The lengths of binary content that were read so far, the new one first.
    binary: Option<Vec<String>>,
    /// How the changed line looks that is too long to be kept.
    long: Style,
}

impl<'a> Painter<'a> {
    /// Writes to `out`; `marks` say which of the changed lines were moved.
    pub(crate) fn new(out: &'a mut dyn Write, palette: Palette, marks: Vec<Mark>) -> Self {
        let marks = marks.into_iter();
        Self {
            out,
            palette,
            syntax: Syntax::default(),
            run: Run::default(),
            marks,
            binary: None,
            long: Style::default(),
        }
    }

    /// The same with code in the colour of its side alone.
    pub(crate) fn without_syntax(self) -> Self {
        Self { syntax: Syntax::silent(), ..self }
    }

    /// Takes the end of the patch.
    pub(crate) fn finish(mut self) -> io::Result<()> {
        self.end_run()?;
        self.end_binary()?;
        self.out.flush()
    }

    fn end_run(&mut self) -> io::Result<()> {
        let run = std::mem::take(&mut self.run);
        run.write(self.out, self.palette, &mut self.syntax)
    }

    /// Tells of binary content by its lengths: nobody reads the rest.
    fn end_binary(&mut self) -> io::Result<()> {
        match self.binary.take().as_deref() {
            None => Ok(()),
            Some([new, old]) => {
                writeln!(self.out, "Binary, or too long for a text diff: {old} bytes before, {new} bytes after")
            }
            Some(_) => writeln!(self.out, "Binary, or too long for a text diff"),
        }
    }

    fn header(&mut self, piece: Piece<'_>) -> io::Result<()> {
        let text = piece.text;
        if text.starts_with(b"\\") {
            return if self.run.note(piece) { Ok(()) } else { self.line(piece, b"", Style::default()) };
        }
        self.end_run()?;
        if text.starts_with(BEGINNING) && piece.begins {
            self.end_binary()?;
            self.syntax.end_file();
        }
        if let Some(lengths) = &mut self.binary {
            lengths.extend(length(text).filter(|_| lengths.len() < 2));
            return Ok(());
        }
        if text == BINARY {
            self.binary = Some(Vec::new());
            return Ok(());
        }
        if let Some(label) = text.strip_prefix(b"--- ").or_else(|| text.strip_prefix(b"+++ ")) {
            self.syntax.begin_file(label);
        }
        self.line(piece, b"", Style::BOLD)
    }

    fn section(&mut self, piece: Piece<'_>) -> io::Result<()> {
        self.end_run()?;
        self.syntax.begin_section();
        self.line(piece, b"", Style::of(Hue::Cyan))
    }

    fn kept(&mut self, piece: Piece<'_>) -> io::Result<()> {
        self.end_run()?;
        let looks = if piece.is_whole() { self.syntax.looks(Sides::Both, piece.text) } else { Vec::new() };
        if looks.is_empty() {
            return self.line(piece, b" ", Style::default());
        }
        self.out.write_all(b" ")?;
        run::write_text(self.out, self.palette, Style::default(), piece.text, &looks, &[])?;
        self.out.write_all(b"\n")
    }

    fn changed(&mut self, piece: Piece<'_>) -> io::Result<()> {
        if !self.run.fits(&piece) {
            self.end_run()?;
        }
        let mark = if piece.begins { self.marks.next().unwrap_or(Mark::Unmoved) } else { Mark::Unmoved };
        if self.run.push(&piece, mark) {
            return Ok(());
        }
        let sign: &[u8] = if piece.kind == LineKind::Removed { b"-" } else { b"+" };
        if piece.begins {
            self.long = run::base(piece.kind, mark);
        }
        self.line(piece, sign, self.long)
    }

    /// Writes a piece as it is: the sign where its line begins, a line feed where that ends.
    fn line(&mut self, piece: Piece<'_>, sign: &[u8], style: Style) -> io::Result<()> {
        let text = if piece.begins { &[sign, piece.text].concat() } else { piece.text };
        self.palette.write(self.out, style, text)?;
        if piece.ends { self.out.write_all(b"\n") } else { Ok(()) }
    }
}

impl Pieces for Painter<'_> {
    fn take(&mut self, piece: Piece<'_>) -> io::Result<()> {
        match piece.kind {
            LineKind::Header => self.header(piece),
            LineKind::Section => self.section(piece),
            LineKind::Kept => self.kept(piece),
            LineKind::Removed | LineKind::Added => self.changed(piece),
        }
    }
}

/// The length that a line of binary content says.
fn length(text: &[u8]) -> Option<String> {
    let digits = text.strip_prefix(LITERAL)?;
    let is_number = !digits.is_empty() && digits.len() <= 20 && digits.iter().all(u8::is_ascii_digit);
    is_number.then(|| String::from_utf8_lossy(digits).into_owned())
}

#[cfg(test)]
mod tests;
