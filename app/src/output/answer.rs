//! A question to a person, and the answer.

use crate::output::console::Console;
use std::io::{self, BufRead, IsTerminal, Read};

/// Longest answer that is read, in bytes. A longer line is no answer.
const LONGEST: u64 = 1024;

/// Whether somebody sits there: a terminal to read the answer from, and one that shows the question.
pub(crate) fn is_anybody_there() -> bool {
    is_typed() && io::stderr().is_terminal()
}

/// Whether answers are typed on a terminal.
pub(crate) fn is_typed() -> bool {
    io::stdin().is_terminal()
}

/// Asks on standard error, and reads a line of standard input, blanks around it left out; `None` where there is none.
///
/// Whoever types `y` means yes, or did not read on: they are asked for the whole word, once.
pub(crate) fn ask(console: Console, question: &str) -> io::Result<Option<Vec<u8>>> {
    match ask_once(console, question)? {
        Some(answer) if is_typed() && answer.eq_ignore_ascii_case(b"y") => {
            ask_once(console, "It takes the whole word. Type yes to go on: ")
        }
        answer => Ok(answer),
    }
}

/// The same without asking again.
pub(crate) fn ask_once(console: Console, question: &str) -> io::Result<Option<Vec<u8>>> {
    console.question(question);
    let answer = read(&mut io::stdin().lock());
    let is_line_ended = is_typed() && matches!(&answer, Ok(Some(line)) if line.ends_with(b"\n"));
    if !is_line_ended {
        console.question("\n");
    }
    Ok(answer?.map(|line| line.trim_ascii().to_vec()))
}

fn read(input: &mut impl BufRead) -> io::Result<Option<Vec<u8>>> {
    let mut line = Vec::new();
    input.take(LONGEST).read_until(b'\n', &mut line)?;
    let is_cut = line.len() as u64 == LONGEST && !line.ends_with(b"\n");
    Ok((!line.is_empty() && !is_cut).then_some(line))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_answer_is_one_line_and_nothing_to_read_is_none() {
        let read = |input: &[u8]| read(&mut &input[..]).expect("readable");
        assert_eq!(read(b"yes\nno\n").as_deref(), Some(&b"yes\n"[..]));
        assert_eq!(read(b"yes").as_deref(), Some(&b"yes"[..]));
        assert_eq!(read(b""), None);
        let padded = [b"yes".as_slice(), &[b' '; LONGEST as usize], b"no\n"].concat();
        assert_eq!(read(&padded), None, "only a part of it was read");
    }
}
