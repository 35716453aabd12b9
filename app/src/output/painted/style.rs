//! How a piece of text looks, in the sixteen colours that every terminal has and its user chose.

use crate::output::terminal::escaped;
use std::io::{self, Write};

/// A colour, by the number that selects it as a foreground: see console_codes(4).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Hue {
    Red = 31,
    Green = 32,
    Yellow = 33,
    Blue = 34,
    Magenta = 35,
    Cyan = 36,
    BrightBlue = 94,
}

/// How a piece of text looks.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Style {
    pub(super) hue: Option<Hue>,
    pub(super) is_bold: bool,
    pub(super) is_dim: bool,
    /// Whether text and background change places.
    pub(super) is_reversed: bool,
}

impl Style {
    pub(super) const BOLD: Self = Self { hue: None, is_bold: true, is_dim: false, is_reversed: false };

    pub(super) const fn of(hue: Hue) -> Self {
        Self { hue: Some(hue), is_bold: false, is_dim: false, is_reversed: false }
    }

    pub(super) const fn bold(hue: Hue) -> Self {
        Self { hue: Some(hue), ..Self::BOLD }
    }

    fn codes(self) -> String {
        let flags = [(self.is_bold, 1), (self.is_dim, 2), (self.is_reversed, 7)];
        let codes = flags.into_iter().filter(|(is_set, _)| *is_set).map(|(_, code)| code);
        let codes: Vec<String> = codes.chain(self.hue.map(|hue| hue as u8)).map(|code| code.to_string()).collect();
        codes.join(";")
    }
}

/// Whether text has colours.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Palette {
    /// The sixteen of a terminal.
    Sixteen,
    /// None: no sequence is written at all.
    Plain,
}

impl Palette {
    /// Writes hostile bytes that look like `style`, and leaves the terminal as it was.
    pub(super) fn write(self, out: &mut dyn Write, style: Style, text: &[u8]) -> io::Result<()> {
        let text = escaped(text);
        match self == Self::Plain || style == Style::default() || text.is_empty() {
            true => out.write_all(text.as_bytes()),
            false => write!(out, "\x1b[{}m{text}\x1b[m", style.codes()),
        }
    }
}
