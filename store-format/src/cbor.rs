//! The subset of CBOR that isobox writes: deterministic (RFC 8949, section 4.2.1), without floats, tags and negatives.
//!
//! The decoder pulls item by item and never builds a tree, so that it takes no memory but what it returns, and never
//! recurses: how deep bytes may nest is decided by what is asked of it, at most five levels in schema 1.

mod decoder;
mod encoder;
#[cfg(test)]
mod tests;

pub(crate) use decoder::{Decoder, MapDecoder};
pub(crate) use encoder::{Encoder, MapEncoder};

const UINT: u8 = 0;
const BYTES: u8 = 2;
const TEXT: u8 = 3;
const ARRAY: u8 = 4;
const MAP: u8 = 5;
const FALSE: u8 = 0xf4;
const TRUE: u8 = 0xf5;
