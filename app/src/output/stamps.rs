//! The time before each line of output.

use crate::output::redacting::Redacted;
use crate::use_case::logs::Piece;
use isobox_domain::masking::Redactor;
use isobox_domain::timeline::OutputStream;
use isobox_domain::timestamp::Timestamp;
use std::io::{self, Write};

/// What stands before a line of which nobody knows when it came: as wide as a time.
const TIMELESS: &str = "-                       ";

/// Whether both outputs are seen in one place, as on a terminal.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Places {
    /// They are: a line of one that the other interrupts is ended.
    One,
    /// They are not.
    Two,
}

/// Puts before each line of both outputs when its first byte came. Each line is ended.
pub(crate) struct Stamps {
    lines: [Line; 2],
    places: Places,
    redacted: Option<Redacted>,
}

/// The line of an output that is being written.
#[derive(Default)]
struct Line {
    /// Whether bytes of it came.
    is_begun: bool,
    /// When the first of them did.
    at: Option<Timestamp>,
    /// Whether some of it was written, which does not end it.
    is_shown: bool,
    redactor: Redactor,
}

impl Stamps {
    /// For outputs that go to these places; without what is secret-shaped if that is to be counted.
    pub(crate) fn new(places: Places, redacted: Option<Redacted>) -> Self {
        Self { lines: <[Line; 2]>::default(), places, redacted }
    }

    /// Writes a piece to where its output goes.
    pub(crate) fn write(&mut self, piece: Piece<'_>, to: &mut dyn Write) -> io::Result<()> {
        let mut out = Vec::new();
        if self.places == Places::One && std::mem::take(&mut self.lines[piece.stream.other().index()].is_shown) {
            out.push(b'\n');
        }
        let line = &mut self.lines[piece.stream.index()];
        for part in piece.bytes.split_inclusive(|byte| *byte == b'\n') {
            if !line.is_begun {
                line.at = piece.at;
            }
            line.is_begun = !part.ends_with(b"\n");
            if self.redacted.is_none() {
                line.show(part, &mut out);
                continue;
            }
            let mut certain = Vec::new();
            line.redactor.push(part, &mut certain);
            line.show(&certain, &mut out);
        }
        to.write_all(&out)
    }

    /// Writes what was held back of an output, and ends its last line.
    pub(crate) fn finish(&mut self, stream: OutputStream, to: &mut dyn Write) -> io::Result<()> {
        let line = &mut self.lines[stream.index()];
        let mut out = Vec::new();
        if let Some(redacted) = &self.redacted {
            let mut rest = Vec::new();
            let mut redactor = std::mem::take(&mut line.redactor);
            redactor.finish(&mut rest);
            redacted.add(redactor.count());
            line.show(&rest, &mut out);
        }
        if std::mem::take(&mut line.is_shown) {
            out.push(b'\n');
        }
        to.write_all(&out).and_then(|()| to.flush())
    }
}

impl Line {
    fn show(&mut self, bytes: &[u8], out: &mut Vec<u8>) {
        for part in bytes.split_inclusive(|byte| *byte == b'\n') {
            if !self.is_shown {
                let stamp = self.at.map_or_else(|| TIMELESS.to_owned(), |at| at.to_string());
                out.extend_from_slice(stamp.as_bytes());
                out.push(b' ');
            }
            out.extend_from_slice(part);
            self.is_shown = !part.ends_with(b"\n");
        }
    }
}

#[cfg(test)]
mod tests;
