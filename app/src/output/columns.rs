//! How wide the reader's terminal is, and text that is laid out for it.

use std::io;

/// The columns of the terminal that standard output is; `None` where it is none, or does not say.
pub(crate) fn of_stdout() -> Option<usize> {
    let size = rustix::termios::tcgetwinsize(io::stdout()).ok()?;
    Some(usize::from(size.ws_col)).filter(|columns| *columns > 0)
}

/// `text`, whose first line begins in column `indent`, broken at blanks so that no line is longer than `columns`; further
/// lines begin in column `indent` too. Words are left whole, since they are there to be copied.
pub(crate) fn wrapped(text: &str, indent: usize, columns: Option<usize>) -> String {
    let Some(room) = columns.map(|columns| columns.saturating_sub(indent)) else { return text.to_owned() };
    let mut lines = vec![String::new()];
    let mut length = 0;
    for word in text.split(' ') {
        let added = word.chars().count() + 1;
        if length > 0 && length + added > room {
            lines.push(String::new());
            length = 0;
        }
        let Some(line) = lines.last_mut() else { continue };
        if length > 0 {
            line.push(' ');
        }
        line.push_str(word);
        length += if length > 0 { added } else { added - 1 };
    }
    lines.join(&format!("\n{:indent$}", ""))
}

/// `text` if it fits into `columns`, else its beginning and an ellipsis.
pub(crate) fn cut(text: &str, columns: usize) -> String {
    match text.chars().count() <= columns {
        true => text.to_owned(),
        false => text.chars().take(columns.saturating_sub(1)).chain(['…']).collect(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_are_broken_at_blanks_and_set_below_the_first() {
        assert_eq!(wrapped("one two three", 2, Some(9)), "one two\n  three");
        assert_eq!(wrapped("one two three", 2, Some(10)), "one two\n  three");
        assert_eq!(wrapped("one two three", 2, None), "one two three");
        assert_eq!(wrapped("a-long-word b", 4, Some(8)), "a-long-word\n    b");
        assert_eq!(wrapped("", 4, Some(8)), "");
    }

    #[test]
    fn what_does_not_fit_is_cut_and_says_so() {
        assert_eq!(cut("éxactly", 7), "éxactly");
        assert_eq!(cut("one more", 7), "one mo…");
    }
}
