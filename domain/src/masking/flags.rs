//! Secrets that a flag or an assignment names: `--token=…`, `--password …`, `curl -u user:…`, `API_KEY=…`.

use super::names::{Kind, begins_harmless, is_harmless, of_flag, of_name};
use super::words::{is_quote, unquoted, words};
use std::ops::Range;

/// Programs whose `-u` takes `user:password`. Elsewhere it is a switch or takes a user and a group.
const TAKE_USER_AND_PASSWORD: [&str; 7] = ["curl", "http", "https", "xh", "ab", "lftp", "wget"];
const USER_FLAGS: [&[u8]; 5] = [b"-u", b"--user", b"-U", b"--proxy-user", b"-a"];

/// Programs whose `-p` takes a password. Elsewhere it is a port, or a switch.
const TAKE_PASSWORD: [&str; 6] = ["sshpass", "mysql", "mysqldump", "mysqladmin", "mariadb", "mariadb-dump"];

/// What the next word is.
#[derive(Default)]
enum Next {
    #[default]
    Ordinary,
    Named(Kind),
    UserAndPassword,
}

/// Adds to `found`, per argument, what flags and assignments name.
pub(super) fn find(arguments: &[Vec<u8>], found: &mut [Vec<Range<usize>>]) {
    let (mut outer, mut is_script) = (Line::default(), false);
    for (argument, found) in arguments.iter().zip(found) {
        let has_blanks = argument.iter().any(u8::is_ascii_whitespace);
        let whole = outer.word(argument, 0..argument.len());
        if has_blanks && (is_script || leading_assignment(argument).is_none()) {
            let mut line = Line::default();
            found.extend(words(argument).into_iter().flat_map(|word| line.word(argument, word)));
        }
        if !(has_blanks && is_script) {
            found.extend(whole);
        }
        // `sh -c SCRIPT` and `bash -euc SCRIPT`; other arguments with blanks may be as much of a command line.
        is_script = argument.len() > 1 && argument[0] == b'-' && argument[1] != b'-' && argument.ends_with(b"c");
    }
}

/// A command line, as far as it has been read.
#[derive(Default)]
struct Line {
    next: Next,
    takes_user_and_password: bool,
    takes_password: bool,
}

impl Line {
    /// What is secret in the next word, which is `range` of `text`. A whole argument with blanks in it is looked at as
    /// the value of what came before, or as one assignment; what else is in it is left to the line that it may be itself.
    fn word(&mut self, text: &[u8], range: Range<usize>) -> Vec<Range<usize>> {
        let bare = unquoted(text, range.clone());
        let word = &text[bare.clone()];
        match std::mem::replace(&mut self.next, Next::Ordinary) {
            Next::Named(kind) if !is_flag(word) && !is_harmless(word, kind) && !is_build_secret(word) => {
                return vec![bare];
            }
            Next::UserAndPassword if !is_flag(word) => return after_colon(text, bare).into_iter().collect(),
            _ => {}
        }
        if range == (0..text.len()) && text.iter().any(u8::is_ascii_whitespace) {
            return leading_assignment(text).into_iter().collect();
        }
        self.meet_program(word);
        if let Some(secret) = self.attached(text, &bare) {
            return vec![secret];
        }
        self.next = self.following(word);
        assignments(text, bare)
    }

    fn meet_program(&mut self, word: &[u8]) {
        let name = word.rsplit(|byte| *byte == b'/').next().unwrap_or_default();
        let is_one_of = |programs: &[&str]| programs.iter().any(|program| program.as_bytes() == name);
        self.takes_user_and_password |= is_one_of(&TAKE_USER_AND_PASSWORD);
        self.takes_password |= is_one_of(&TAKE_PASSWORD);
    }

    /// A value that follows a short flag in the same word: `-uana:secret`, `-psecret`.
    fn attached(&self, text: &[u8], range: &Range<usize>) -> Option<Range<usize>> {
        let value = range.start + 2..range.end;
        let flag = text[range.clone()].get(..2)?;
        if value.is_empty() {
            return None;
        }
        match flag {
            b"-u" if self.takes_user_and_password => after_colon(text, value),
            b"-p" if self.takes_password => Some(value),
            _ => None,
        }
    }

    fn following(&mut self, word: &[u8]) -> Next {
        if self.takes_user_and_password && USER_FLAGS.contains(&word) {
            return Next::UserAndPassword;
        }
        // Once: what follows the password of sshpass is another command line, where `-p` is a port.
        if word == b"-p" && std::mem::take(&mut self.takes_password) {
            return Next::Named(Kind::Secret);
        }
        match of_flag(word) {
            Some(kind) if word.starts_with(b"-") && !word.contains(&b'=') => Next::Named(kind),
            _ => Next::Ordinary,
        }
    }
}

fn is_flag(word: &[u8]) -> bool {
    word.starts_with(b"--") || (word.len() == 2 && word[0] == b'-' && word[1].is_ascii_alphabetic())
}

/// `docker build --secret id=NAME,src=FILE` names a secret and has none.
fn is_build_secret(word: &[u8]) -> bool {
    word.starts_with(b"id=") || word.starts_with(b"type=")
}

fn after_colon(text: &[u8], range: Range<usize>) -> Option<Range<usize>> {
    let colon = text[range.clone()].iter().position(|byte| *byte == b':')?;
    let secret = range.start + colon + 1..range.end;
    (!is_harmless(&text[secret.clone()], Kind::Secret)).then_some(secret)
}

/// `NAME=VALUE` with a name that says that the value is a secret.
struct Named {
    start_of_name: usize,
    value: Range<usize>,
}

/// The value of an assignment that `text` begins with, blanks in it included.
fn leading_assignment(text: &[u8]) -> Option<Range<usize>> {
    assignment(text, 0..text.len()).filter(|named| named.start_of_name == 0).map(|named| named.value)
}

fn assignments(text: &[u8], range: Range<usize>) -> Vec<Range<usize>> {
    let mut values = Vec::new();
    let mut rest = range;
    while let Some(named) = assignment(text, rest.clone()) {
        rest.start = named.value.end;
        values.push(named.value);
    }
    values
}

/// The first one in `range` of `text`.
fn assignment(text: &[u8], range: Range<usize>) -> Option<Named> {
    let mut start_of_name = range.start;
    for index in range.clone() {
        match text[index] {
            b'=' => {
                let name = &text[start_of_name..index];
                let is_flag = name.starts_with(b"-");
                let kind = if is_flag { of_flag(name) } else { of_name(name) };
                let is_comparison = !is_flag && text.get(index + 1) == Some(&b'=');
                let rest = index + 1..range.end;
                let value = kind.filter(|_| !is_comparison).and_then(|kind| value(text, start_of_name, rest, kind));
                if let Some(value) = value {
                    return Some(Named { start_of_name, value });
                }
                start_of_name = index + 1;
            }
            byte if byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'-' | b'.') => {}
            _ => start_of_name = index + 1,
        }
    }
    None
}

/// What is secret of the value that begins where `range` does. In the query of a URL, it ends where the next one begins.
fn value(text: &[u8], start_of_name: usize, range: Range<usize>, kind: Kind) -> Option<Range<usize>> {
    let quoted = range.start + usize::from(text[range.clone()].first().copied().is_some_and(is_quote));
    if begins_harmless(&text[quoted..range.end.max(quoted)], kind) {
        return None;
    }
    let is_in_query = start_of_name.checked_sub(1).is_some_and(|before| matches!(text[before], b'?' | b'&'));
    let next = || text[range.clone()].iter().position(|byte| *byte == b'&');
    let end = is_in_query.then(next).flatten().map_or(range.end, |at| range.start + at);
    let value = unquoted(text, range.start..end);
    (!is_harmless(&text[value.clone()], kind)).then_some(value)
}
