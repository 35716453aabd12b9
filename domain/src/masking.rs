//! Secret-shaped parts of a command line, and how a record shows it without them.
//!
//! Shapes alone are looked at: a name that says so (`--token=…`, `API_KEY=…`, an `Authorization` header), a place that
//! does (the password of a URL, `curl -u`), or a well-known beginning of a key. What looks like anything else is shown.

mod flags;
mod keys;
mod names;
mod redactor;
mod values;
mod words;

pub use keys::Key;
pub use redactor::{REDACTED, Redactor};

use crate::content::ContentId;
use crate::record::RecordedArgument;
use std::ops::Range;

/// What stands in the place of a secret.
pub const MASK: &[u8] = b"***";

/// The arguments of a Workload Command as they may be kept. `digest` is the keyed BLAKE3 of a masked argument's true bytes.
pub fn mask(arguments: &[Vec<u8>], digest: &dyn Fn(&[u8]) -> ContentId) -> Vec<RecordedArgument> {
    let found = secrets(arguments);
    let masked = arguments.iter().zip(found).map(|(argument, ranges)| RecordedArgument {
        shown: replace(argument, &ranges),
        masked_digest: (!ranges.is_empty()).then(|| digest(argument)),
    });
    masked.collect()
}

/// Some text that is no command, such as the value of a Reuse Input, without what is secret-shaped in it.
pub fn mask_text(text: &[u8]) -> Vec<u8> {
    replace(text, &merged(in_text(text)))
}

/// Whether a variable of this name holds a secret, as far as a name tells.
pub fn is_secret_name(name: &str) -> bool {
    names::of_name(name.as_bytes()).is_some()
}

/// The keys in a text that their issuers' prefixes tell, and private keys: what a name or a place says alone is left out, as
/// in source code these are about secrets far more often than they hold one.
pub fn well_known_keys(text: &[u8]) -> Vec<Key> {
    keys::find(text)
}

/// Per argument, the byte ranges that look like secrets, in order and apart from each other.
fn secrets(arguments: &[Vec<u8>]) -> Vec<Vec<Range<usize>>> {
    let mut found: Vec<Vec<Range<usize>>> = arguments.iter().map(|argument| in_text(argument)).collect();
    flags::find(arguments, &mut found);
    found.into_iter().map(merged).collect()
}

fn in_text(text: &[u8]) -> Vec<Range<usize>> {
    let mut found: Vec<_> = keys::find(text).into_iter().map(|key| key.range).collect();
    found.extend(values::headers_and_fields(text));
    found.extend(values::url_credentials(text));
    found
}

fn merged(mut ranges: Vec<Range<usize>>) -> Vec<Range<usize>> {
    ranges.retain(|range| !range.is_empty());
    ranges.sort_by_key(|range| range.start);
    let mut apart: Vec<Range<usize>> = Vec::new();
    for range in ranges {
        match apart.last_mut() {
            Some(last) if range.start <= last.end => last.end = last.end.max(range.end),
            _ => apart.push(range),
        }
    }
    apart
}

fn replace(text: &[u8], ranges: &[Range<usize>]) -> Vec<u8> {
    let mut shown = Vec::with_capacity(text.len());
    let mut done = 0;
    for range in ranges {
        shown.extend_from_slice(&text[done..range.start]);
        shown.extend_from_slice(MASK);
        done = range.end;
    }
    shown.extend_from_slice(&text[done..]);
    shown
}

#[cfg(test)]
mod tests;
