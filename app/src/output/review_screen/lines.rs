//! Text of a workload as cells of a screen.

use crate::output::terminal::escaped;
use unicode_width::UnicodeWidthChar;

/// Columns from one tab stop to the next.
const TAB: usize = 8;

/// A line of a file, escaped, with blanks in place of tabs.
pub(super) fn shown(text: &[u8]) -> String {
    let mut columns = String::with_capacity(text.len());
    for (at, piece) in escaped(text).replace('\n', "\\n").split('\t').enumerate() {
        if at > 0 {
            // The sign of a patch stands before the first column.
            let column = width(&columns).saturating_sub(1) % TAB;
            columns.extend(std::iter::repeat_n(' ', TAB - column));
        }
        columns.push_str(piece);
    }
    columns
}

/// How many columns a text takes.
pub(super) fn width(text: &str) -> usize {
    text.chars().map(width_of).sum()
}

fn width_of(c: char) -> usize {
    c.width().unwrap_or(0)
}

/// `text` from the column `left` on, in `columns` at most, with `cut` where it goes on.
pub(super) fn clipped(text: &str, left: usize, columns: usize, cut: char) -> String {
    let mut passed = 0;
    let is_before = |c: &char| {
        passed += width_of(*c);
        passed <= left
    };
    let mut rest = text.chars().skip_while(is_before).peekable();
    let (mut shown, mut taken) = (String::new(), 0);
    while let Some(c) = rest.next() {
        // The last column is for what tells that more follows.
        if taken + width_of(c) + usize::from(rest.peek().is_some()) > columns {
            shown.push(cut);
            break;
        }
        taken += width_of(c);
        shown.push(c);
    }
    shown
}

/// A path in so many columns, shortened in its middle: the beginning says where it is, the end what.
pub(super) fn shortened(path: &str, columns: usize, cut: char) -> String {
    if width(path) <= columns {
        return path.to_owned();
    }
    let room = columns.saturating_sub(1);
    let head = first(path.chars(), room / 3);
    let tail: String = first(path.chars().rev(), room - room / 3).chars().rev().collect();
    format!("{head}{cut}{tail}")
}

fn first(characters: impl Iterator<Item = char>, columns: usize) -> String {
    let mut taken = 0;
    let fits = |c: &char| {
        taken += width_of(*c);
        taken <= columns
    };
    characters.take_while(fits).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nothing_of_a_line_drives_the_terminal() {
        assert_eq!(shown("+\ta\tb\x1b[2J\u{202e}\\n\r".as_bytes()), "+        a       b\\x1b[2J\\u{202e}\\n\\r");
        assert!(shown(b"\x00\xff\n\x07\x9b").chars().all(|c| !c.is_control()));
    }

    #[test]
    fn what_does_not_fit_is_said_to_go_on() {
        assert_eq!(clipped("abcdef", 0, 4, '…'), "abc…");
        assert_eq!(clipped("abcdef", 2, 4, '…'), "cdef");
        assert_eq!(clipped("abc", 7, 4, '…'), "");
        assert_eq!(clipped("漢字漢字", 0, 5, '…'), "漢字…");
        assert_eq!(shortened("src/a/long/way/down/main.rs", 16, '…'), "src/a…wn/main.rs");
        assert_eq!(shortened("src/main.rs", 16, '…'), "src/main.rs");
    }
}
