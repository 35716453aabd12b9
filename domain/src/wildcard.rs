//! `*` and `?` in one piece of text.

/// Whether `pattern`, in which `*` stands for any bytes and `?` for a character, is all of `text`.
pub(crate) fn matches(pattern: &[u8], text: &[u8]) -> bool {
    let (mut at, mut index, mut back) = (0, 0, None);
    while index < text.len() {
        match pattern.get(at) {
            Some(b'*') => {
                back = Some((at + 1, index));
                at += 1;
            }
            Some(b'?') => (at, index) = (at + 1, index + character_length(&text[index..])),
            Some(byte) if *byte == text[index] => (at, index) = (at + 1, index + 1),
            _ => match back {
                Some((behind, from)) => {
                    back = Some((behind, from + 1));
                    (at, index) = (behind, from + 1);
                }
                None => return false,
            },
        }
    }
    pattern[at..].iter().all(|byte| *byte == b'*')
}

/// How many bytes the first character has; one, where it is not UTF-8.
fn character_length(text: &[u8]) -> usize {
    let first = text.utf8_chunks().next().and_then(|chunk| chunk.valid().chars().next());
    first.map_or(1, char::len_utf8)
}
