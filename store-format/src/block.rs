//! Blocks: many objects in one zstd frame, behind a table that says which. Compaction makes them of what was committed before.

use crate::entry::{Codec, EntryError, EntryHeader, EntryKind, Place, le_u32};
use crate::frame::{Compressor, decode_frame_up_to};
use crate::limits::{MAX_BLOCK_RAW, MAX_MEMBERS, MAX_PACKED_RAW};
use crate::object::reference_to;
use isobox_domain::content::ContentId;

const COUNT_LEN: usize = 4;
const ROW_LEN: usize = 37;

/// One object of a block.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Member {
    /// An artifact, a record or a reference to a large artifact.
    pub kind: EntryKind,
    /// BLAKE3 of its raw bytes; of a reference to a large artifact, that artifact's.
    pub id: ContentId,
    /// Their length in bytes, at most [`MAX_PACKED_RAW`].
    pub length: u32,
}

/// The members of a block that is being made, up to [`MAX_BLOCK_RAW`] bytes of them.
#[derive(Debug, Default)]
pub struct BlockBuilder {
    members: Vec<Member>,
    raw: Vec<u8>,
}

impl BlockBuilder {
    /// Raw bytes of all members so far.
    pub fn raw_length(&self) -> usize {
        self.raw.len()
    }

    /// Whether it has no member yet.
    pub fn is_empty(&self) -> bool {
        self.members.is_empty()
    }

    /// Whether one more member of `length` bytes is within the limits of a block.
    pub fn has_room(&self, length: usize) -> bool {
        self.members.len() < MAX_MEMBERS && (self.raw.len() + length) as u64 <= MAX_BLOCK_RAW
    }

    /// Adds a member for which there [is room](Self::has_room).
    pub fn add(&mut self, kind: EntryKind, id: ContentId, raw: &[u8]) {
        self.members.push(Member { kind, id, length: raw.len() as u32 });
        self.raw.extend_from_slice(raw);
    }

    /// The entry of the block, and an empty builder.
    pub fn finish(&mut self, compressor: &mut Compressor) -> std::io::Result<(EntryHeader, Vec<u8>)> {
        let entry = self.entry(compressor)?;
        self.members.clear();
        self.raw.clear();
        Ok(entry)
    }

    /// The entry of the block so far.
    pub fn entry(&self, compressor: &mut Compressor) -> std::io::Result<(EntryHeader, Vec<u8>)> {
        let mut stored = encode_table(&self.members);
        let id = reference_to(&stored).id;
        stored.extend(compressor.frame(&self.raw)?);
        let header = EntryHeader {
            kind: EntryKind::Block,
            codec: Codec::Block,
            id,
            raw_length: self.raw.len() as u64,
            stored_length: stored.len() as u64,
            payload_crc: crc32c::crc32c(&stored),
        };
        Ok((header, stored))
    }
}

fn encode_table(members: &[Member]) -> Vec<u8> {
    let mut bytes = Vec::with_capacity(COUNT_LEN + ROW_LEN * members.len());
    bytes.extend((members.len() as u32).to_le_bytes());
    for member in members {
        bytes.push(member.kind as u8);
        bytes.extend(member.id.as_bytes());
        bytes.extend(member.length.to_le_bytes());
    }
    bytes
}

/// How long the table is that starts a payload, in bytes; as far as `start` and the limits let it be.
pub fn table_length(start: &[u8]) -> Option<usize> {
    let count = le_u32(start.get(..COUNT_LEN)?, 0) as usize;
    (1..=MAX_MEMBERS).contains(&count).then(|| encoded_table_length(count))
}

/// How long the table of so many members is, in bytes.
pub const fn encoded_table_length(members: usize) -> usize {
    COUNT_LEN + ROW_LEN * members
}

/// The first bytes of a payload from which [`table_length`] is told.
pub const TABLE_START: usize = COUNT_LEN;

/// The members that `table` lists, all of it and nothing more; its digest and the lengths are those of `header`.
pub fn decode_table(header: &EntryHeader, table: &[u8]) -> Result<Vec<Member>, EntryError> {
    let refused = |reason| EntryError::Block { reason };
    if reference_to(table).id != header.id {
        return Err(refused("its table is not the one that its header names"));
    }
    if table_length(table) != Some(table.len()) {
        return Err(refused("its table has a wrong length"));
    }
    let rows = table[COUNT_LEN..].chunks_exact(ROW_LEN);
    let members = rows.map(member).collect::<Option<Vec<_>>>().ok_or(refused("a member is out of range"))?;
    let sum: u64 = members.iter().map(|member| u64::from(member.length)).sum();
    if sum == header.raw_length { Ok(members) } else { Err(refused("its members have another length")) }
}

fn member(row: &[u8]) -> Option<Member> {
    let kinds = [EntryKind::Artifact, EntryKind::Record, EntryKind::Large];
    let kind = kinds.into_iter().find(|kind| *kind as u8 == row[0])?;
    let id = ContentId::new(row[1..33].try_into().ok()?);
    let length = le_u32(row, 33);
    (u64::from(length) <= MAX_PACKED_RAW).then_some(Member { kind, id, length })
}

/// A block whose checksum, table and lengths are right. What a member holds is verified when it is taken out.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Block {
    members: Vec<Member>,
    raw: Vec<u8>,
}

impl Block {
    /// Reads the payload of the entry with `header`.
    pub fn decode(header: &EntryHeader, stored: &[u8]) -> Result<Self, EntryError> {
        if crc32c::crc32c(stored) != header.payload_crc {
            return Err(EntryError::PayloadCrc);
        }
        let table = table_length(stored).and_then(|length| stored.split_at_checked(length));
        let (table, frame) = table.ok_or(EntryError::Block { reason: "its table is cut off" })?;
        let members = decode_table(header, table)?;
        let raw = decode_frame_up_to(frame, header.raw_length, MAX_BLOCK_RAW)?;
        Ok(Self { members, raw })
    }

    /// Every member with its bytes, or why these are not what the table says.
    pub fn members(&self) -> impl Iterator<Item = (Member, Result<&[u8], EntryError>)> {
        self.unverified().map(|(member, raw)| (member, verified(&member, raw)))
    }

    /// The bytes of the member `id`, if there is one.
    pub fn open(&self, id: &ContentId) -> Result<Option<&[u8]>, EntryError> {
        let found = self.unverified().find(|(member, _)| member.id == *id);
        found.map(|(member, raw)| verified(&member, raw)).transpose()
    }

    // The lengths add up to what there is, as was checked with the table.
    fn unverified(&self) -> impl Iterator<Item = (Member, &[u8])> {
        let mut at = 0;
        self.members.iter().map(move |member| {
            let start = at;
            at += member.length as usize;
            (*member, &self.raw[start..at])
        })
    }
}

fn verified<'a>(member: &Member, raw: &'a [u8]) -> Result<&'a [u8], EntryError> {
    let found = match member.kind {
        EntryKind::Large => large_id(raw)?,
        _ => reference_to(raw).id,
    };
    if found == member.id { Ok(raw) } else { Err(EntryError::WrongContent { found }) }
}

fn large_id(raw: &[u8]) -> Result<ContentId, EntryError> {
    let bytes = raw.try_into().map_err(|_| EntryError::NotAHeader)?;
    EntryHeader::decode(bytes, Place::Large).map(|header| header.id)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::entry::HEADER_LEN;

    const CONTENTS: [&[u8]; 4] = [b"", b"one", &[7; 5000], b"four"];

    fn block() -> (EntryHeader, Vec<u8>) {
        let mut builder = BlockBuilder::default();
        for content in CONTENTS {
            builder.add(EntryKind::Artifact, reference_to(content).id, content);
        }
        builder.finish(&mut Compressor::new().unwrap()).unwrap()
    }

    #[test]
    fn a_block_gives_back_its_members_one_by_one_and_all_together() {
        let (header, stored) = block();
        assert_eq!(EntryHeader::decode(&header.encode(), Place::Pack), Ok(header));
        let block = Block::decode(&header, &stored).unwrap();
        assert_eq!(block.members().map(|(_, raw)| raw.unwrap()).collect::<Vec<_>>(), CONTENTS);
        for content in CONTENTS {
            let opened = block.open(&reference_to(content).id);
            assert_eq!(opened, Ok(Some(content)));
        }
        assert_eq!(block.open(&ContentId::new([9; 32])), Ok(None));
    }

    #[test]
    fn no_flipped_bit_of_a_block_gives_other_bytes() {
        let (header, stored) = block();
        for bit in 0..stored.len() * 8 {
            let mut flipped = stored.clone();
            flipped[bit / 8] ^= 1 << (bit % 8);
            assert_eq!(Block::decode(&header, &flipped), Err(EntryError::PayloadCrc));
            // Also where somebody makes up the checksum.
            let sealed = EntryHeader { payload_crc: crc32c::crc32c(&flipped), ..header };
            let Ok(block) = Block::decode(&sealed, &flipped) else { continue };
            if let Ok(Some(raw)) = block.open(&reference_to(CONTENTS[2]).id) {
                assert_eq!(raw, CONTENTS[2], "bit {bit}");
            }
        }
    }

    #[test]
    fn a_table_of_more_members_or_bytes_than_a_block_may_have_is_refused_before_it_is_read() {
        assert_eq!(table_length(&0u32.to_le_bytes()), None);
        assert_eq!(table_length(&(MAX_MEMBERS as u32 + 1).to_le_bytes()), None);
        assert_eq!(table_length(b"123"), None);
        let (header, _) = block();
        let long = EntryHeader { raw_length: MAX_BLOCK_RAW + 1, ..header }.encode();
        assert!(EntryHeader::decode(&long, Place::Pack).is_err());
        let short = EntryHeader { stored_length: 3, ..header }.encode();
        assert!(EntryHeader::decode(&short, Place::Pack).is_err());
        assert_eq!(header.entry_length(), HEADER_LEN as u64 + header.stored_length);
    }

    #[test]
    fn a_reference_to_a_large_artifact_bears_the_name_of_that() {
        let id = ContentId::new([5; 32]);
        let large = EntryHeader {
            kind: EntryKind::Artifact,
            codec: Codec::Zstd,
            id,
            raw_length: MAX_PACKED_RAW,
            stored_length: 900,
            payload_crc: 1,
        };
        for (named, is_sound) in [(id, true), (ContentId::new([6; 32]), false)] {
            let mut builder = BlockBuilder::default();
            builder.add(EntryKind::Large, named, &large.encode());
            let (header, stored) = builder.finish(&mut Compressor::new().unwrap()).unwrap();
            assert_eq!(Block::decode(&header, &stored).unwrap().open(&named).is_ok(), is_sound);
        }
    }

    #[test]
    fn what_another_writer_may_put_into_a_table_is_refused() {
        let (header, stored) = block();
        let length = table_length(&stored).unwrap();
        for (at, value) in [(0, 5), (COUNT_LEN, 3), (COUNT_LEN, 4), (COUNT_LEN + 36, 1), (COUNT_LEN + 33, 1)] {
            let mut table = stored[..length].to_vec();
            table[at] = value;
            let header = EntryHeader { id: reference_to(&table).id, ..header };
            assert!(matches!(decode_table(&header, &table), Err(EntryError::Block { .. })), "byte {at}");
        }
    }
}
