//! Names as Git quotes them in a patch.

/// The bytes that a backslash and a letter stand for.
const LETTERS: [(u8, u8); 9] = [
    (0x07, b'a'),
    (0x08, b'b'),
    (b'\t', b't'),
    (b'\n', b'n'),
    (0x0b, b'v'),
    (0x0c, b'f'),
    (b'\r', b'r'),
    (b'"', b'"'),
    (b'\\', b'\\'),
];

/// `prefix` and `path`, in quotes if Git would quote them: with control characters, quotes, backslashes or any byte
/// outside of ASCII. Every other byte stands for itself.
pub fn quoted(prefix: &[u8], path: &[u8]) -> Vec<u8> {
    let name = [prefix, path].concat();
    if !name.iter().any(|&byte| is_quoted(byte)) {
        return name;
    }
    let mut quoted = vec![b'"'];
    name.iter().for_each(|&byte| push(&mut quoted, byte));
    quoted.push(b'"');
    quoted
}

fn is_quoted(byte: u8) -> bool {
    matches!(byte, 0..=0x1f | b'"' | b'\\' | 0x7f..)
}

fn push(quoted: &mut Vec<u8>, byte: u8) {
    match LETTERS.iter().find(|(plain, _)| *plain == byte) {
        Some((_, letter)) => quoted.extend([b'\\', *letter]),
        None if is_quoted(byte) => quoted.extend(format!("\\{byte:03o}").bytes()),
        None => quoted.push(byte),
    }
}

/// A name without its quotes, if it has some; `None` if they are not as Git writes them.
pub fn unquoted(name: &[u8]) -> Option<Vec<u8>> {
    let Some(quoted) = name.strip_prefix(b"\"") else { return Some(name.to_vec()) };
    let mut rest = quoted.strip_suffix(b"\"")?.iter();
    let mut plain = Vec::with_capacity(name.len());
    while let Some(&byte) = rest.next() {
        plain.push(if byte == b'\\' { escaped(&mut rest)? } else { byte });
    }
    Some(plain)
}

/// The byte that is written as what comes after a backslash.
fn escaped(rest: &mut std::slice::Iter<'_, u8>) -> Option<u8> {
    let first = *rest.next()?;
    if let Some((plain, _)) = LETTERS.iter().find(|(_, letter)| *letter == first) {
        return Some(*plain);
    }
    [first, *rest.next()?, *rest.next()?].iter().try_fold(0_u8, |byte, digit| match digit {
        b'0'..=b'7' => byte.checked_mul(8)?.checked_add(digit - b'0'),
        _ => None,
    })
}

/// The path of the two names `a/…` and `b/…` that the header of a patch's part has, after `diff --git `. `None` where they are
/// two paths, as of a rename: isobox writes none of those.
pub fn named_twice(names: &[u8]) -> Option<Vec<u8>> {
    // Both names are the same, so that a blank in them is none that is between them.
    let (old, new) = names.split_at(names.len() / 2);
    let (old, new) = (unquoted(old)?, unquoted(new.strip_prefix(b" ")?)?);
    let (old, new) = (old.strip_prefix(b"a/")?, new.strip_prefix(b"b/")?);
    (old == new).then(|| old.to_vec())
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn names_are_quoted_as_git_does() {
        assert_eq!(quoted(b"a/", b"with blank"), b"a/with blank");
        assert_eq!(quoted(b"a/", "ä\t\"\\\u{1}".as_bytes()), b"\"a/\\303\\244\\t\\\"\\\\\\001\"");
    }

    #[test]
    fn what_git_does_not_write_is_no_name() {
        for name in [r#"""#, r#""a"#, r#""\"#, r#""\9""#, r#""\40""#, r#""\400""#, r#""\+12""#, r#""\x""#] {
            assert_eq!(unquoted(name.as_bytes()), None, "{name}");
        }
    }

    proptest! {
        #[test]
        fn a_name_is_the_same_after_its_quotes(path: Vec<u8>) {
            let name = [b"a/".as_slice(), &path].concat();
            prop_assert_eq!(unquoted(&quoted(b"a/", &path)), Some(name));
        }
    }
}
