//! An argument as a shell would split it, for arguments that are scripts.

use std::ops::Range;

/// The words of `script`, quotes included: what is between white space and operators outside of
/// quotes.
pub(super) fn words(script: &[u8]) -> Vec<Range<usize>> {
    let mut words = Vec::new();
    let (mut start, mut quote, mut is_escaped) = (None, None, false);
    for (index, &byte) in script.iter().enumerate() {
        if quote.is_none() && !is_escaped && is_separator(byte) {
            words.extend(start.take().map(|start| start..index));
            continue;
        }
        start.get_or_insert(index);
        match quote {
            _ if is_escaped => is_escaped = false,
            _ if byte == b'\\' && quote != Some(b'\'') => is_escaped = true,
            Some(open) if open == byte => quote = None,
            None if is_quote(byte) => quote = Some(byte),
            _ => {}
        }
    }
    words.extend(start.map(|start| start..script.len()));
    words
}

fn is_separator(byte: u8) -> bool {
    byte.is_ascii_whitespace() || matches!(byte, b';' | b'|' | b'&' | b'(' | b')')
}

/// `range` of `text` without the quotes around it.
pub(super) fn unquoted(text: &[u8], range: Range<usize>) -> Range<usize> {
    match &text[range.clone()] {
        [first, .., last] if first == last && is_quote(*first) => range.start + 1..range.end - 1,
        [first, ..] if is_quote(*first) => range.start + 1..range.end,
        _ => range,
    }
}

/// Whether `byte` begins and ends a quotation.
pub(super) fn is_quote(byte: u8) -> bool {
    matches!(byte, b'"' | b'\'')
}
