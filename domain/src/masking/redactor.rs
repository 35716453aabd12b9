//! Output without what is secret-shaped in it, however long it is and in whatever pieces it comes.

use super::secrets;
use std::ops::Range;

/// What stands in the place of a secret.
pub const REDACTED: &[u8] = b"[redacted]";

/// Longest line that is looked at as a whole, in bytes.
const LONGEST: usize = 64 << 10;

/// How much of the end of a longer line is looked at again, in bytes: what is longer than that, and lies where such a line
/// is cut, may be missed.
const AGAIN: usize = 16 << 10;

const BEGIN: &[u8] = b"-----BEGIN ";
const PRIVATE: &[u8] = b"PRIVATE KEY";
const END: &[u8] = b"-----END ";

/// Replaces what is secret-shaped in a text, line by line. What comes out depends on the text alone, not on its pieces.
///
/// A private key is redacted up to its last line; one without a last line, up to the end of the text.
#[derive(Debug, Default)]
pub struct Redactor {
    line: Vec<u8>,
    state: State,
    count: u64,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum State {
    /// Nothing of what comes is known to be secret.
    #[default]
    Open,
    /// What comes is, to the end of the line.
    InLine,
    /// What comes is, to the last line of a private key.
    InKey,
}

impl Redactor {
    /// Takes the next piece, and adds to `out` what is certain so far.
    pub fn push(&mut self, piece: &[u8], out: &mut Vec<u8>) {
        for part in piece.split_inclusive(|byte| *byte == b'\n') {
            let mut rest = part;
            while !rest.is_empty() {
                let (now, later) = rest.split_at(rest.len().min(LONGEST - self.line.len()));
                self.line.extend_from_slice(now);
                rest = later;
                if self.line.ends_with(b"\n") {
                    self.end_line(out);
                } else if self.line.len() == LONGEST {
                    self.cut_line(out);
                }
            }
        }
    }

    /// Adds the rest to `out`.
    pub fn finish(&mut self, out: &mut Vec<u8>) {
        self.end_line(out);
    }

    /// How many secret-shaped strings were replaced so far.
    pub const fn count(&self) -> u64 {
        self.count
    }

    fn end_line(&mut self, out: &mut Vec<u8>) {
        let line = std::mem::take(&mut self.line);
        let ends = line.len() - line.iter().rev().take_while(|byte| matches!(byte, b'\n' | b'\r')).count();
        match self.state {
            State::InKey if find(&line, END).is_none() => {}
            State::InLine => {
                self.state = State::Open;
                out.extend_from_slice(&line[ends..]);
            }
            State::InKey | State::Open => {
                self.state = State::Open;
                self.replace(&line, ends, out);
                out.extend_from_slice(&line[ends..]);
                self.begin_key(&line, out);
            }
        }
    }

    /// Does with the most of a line that is too long what is done with a line.
    fn cut_line(&mut self, out: &mut Vec<u8>) {
        let line = std::mem::take(&mut self.line);
        match self.state {
            State::InLine => {}
            // Its last line may begin in what comes next.
            State::InKey => self.line.extend_from_slice(&line[LONGEST - AGAIN..]),
            State::Open => match in_line(&line).last() {
                Some(last) if last.end == line.len() => {
                    self.replace(&line, line.len(), out);
                    self.state = State::InLine;
                }
                last => {
                    let cut = last.map_or(LONGEST - AGAIN, |last| last.end.max(LONGEST - AGAIN));
                    self.replace(&line, cut, out);
                    self.line.extend_from_slice(&line[cut..]);
                }
            },
        }
    }

    /// Adds the first `length` bytes of `line` to `out`, without the secrets in it.
    fn replace(&mut self, line: &[u8], length: usize, out: &mut Vec<u8>) {
        let mut done = 0;
        for range in in_line(line).into_iter().filter(|range| range.start < length) {
            out.extend_from_slice(&line[done..range.start]);
            out.extend_from_slice(REDACTED);
            done = range.end.min(length);
            self.count += 1;
        }
        out.extend_from_slice(&line[done..length]);
    }

    /// A line on which a private key begins and does not end.
    fn begin_key(&mut self, line: &[u8], out: &mut Vec<u8>) {
        let begin = find(line, BEGIN).map(|at| at + BEGIN.len());
        let key = begin.and_then(|label| find(&line[label..], PRIVATE).map(|at| label + at));
        if key.is_some_and(|key| find(&line[key..], END).is_none()) {
            self.state = State::InKey;
            self.count += 1;
            out.extend_from_slice(&[REDACTED, b"\n"].concat());
        }
    }
}

/// The secret-shaped parts of a line, which is looked at as a shell would: an assignment ends at a blank.
fn in_line(line: &[u8]) -> Vec<Range<usize>> {
    secrets(&[b"-c".to_vec(), line.to_vec()]).pop().unwrap_or_default()
}

fn find(text: &[u8], word: &[u8]) -> Option<usize> {
    text.windows(word.len()).position(|window| window == word)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn in_pieces(text: &[u8], length: usize) -> (Vec<u8>, u64) {
        let (mut redactor, mut out) = (Redactor::default(), Vec::new());
        text.chunks(length).for_each(|piece| redactor.push(piece, &mut out));
        redactor.finish(&mut out);
        (out, redactor.count())
    }

    fn redacted(text: &str) -> (String, u64) {
        let (out, count) = in_pieces(text.as_bytes(), usize::MAX);
        (String::from_utf8(out).expect("text"), count)
    }

    #[test]
    fn what_is_secret_shaped_is_replaced_and_counted_and_nothing_else() {
        let text = "fetching\nAuthorization: Bearer abcdefgh\nAPI_KEY=hunter22 make\n\n{\"token\": \"s3cr3t\"} ok";
        let expected = "fetching\nAuthorization: Bearer [redacted]\nAPI_KEY=[redacted] make\n\n\
                        {\"token\": \"[redacted]\"} ok";
        assert_eq!(redacted(text), (expected.to_owned(), 3));
        let harmless = "a\r\nb: c\nPATH=/usr/bin\n\n";
        assert_eq!(redacted(harmless), (harmless.to_owned(), 0));
    }

    #[test]
    fn a_private_key_is_redacted_to_its_last_line_or_to_the_end() {
        let key = "-----BEGIN RSA PRIVATE KEY-----\nMIIEow\nAAAA\n-----END RSA PRIVATE KEY-----\n";
        let expected = "-----BEGIN RSA PRIVATE KEY-----\n[redacted]\n-----END RSA PRIVATE KEY-----\nafter\n";
        assert_eq!(redacted(&format!("{key}after\n")), (expected.to_owned(), 1));
        let (out, _) = redacted("-----BEGIN PRIVATE KEY-----\nMIIEow\nmore\n");
        assert!(!out.contains("MIIEow") && !out.contains("more"), "{out}");
        let public = "-----BEGIN PUBLIC KEY-----\nMIIB\n-----END PUBLIC KEY-----\n";
        assert_eq!(redacted(public).0, public);
    }

    #[test]
    fn a_line_that_is_too_long_is_redacted_as_far_as_it_is_known() {
        let token = "ghp_0123456789abcdefghij0123456789";
        for before in [LONGEST - 20, LONGEST - AGAIN - 10, LONGEST, 3 * LONGEST - 5] {
            let text = format!("{} {token} {}", "x".repeat(before), "y".repeat(2 * LONGEST));
            let (out, count) = redacted(&text);
            assert!(!out.contains(&token[4..14]) && count == 1, "{before}: {count}");
        }
        let endless = format!("password=\"{}\nnext\n", "s".repeat(5 * LONGEST));
        assert_eq!(redacted(&endless), ("password=\"[redacted]\nnext\n".to_owned(), 1));
    }

    proptest! {
        #[test]
        fn pieces_make_no_difference(
            words in prop::collection::vec(prop_oneof![
                Just("token=abcd1234 ".to_owned()), Just("\n".to_owned()), Just("-----BEGIN PRIVATE KEY-----".to_owned()),
                Just("-----END PRIVATE KEY-----\n".to_owned()), Just("ghp_0123456789abcdefghij ".to_owned()), "[a-z:\"= ]{0,9}",
                Just("z".repeat(40_000)),
            ], 0..12),
            length in 1_usize..70_000,
        ) {
            let text = words.concat().into_bytes();
            prop_assert_eq!(in_pieces(&text, length), in_pieces(&text, usize::MAX));
        }
    }
}
