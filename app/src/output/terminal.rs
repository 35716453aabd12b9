//! Bytes of a workload on a terminal: control characters, escape sequences and deceptive characters are shown, not obeyed.

use isobox_domain::escape::Escaped;
use std::io::{self, Write};

/// Passes bytes on escaped, all but line feeds, tabs and backslashes: code is to be read as it was written. A character that is cut in two by the end of a write is held
/// back until its rest comes; what is held back in the end is written by `finish`, or by dropping.
pub(crate) struct TerminalWriter<W: Write> {
    inner: W,
    held_back: Vec<u8>,
}

impl<W: Write> TerminalWriter<W> {
    /// Escapes what goes to `inner`.
    pub(crate) const fn new(inner: W) -> Self {
        Self { inner, held_back: Vec::new() }
    }

    fn finish(&mut self) -> io::Result<()> {
        let rest = std::mem::take(&mut self.held_back);
        self.inner.write_all(escaped(&rest).as_bytes())
    }
}

impl<W: Write> Write for TerminalWriter<W> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let mut pending = std::mem::take(&mut self.held_back);
        pending.extend_from_slice(bytes);
        self.held_back = pending.split_off(pending.len() - cut_character(&pending));
        self.inner.write_all(escaped(&pending).as_bytes())?;
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        self.inner.flush()
    }
}

impl<W: Write> Drop for TerminalWriter<W> {
    fn drop(&mut self) {
        // A terminal that is gone misses nothing.
        self.finish().ok();
    }
}

/// Bytes of a workload, escaped all but line feeds, tabs and backslashes.
pub(crate) fn escaped(bytes: &[u8]) -> String {
    let mut shown = String::with_capacity(bytes.len());
    for piece in bytes.split_inclusive(|byte| matches!(byte, b'\n' | b'\t' | b'\\')) {
        let (text, end) = match piece.split_last() {
            Some((b'\n', text)) => (text, "\n"),
            Some((b'\t', text)) => (text, "\t"),
            Some((b'\\', text)) => (text, "\\"),
            _ => (piece, ""),
        };
        shown.push_str(&Escaped(text).to_string());
        shown.push_str(end);
    }
    shown
}

/// How many bytes at the end of `bytes` begin a character of UTF-8 that is not whole yet.
pub(super) fn cut_character(bytes: &[u8]) -> usize {
    let last = bytes.utf8_chunks().last();
    let invalid = last.map_or(&[][..], |chunk| chunk.invalid());
    let is_cut = std::str::from_utf8(invalid).is_err_and(|error| error.error_len().is_none());
    if is_cut { invalid.len() } else { 0 }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shown(writes: &[&[u8]]) -> String {
        let mut out = Vec::new();
        let mut writer = TerminalWriter::new(&mut out);
        writes.iter().for_each(|bytes| writer.write_all(bytes).expect("a vector takes everything"));
        drop(writer);
        String::from_utf8(out).expect("escaped text")
    }

    #[test]
    fn a_terminal_is_not_driven() {
        assert_eq!(shown(&[b"a\tb\n\x1b[2J\r\n"]), "a\tb\n\\x1b[2J\\r\n");
    }

    #[test]
    fn code_with_backslashes_is_shown_as_it_is() {
        assert_eq!(shown(&[br#"split("\n"), C:\dir"#]), r#"split("\n"), C:\dir"#);
    }

    #[test]
    fn a_character_that_is_cut_in_two_is_shown_whole() {
        assert_eq!(shown(&[b"\xc3", b"\xa9\xe2\x82", b"\xac!"]), "\u{e9}\u{20ac}!");
        assert_eq!(shown(&[b"x\xe2\x82"]), "x\\xe2\\x82");
        assert_eq!(shown(&[b"\xe2", b"x"]), "\\xe2x");
    }
}
