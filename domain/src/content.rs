//! The identity of content: BLAKE3-256 of its raw bytes.

use std::fmt;
use std::str::FromStr;

/// The BLAKE3-256 hash of some bytes. Printed and parsed as `b3:` and 64 lower-case hex digits.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct ContentId([u8; 32]);

impl ContentId {
    /// Wraps a finished hash.
    pub const fn new(hash: [u8; 32]) -> Self {
        Self(hash)
    }

    /// The 32 bytes of the hash.
    pub const fn as_bytes(&self) -> &[u8; 32] {
        &self.0
    }

    /// The 64 hex digits without the `b3:` prefix, as `b3sum` prints them.
    pub fn to_hex(self) -> String {
        hex(&self.0)
    }
}

impl fmt::Display for ContentId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "b3:{}", self.to_hex())
    }
}

impl fmt::Debug for ContentId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

/// A text is not `b3:` followed by 64 lower-case hex digits.
#[derive(Debug, PartialEq, Eq, thiserror::Error)]
#[error("a record digest is `b3:` and 64 hex digits, found `{found}`")]
pub struct ParseContentIdError {
    found: String,
}

impl FromStr for ContentId {
    type Err = ParseContentIdError;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let digits = text.strip_prefix("b3:").and_then(parse_hex::<32>);
        digits.map(Self).ok_or_else(|| ParseContentIdError { found: text.to_owned() })
    }
}

/// A piece of content that a record refers to: its identity and its raw length in bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct ContentRef {
    /// BLAKE3 of the raw bytes.
    pub id: ContentId,
    /// Raw length in bytes.
    pub length: u64,
}

/// Lower-case hex digits of `bytes`.
pub fn hex(bytes: &[u8]) -> String {
    const DIGITS: &[u8; 16] = b"0123456789abcdef";
    bytes.iter().flat_map(|byte| [byte >> 4, byte & 15]).map(|nibble| char::from(DIGITS[usize::from(nibble)])).collect()
}

/// Exactly `N` bytes from `2 * N` lower-case hex digits; anything else is `None`.
pub fn parse_hex<const N: usize>(text: &str) -> Option<[u8; N]> {
    let digits = text.as_bytes();
    if digits.len() != 2 * N {
        return None;
    }
    let mut bytes = [0; N];
    for (byte, pair) in bytes.iter_mut().zip(digits.chunks_exact(2)) {
        *byte = nibble(pair[0])? << 4 | nibble(pair[1])?;
    }
    Some(bytes)
}

fn nibble(digit: u8) -> Option<u8> {
    match digit {
        b'0'..=b'9' => Some(digit - b'0'),
        b'a'..=b'f' => Some(digit - b'a' + 10),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_digest_is_read_back_from_what_it_prints() {
        let id = ContentId::new(std::array::from_fn(|i| i as u8 * 7));
        assert_eq!(id.to_string().parse(), Ok(id));
    }

    #[test]
    fn upper_case_short_and_unprefixed_digests_are_refused() {
        let good = ContentId::new([0xab; 32]).to_string();
        for bad in [good.to_uppercase(), good[..66].to_owned(), good[3..].to_owned()] {
            assert_eq!(bad.parse::<ContentId>(), Err(ParseContentIdError { found: bad.clone() }));
        }
    }
}
