//! Writing deterministic CBOR.

use super::{ARRAY, BYTES, FALSE, MAP, TEXT, TRUE, UINT};

/// Few maps take more bytes. Without room from the start, each is moved five times on its way to a hundred.
const USUAL_MAP: usize = 256;

/// Writes items one after the other.
#[derive(Debug, Default)]
pub(crate) struct Encoder {
    bytes: Vec<u8>,
}

impl Encoder {
    pub(crate) fn into_bytes(self) -> Vec<u8> {
        self.bytes
    }

    pub(crate) fn uint(&mut self, value: u64) -> &mut Self {
        self.head(UINT, value)
    }

    pub(crate) fn bytes(&mut self, value: &[u8]) -> &mut Self {
        self.head(BYTES, value.len() as u64);
        self.bytes.extend_from_slice(value);
        self
    }

    pub(crate) fn text(&mut self, value: &str) -> &mut Self {
        self.head(TEXT, value.len() as u64);
        self.bytes.extend_from_slice(value.as_bytes());
        self
    }

    pub(crate) fn bool(&mut self, value: bool) -> &mut Self {
        self.bytes.push(if value { TRUE } else { FALSE });
        self
    }

    /// Begins an array of `length` items, which follow.
    pub(crate) fn array(&mut self, length: usize) -> &mut Self {
        self.head(ARRAY, length as u64)
    }

    /// Writes a map whose keys are small integers, in the order in which `fill` names them: ascending.
    pub(crate) fn map(&mut self, fill: impl FnOnce(&mut MapEncoder)) -> &mut Self {
        let mut map = MapEncoder { length: 0, body: Encoder { bytes: Vec::with_capacity(USUAL_MAP) } };
        fill(&mut map);
        self.head(MAP, map.length);
        self.bytes.extend_from_slice(&map.body.bytes);
        self
    }

    /// Writes a map from text to bytes, in the order that determinism asks for: the shorter key first, then by bytes.
    pub(crate) fn text_map(&mut self, entries: &[(String, Vec<u8>)]) -> &mut Self {
        let mut sorted: Vec<_> = entries.iter().collect();
        sorted.sort_by_key(|(key, _)| (key.len(), key.as_bytes()));
        self.head(MAP, entries.len() as u64);
        for (key, value) in sorted {
            self.text(key).bytes(value);
        }
        self
    }

    /// Appends an item that was encoded elsewhere.
    pub(crate) fn item(&mut self, encoded: &[u8]) -> &mut Self {
        self.bytes.extend_from_slice(encoded);
        self
    }

    fn head(&mut self, major: u8, argument: u64) -> &mut Self {
        let major = major << 5;
        match argument {
            0..=23 => self.bytes.push(major | argument as u8),
            24..=0xff => self.bytes.extend([major | 24, argument as u8]),
            0x100..=0xffff => {
                self.bytes.push(major | 25);
                self.bytes.extend((argument as u16).to_be_bytes());
            }
            0x1_0000..=0xffff_ffff => {
                self.bytes.push(major | 26);
                self.bytes.extend((argument as u32).to_be_bytes());
            }
            _ => {
                self.bytes.push(major | 27);
                self.bytes.extend(argument.to_be_bytes());
            }
        }
        self
    }
}

/// Collects the fields of one map.
#[derive(Debug)]
pub(crate) struct MapEncoder {
    length: u64,
    body: Encoder,
}

impl MapEncoder {
    /// Begins the field `key`; its value is written to what this returns.
    pub(crate) fn field(&mut self, key: u64) -> &mut Encoder {
        self.length += 1;
        self.body.uint(key)
    }
}
