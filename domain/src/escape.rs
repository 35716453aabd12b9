//! Hostile bytes made safe for a terminal.

use std::fmt::{self, Write};
use std::path::Path;

/// Bytes from a workload, shown so that a terminal can neither be driven nor deceived by them.
///
/// Control characters, escape sequences, bidirectional and zero-width characters and invalid UTF-8 are shown
/// escaped (`\n`, `\x1b`, `\u{202e}`, `\xff`), a backslash as `\\`; everything else as itself. Injective: two different
/// inputs are never shown alike.
#[derive(Clone, Copy)]
pub struct Escaped<'a>(pub &'a [u8]);

impl<'a> Escaped<'a> {
    /// A host path, for people.
    pub fn path(host_path: &'a Path) -> Self {
        Self(host_path.as_os_str().as_encoded_bytes())
    }
}

impl fmt::Display for Escaped<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for chunk in self.0.utf8_chunks() {
            chunk.valid().chars().try_for_each(|c| write_char(f, c))?;
            chunk.invalid().iter().try_for_each(|byte| write!(f, "\\x{byte:02x}"))?;
        }
        Ok(())
    }
}

fn write_char(f: &mut fmt::Formatter<'_>, c: char) -> fmt::Result {
    match c {
        '\\' => f.write_str("\\\\"),
        '\n' => f.write_str("\\n"),
        '\r' => f.write_str("\\r"),
        '\t' => f.write_str("\\t"),
        '\0'..='\x1f' | '\x7f' => write!(f, "\\x{:02x}", u32::from(c)),
        _ if is_deceptive(c) => write!(f, "\\u{{{:x}}}", u32::from(c)),
        _ => f.write_char(c),
    }
}

/// Whether `c` is a character that changes how others are shown, or is not shown at all: C1 controls, bidirectional
/// formatting, zero-width characters, line and paragraph separators, tags and variation selectors beyond the first.
pub fn is_deceptive(c: char) -> bool {
    matches!(c,
        '\u{80}'..='\u{9f}' | '\u{ad}' | '\u{34f}' | '\u{61c}' | '\u{115f}' | '\u{1160}' | '\u{17b4}' | '\u{17b5}'
        | '\u{180b}'..='\u{180f}' | '\u{200b}'..='\u{200f}' | '\u{2028}'..='\u{202e}' | '\u{2060}'..='\u{206f}'
        | '\u{3164}' | '\u{feff}' | '\u{ffa0}' | '\u{fff0}'..='\u{fffb}' | '\u{e0000}'..='\u{e0fff}')
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nothing_that_drives_or_deceives_a_terminal_is_shown_raw() {
        let shown = Escaped(b"a\x1b[2J\xe2\x80\xaeb\\\xff\n\xc3\xa9").to_string();
        assert_eq!(shown, "a\\x1b[2J\\u{202e}b\\\\\\xff\\n\u{e9}");
    }
}
