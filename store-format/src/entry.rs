//! Entries: the 64-byte header that stands before every payload, in packs and in large files.

use crate::block::TABLE_START;
use crate::limits::{
    FRAME_RAW, LARGE_FROM, MAX_BLOCK, MAX_BLOCK_RAW, MAX_COMMIT, MAX_DICTIONARY, MAX_FRAME, MAX_LARGE_RAW,
    MAX_PACKED_RAW,
};
use crate::object::reference_to;
use isobox_domain::content::ContentId;

/// Length of an encoded header in bytes.
pub const HEADER_LEN: usize = 64;
/// The first bytes of every entry. The first is no ASCII and no start of UTF-8, so that text never looks like one.
pub const MAGIC: [u8; 4] = [0xb1, b'I', b'S', b'O'];
/// The version of the entry format that this crate writes and reads.
pub const VERSION: u8 = 1;

/// What the payload of an entry is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[repr(u8)]
pub enum EntryKind {
    /// Content: outputs, files, patches, policies, Change Sets.
    Artifact = 1,
    /// A Task Record or an Event.
    Record = 2,
    /// What makes the entries before it durable and visible.
    Commit = 3,
    /// Objects in one [block](crate::block), each of which was committed before.
    Block = 4,
    /// Bytes that readers of packs skip.
    Filler = 5,
    /// A reference to a large artifact: its payload is the header of the large file, which is read from `large/`.
    Large = 6,
    /// What records of the same pack are [compressed with](crate::dictionary). No object of the store.
    Dictionary = 7,
}

/// How the payload of an entry is stored.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[repr(u8)]
pub enum Codec {
    /// As it is.
    Raw = 0,
    /// As zstd frames: one in a pack, one for each [`FRAME_RAW`] bytes in a large file.
    Zstd = 1,
    /// As a table of members and one zstd frame of all their bytes.
    Block = 2,
    /// As one zstd frame that is read with the dictionary of its pack.
    Dictionary = 3,
}

/// Where an entry stands, which decides how long it may be.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Place {
    /// Among others in a pack, a lane or a staging file.
    Pack,
    /// Alone in a large file.
    Large,
}

/// What is said about a payload before it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct EntryHeader {
    /// What the payload is.
    pub kind: EntryKind,
    /// How it is stored.
    pub codec: Codec,
    /// BLAKE3 of the raw bytes; of a block, of its table, which names the bytes of every member.
    pub id: ContentId,
    /// Raw length in bytes; of a block, that of all its members.
    pub raw_length: u64,
    /// Length of the stored payload in bytes, without the header.
    pub stored_length: u64,
    /// CRC32C of the stored payload.
    pub payload_crc: u32,
}

/// Why some bytes are no entry.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum EntryError {
    /// The header does not start as one, or its checksum is wrong.
    #[error("no entry header")]
    NotAHeader,
    /// The header is sound but of another version, or uses what this version does not know.
    #[error("an entry with {field} {found}, which this version does not know")]
    Unknown {
        /// Which field.
        field: &'static str,
        /// Its value.
        found: u8,
    },
    /// A length is over its limit, or does not fit the other.
    #[error("lengths of {raw} raw and {stored} stored bytes are not accepted")]
    Lengths {
        /// The raw length.
        raw: u64,
        /// The stored length.
        stored: u64,
    },
    /// The payload's checksum is wrong.
    #[error("the payload's checksum is wrong")]
    PayloadCrc,
    /// The payload is no zstd frame of the accepted kind and length.
    #[error("the payload is no accepted zstd frame: {reason}")]
    Frame {
        /// What is wrong with it.
        reason: &'static str,
    },
    /// The payload is no block of the accepted kind.
    #[error("the payload is no accepted block: {reason}")]
    Block {
        /// What is wrong with it.
        reason: &'static str,
    },
    /// The raw bytes are not those that the header names.
    #[error("the content is {found}")]
    WrongContent {
        /// The digest of what is there.
        found: ContentId,
    },
}

impl EntryHeader {
    /// The 64 bytes of the header.
    pub fn encode(&self) -> [u8; HEADER_LEN] {
        let mut bytes = [0; HEADER_LEN];
        bytes[..4].copy_from_slice(&MAGIC);
        bytes[4..8].copy_from_slice(&[VERSION, self.kind as u8, self.codec as u8, 0]);
        bytes[8..40].copy_from_slice(self.id.as_bytes());
        bytes[40..48].copy_from_slice(&self.raw_length.to_le_bytes());
        bytes[48..56].copy_from_slice(&self.stored_length.to_le_bytes());
        bytes[56..60].copy_from_slice(&self.payload_crc.to_le_bytes());
        let crc = crc32c::crc32c(&bytes[..60]);
        bytes[60..].copy_from_slice(&crc.to_le_bytes());
        bytes
    }

    /// Reads a header. Its lengths are within the limits of `place`, so that they may be allocated in a pack.
    pub fn decode(bytes: &[u8; HEADER_LEN], place: Place) -> Result<Self, EntryError> {
        if bytes[..4] != MAGIC || le_u32(bytes, 60) != crc32c::crc32c(&bytes[..60]) {
            return Err(EntryError::NotAHeader);
        }
        if bytes[4] != VERSION {
            return Err(EntryError::Unknown { field: "version", found: bytes[4] });
        }
        if bytes[7] != 0 {
            return Err(EntryError::Unknown { field: "flags", found: bytes[7] });
        }
        let header = Self {
            kind: kind_from(bytes[5])?,
            codec: codec_from(bytes[6])?,
            id: ContentId::new(bytes[8..40].try_into().unwrap_or_default()),
            raw_length: le_u64(bytes, 40),
            stored_length: le_u64(bytes, 48),
            payload_crc: le_u32(bytes, 56),
        };
        if header.has_lengths_of(place) { Ok(header) } else { Err(header.lengths_refused()) }
    }

    /// The header of a payload that is stored as it is.
    pub fn raw(kind: EntryKind, payload: &[u8]) -> Self {
        let reference = reference_to(payload);
        Self {
            kind,
            codec: Codec::Raw,
            id: reference.id,
            raw_length: reference.length,
            stored_length: reference.length,
            payload_crc: crc32c::crc32c(payload),
        }
    }

    /// Length of the whole entry in bytes.
    pub const fn entry_length(&self) -> u64 {
        HEADER_LEN as u64 + self.stored_length
    }

    fn lengths_refused(&self) -> EntryError {
        EntryError::Lengths { raw: self.raw_length, stored: self.stored_length }
    }

    fn has_lengths_of(&self, place: Place) -> bool {
        let (raw, stored) = (self.raw_length, self.stored_length);
        match (place, self.kind, self.codec) {
            (Place::Large, EntryKind::Artifact, Codec::Zstd) => {
                (LARGE_FROM..=MAX_LARGE_RAW).contains(&raw) && stored <= raw.div_ceil(FRAME_RAW) * MAX_FRAME
            }
            (Place::Large, ..) => false,
            (Place::Pack, EntryKind::Commit, Codec::Raw) => raw == stored && raw <= MAX_COMMIT,
            (Place::Pack, EntryKind::Large, Codec::Raw) => raw == stored && raw == HEADER_LEN as u64,
            (Place::Pack, EntryKind::Commit | EntryKind::Large, Codec::Zstd) => false,
            (Place::Pack, EntryKind::Block, Codec::Block) => {
                raw <= MAX_BLOCK_RAW && (TABLE_START as u64..=MAX_BLOCK).contains(&stored)
            }
            (Place::Pack, EntryKind::Block, _) | (Place::Pack, _, Codec::Block) => false,
            (Place::Pack, EntryKind::Record, Codec::Dictionary) => stored < raw && raw <= MAX_PACKED_RAW,
            (Place::Pack, _, Codec::Dictionary) => false,
            (Place::Pack, EntryKind::Dictionary, _) if raw > MAX_DICTIONARY => false,
            (Place::Pack, _, Codec::Raw) => raw == stored && raw <= MAX_PACKED_RAW,
            (Place::Pack, _, Codec::Zstd) => stored < raw && raw <= MAX_PACKED_RAW,
        }
    }
}

fn kind_from(byte: u8) -> Result<EntryKind, EntryError> {
    let kinds = [
        EntryKind::Artifact,
        EntryKind::Record,
        EntryKind::Commit,
        EntryKind::Block,
        EntryKind::Filler,
        EntryKind::Large,
        EntryKind::Dictionary,
    ];
    let known = kinds.into_iter().find(|kind| *kind as u8 == byte);
    known.ok_or(EntryError::Unknown { field: "kind", found: byte })
}

fn codec_from(byte: u8) -> Result<Codec, EntryError> {
    let known =
        [Codec::Raw, Codec::Zstd, Codec::Block, Codec::Dictionary].into_iter().find(|codec| *codec as u8 == byte);
    known.ok_or(EntryError::Unknown { field: "codec", found: byte })
}

/// The CRC32C of bytes whose beginning has the CRC32C `crc`, and that go on with `bytes`; 0 for no beginning.
pub fn crc_append(crc: u32, bytes: &[u8]) -> u32 {
    crc32c::crc32c_append(crc, bytes)
}

/// Reads the integer at `at`; zero past the end.
pub(crate) fn le_u32(bytes: &[u8], at: usize) -> u32 {
    bytes.get(at..at + 4).and_then(|slice| slice.try_into().ok()).map_or(0, u32::from_le_bytes)
}

/// Reads the integer at `at`; zero past the end.
pub(crate) fn le_u64(bytes: &[u8], at: usize) -> u64 {
    bytes.get(at..at + 8).and_then(|slice| slice.try_into().ok()).map_or(0, u64::from_le_bytes)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn header() -> EntryHeader {
        EntryHeader {
            kind: EntryKind::Artifact,
            codec: Codec::Zstd,
            id: ContentId::new([7; 32]),
            raw_length: 1000,
            stored_length: 400,
            payload_crc: 0xdead_beef,
        }
    }

    #[test]
    fn a_header_reads_back_and_no_flipped_bit_does() {
        let bytes = header().encode();
        assert_eq!(EntryHeader::decode(&bytes, Place::Pack), Ok(header()));
        for bit in 0..HEADER_LEN * 8 {
            let mut flipped = bytes;
            flipped[bit / 8] ^= 1 << (bit % 8);
            assert_eq!(EntryHeader::decode(&flipped, Place::Pack), Err(EntryError::NotAHeader));
        }
    }

    #[test]
    fn lengths_over_a_limit_are_refused_before_anybody_allocates_them() {
        let cases = [
            (EntryKind::Artifact, Codec::Raw, MAX_PACKED_RAW + 1, MAX_PACKED_RAW + 1),
            (EntryKind::Artifact, Codec::Raw, 5, 6),
            (EntryKind::Artifact, Codec::Zstd, 10, 10),
            (EntryKind::Record, Codec::Zstd, u64::MAX, 10),
            (EntryKind::Commit, Codec::Raw, MAX_COMMIT + 1, MAX_COMMIT + 1),
            (EntryKind::Commit, Codec::Zstd, 200, 100),
            (EntryKind::Artifact, Codec::Dictionary, 200, 100),
            (EntryKind::Record, Codec::Dictionary, 100, 100),
            (EntryKind::Dictionary, Codec::Raw, MAX_DICTIONARY + 1, MAX_DICTIONARY + 1),
        ];
        for (kind, codec, raw_length, stored_length) in cases {
            let bytes = EntryHeader { kind, codec, raw_length, stored_length, ..header() }.encode();
            let refused = EntryError::Lengths { raw: raw_length, stored: stored_length };
            assert_eq!(EntryHeader::decode(&bytes, Place::Pack), Err(refused));
        }
        let small = header().encode();
        assert_eq!(EntryHeader::decode(&small, Place::Large), Err(EntryError::Lengths { raw: 1000, stored: 400 }));
    }
}
