//! `working-tree-encoding` in UTF-16 and UTF-32, as Git writes it on Linux: see gitattributes(5).
//!
//! gix takes UTF-16 for UTF-8 when it writes, and does not know UTF-32 and the names that end in `-BOM`.

/// One of the encodings that gix does not write.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct WideEncoding {
    unit: Unit,
    order: Order,
    mark: Mark,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Unit {
    Utf16,
    Utf32,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Order {
    Little,
    Big,
}

/// Whether a byte order mark comes first.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Mark {
    Written,
    Absent,
}

impl WideEncoding {
    /// The encoding of this name, in any case, with or without the dash after `UTF`.
    pub(super) fn of_name(name: &[u8]) -> Option<Self> {
        let name = name.to_ascii_uppercase();
        let width = name.strip_prefix(b"UTF")?;
        let (unit, order) = match width.strip_prefix(b"-").unwrap_or(width).split_at_checked(2)? {
            (b"16", order) => (Unit::Utf16, order),
            (b"32", order) => (Unit::Utf32, order),
            _ => return None,
        };
        let (order, mark) = match (unit, order) {
            // iconv(3) of glibc marks what names no order, and takes the machine's.
            (_, b"") => (if cfg!(target_endian = "little") { Order::Little } else { Order::Big }, Mark::Written),
            (_, b"LE") => (Order::Little, Mark::Absent),
            (_, b"BE") => (Order::Big, Mark::Absent),
            (Unit::Utf16, b"LE-BOM") => (Order::Little, Mark::Written),
            (Unit::Utf16, b"BE-BOM") => (Order::Big, Mark::Written),
            _ => return None,
        };
        Some(Self { unit, order, mark })
    }

    /// The text in this encoding; what is no UTF-8 stays as it is, as in Git.
    pub(super) fn encode(self, text: Vec<u8>) -> Vec<u8> {
        let Ok(text) = str::from_utf8(&text) else { return text };
        let mark = (self.mark == Mark::Written).then_some('\u{feff}');
        let mut encoded = Vec::with_capacity(text.len() * 2);
        mark.into_iter().chain(text.chars()).for_each(|character| self.push(character, &mut encoded));
        encoded
    }

    fn push(self, character: char, encoded: &mut Vec<u8>) {
        match (self.unit, self.order) {
            (Unit::Utf16, Order::Little) => {
                encoded.extend(character.encode_utf16(&mut [0; 2]).iter().flat_map(|unit| unit.to_le_bytes()));
            }
            (Unit::Utf16, Order::Big) => {
                encoded.extend(character.encode_utf16(&mut [0; 2]).iter().flat_map(|unit| unit.to_be_bytes()));
            }
            (Unit::Utf32, Order::Little) => encoded.extend(u32::from(character).to_le_bytes()),
            (Unit::Utf32, Order::Big) => encoded.extend(u32::from(character).to_be_bytes()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn encoded(name: &str, text: &[u8]) -> Option<Vec<u8>> {
        WideEncoding::of_name(name.as_bytes()).map(|encoding| encoding.encode(text.to_vec()))
    }

    #[test]
    fn wide_encodings_are_written_in_their_order_with_their_mark() {
        let pair = "\u{1f600}".as_bytes();
        assert_eq!(encoded("utf16le", pair), Some(vec![0x3d, 0xd8, 0x00, 0xde]));
        assert_eq!(encoded("UTF-16BE", pair), Some(vec![0xd8, 0x3d, 0xde, 0x00]));
        assert_eq!(encoded("UTF-16BE-BOM", b"a"), Some(vec![0xfe, 0xff, 0, b'a']));
        assert_eq!(encoded("UTF-32BE", b"a"), Some(vec![0, 0, 0, b'a']));
        assert_eq!(encoded("UTF-8", b"a"), None);
        assert_eq!(encoded("UTF-32LE-BOM", b"a"), None);
        assert_eq!(encoded("UTF-16LE", b"\xff"), Some(vec![0xff]));
    }
}
