//! Base64 as in RFC 4648, section 4: one text for one byte string.

use base64::Engine;
use base64::engine::general_purpose::STANDARD;

/// The text of `bytes`.
pub(super) fn encode(bytes: &[u8]) -> String {
    STANDARD.encode(bytes)
}

/// The bytes whose text this is.
pub(super) fn decode(text: &str) -> Option<Vec<u8>> {
    STANDARD.decode(text).ok().filter(|bytes| encode(bytes) == text)
}

/// As [`decode`], of exactly `N` bytes.
pub(super) fn decode_array<const N: usize>(text: &str) -> Option<[u8; N]> {
    decode(text)?.try_into().ok()
}
