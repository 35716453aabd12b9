//! Secrets by where they stand in a text: header lines, fields of JSON, passwords of URLs.

use super::names::{Kind, begins_harmless, is_harmless, of_name};
use super::words::is_quote;
use std::ops::Range;

/// Headers whose whole value is a secret, besides those whose name says so.
const HEADERS: [&[u8]; 4] = [b"authorization", b"proxy-authorization", b"cookie", b"set-cookie"];

/// Words before the secret in an `Authorization` header.
const SCHEMES: [&[u8]; 6] = [b"bearer ", b"basic ", b"token ", b"digest ", b"apikey ", b"negotiate "];

/// Values of `Authorization: …` and its like, and of `"password": …`.
pub(super) fn headers_and_fields(text: &[u8]) -> Vec<Range<usize>> {
    let mut found: Vec<Range<usize>> = Vec::new();
    let mut start_of_name = 0;
    for (index, &byte) in text.iter().enumerate() {
        if byte == b':' && found.last().is_none_or(|last| last.end <= index) {
            found.extend(field(text, index).or_else(|| header(text, start_of_name, index)));
        }
        if !(byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'_')) {
            start_of_name = index + 1;
        }
    }
    found
}

fn header(text: &[u8], start: usize, colon: usize) -> Option<Range<usize>> {
    let name = &text[start..colon];
    let is_header = HEADERS.contains(&&*name.to_ascii_lowercase()) || (name.contains(&b'-') && of_name(name).is_some());
    // A text can be made of colons alone: what follows is read once it is known to be a value.
    is_header.then_some(())?;
    let quote = start.checked_sub(1).map(|before| text[before]).filter(|byte| is_quote(*byte));
    let value = skip_blanks(text, colon + 1);
    let rest = &text[value..];
    let begins = |scheme: &&&[u8]| rest.get(..scheme.len()).is_some_and(|begin| begin.eq_ignore_ascii_case(scheme));
    let scheme = SCHEMES.iter().find(begins).map_or(0, |scheme| scheme.len());
    let start = skip_blanks(text, value + scheme);
    // The same: a value that is none need not end.
    (!begins_harmless(&text[start..], Kind::Secret)).then_some(())?;
    let ends = |byte: &u8| Some(*byte) == quote || matches!(byte, b'\n' | b'\r');
    let end = rest.iter().position(ends).map_or(text.len(), |length| value + length);
    let secret = start.min(end)..end;
    (!is_harmless(&text[secret.clone()], Kind::Secret)).then_some(secret)
}

/// A field of JSON: its name is quoted, and the quote lies before the colon.
fn field(text: &[u8], colon: usize) -> Option<Range<usize>> {
    let quote = text[..colon].iter().rposition(|byte| *byte != b' ')?;
    is_quote(text[quote]).then_some(())?;
    let is_of_name = |byte: &u8| byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'_');
    let start = text[..quote].iter().rposition(|byte| !is_of_name(byte))? + 1;
    let kind = of_name(&text[start..quote])?;
    let value = skip_blanks(text, colon + 1);
    (!begins_harmless(&text[value.min(text.len())..], kind)).then_some(())?;
    let (value, end) = match text.get(value) {
        Some(open) if is_quote(*open) => (value + 1, text[value + 1..].iter().position(|byte| byte == open)),
        _ => (value, text[value.min(text.len())..].iter().position(|byte| b",}] \n".contains(byte))),
    };
    let secret = value..end.map_or(text.len(), |length| value + length);
    (!is_harmless(&text[secret.clone()], kind)).then_some(secret)
}

fn skip_blanks(text: &[u8], start: usize) -> usize {
    start + text[start..].iter().take_while(|byte| **byte == b' ').count()
}

/// The password of `scheme://user:password@host`, or a key in the place of the user.
pub(super) fn url_credentials(text: &[u8]) -> Vec<Range<usize>> {
    let separators = text.windows(3).enumerate().filter(|(_, window)| window == b"://");
    separators.filter_map(|(index, _)| in_authority(text, index + 3)).collect()
}

fn in_authority(text: &[u8], start: usize) -> Option<Range<usize>> {
    let ends = |byte: &u8| byte.is_ascii_whitespace() || b"/?#\"'<>".contains(byte);
    let end = text[start..].iter().position(ends).map_or(text.len(), |length| start + length);
    let at = start + text[start..end].iter().rposition(|byte| *byte == b'@')?;
    let user = &text[start..at];
    let secret = match user.iter().position(|byte| *byte == b':') {
        Some(colon) => start + colon + 1..at,
        None if looks_random(user) => start..at,
        None => return None,
    };
    (!is_harmless(&text[secret.clone()], Kind::Secret)).then_some(secret)
}

fn looks_random(user: &[u8]) -> bool {
    user.len() >= 20 && user.iter().any(u8::is_ascii_digit) && user.iter().any(u8::is_ascii_alphabetic)
}
