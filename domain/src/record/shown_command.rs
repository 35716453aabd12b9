//! A Workload Command as a person could type it.

use super::RecordedArgument;
use crate::escape::Escaped;
use std::fmt;

/// A command, shown so that a shell would take it apart as it is; hostile bytes are escaped.
#[derive(Clone, Copy, Debug)]
pub struct ShownCommand<'a>(pub &'a [RecordedArgument]);

impl fmt::Display for ShownCommand<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (index, argument) in self.0.iter().enumerate() {
            let blank = if index == 0 { "" } else { " " };
            write!(f, "{blank}{}", shown_word(&argument.shown))?;
        }
        Ok(())
    }
}

/// One word of a command line, shown likewise.
pub fn shown_word(bytes: &[u8]) -> String {
    let is_plain = |byte: &u8| byte.is_ascii_alphanumeric() || b"-_./=:,@%+*".contains(byte);
    if !bytes.is_empty() && bytes.iter().all(is_plain) {
        return String::from_utf8_lossy(bytes).into_owned();
    }
    let escaped = Escaped(bytes).to_string();
    // Backslashes stand for themselves between plain quotes, and begin an escape between those of `$'…'`; see bash(1).
    let unescaped = String::from_utf8_lossy(bytes);
    match escaped.replace("\\\\", "\\") == unescaped {
        true => format!("'{}'", unescaped.replace('\'', "'\\''")),
        false => format!("$'{}'", escaped.replace('\'', "\\'")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_command_reads_as_it_would_be_typed() {
        let argument = |shown: &[u8]| RecordedArgument { shown: shown.to_vec(), masked_digest: None };
        let shown = |arguments: &[&[u8]]| {
            let arguments: Vec<_> = arguments.iter().map(|shown| argument(shown)).collect();
            ShownCommand(&arguments).to_string()
        };
        assert_eq!(shown(&[b"sh", b"-c", b"echo 'a'\n", b""]), "sh -c $'echo \\'a\\'\\n' ''");
        assert_eq!(shown(&[b"printf", b"it's a\\n", b"\\\x1b\xff"]), "printf 'it'\\''s a\\n' $'\\\\\\x1b\\xff'");
    }
}
