//! Blocks: what compaction makes of many objects. Digests, lengths and checksums are repaired, as an attacker would.

use super::compressing::compressed;
use super::script::Script;
use isobox_domain::content::ContentId;
use isobox_store_format::block::{Block, BlockBuilder, Member, decode_table, table_length};
use isobox_store_format::entry::{Codec, EntryHeader, EntryKind, HEADER_LEN, Place};
use isobox_store_format::limits::{LARGE_FROM, MAX_MEMBERS};
use isobox_store_format::object::reference_to;

const COUNT_LEN: usize = 4;
const ROW_LEN: usize = 37;
/// More raw bytes than a block may have.
const MUCH: usize = 5 << 20;

pub(crate) fn block(bytes: &[u8]) {
    let members = table_length(bytes).and_then(|length| bytes.get(COUNT_LEN..length)).unwrap_or_default();
    let lengths = members.chunks_exact(ROW_LEN).filter_map(|row| row.last_chunk().copied().map(u32::from_le_bytes));
    check(bytes, lengths.map(u64::from).sum());
    let (stored, raw_length) = made_up(&mut Script::new(bytes));
    check(&stored, raw_length);
}

fn check(stored: &[u8], raw_length: u64) {
    let table = &stored[..table_length(stored).unwrap_or_default().min(stored.len())];
    let header = EntryHeader {
        kind: EntryKind::Block,
        codec: Codec::Block,
        id: reference_to(table).id,
        raw_length,
        stored_length: stored.len() as u64,
        payload_crc: crc32c::crc32c(stored),
    };
    // Nothing reads a block whose header is refused.
    if EntryHeader::decode(&header.encode(), Place::Pack) != Ok(header) {
        return;
    }
    let Ok(block) = Block::decode(&header, stored) else { return };
    let members = decode_table(&header, table).expect("it was read with the block");
    let read: Vec<_> = block.members().collect();
    assert_eq!(read.iter().map(|(member, _)| *member).collect::<Vec<_>>(), members);
    for (member, raw) in read.iter().take(64) {
        let first = read.iter().find(|(other, _)| other.id == member.id).expect("itself at least");
        assert_eq!(block.open(&member.id), first.1.map(Some));
        if let Ok(raw) = raw {
            check_member(member, raw);
        }
    }
    // With the right bytes or wrong ones, it is made again of what was read.
    if read.iter().all(|(_, raw)| raw.is_ok()) {
        check_made_again(&header, table, &block);
    }
}

fn check_member(member: &Member, raw: &[u8]) {
    assert_eq!(raw.len(), member.length as usize);
    match member.kind {
        EntryKind::Large => {
            let large = EntryHeader::decode(raw.try_into().expect("a header"), Place::Large);
            assert_eq!(large.map(|large| large.id), Ok(member.id));
        }
        _ => assert_eq!(reference_to(raw).id, member.id),
    }
}

fn check_made_again(header: &EntryHeader, table: &[u8], block: &Block) {
    let mut builder = BlockBuilder::default();
    for (member, raw) in block.members() {
        let raw = raw.expect("checked before");
        assert!(builder.has_room(raw.len()), "what is read is within the limits");
        builder.add(member.kind, member.id, raw);
    }
    let (again, stored) = compressed(|compressor| builder.finish(compressor));
    assert_eq!((again.id, again.raw_length), (header.id, header.raw_length));
    assert!(stored.starts_with(table), "the table re-encodes to itself");
    assert_eq!(Block::decode(&again, &stored).as_ref(), Ok(block));
}

/// A payload, and the raw length that its header is to have.
fn made_up(script: &mut Script<'_>) -> (Vec<u8>, u64) {
    let (mut members, mut raw) = (Vec::new(), Vec::new());
    let times = if script.flag() { script.short() % (MAX_MEMBERS + 2) } else { 1 };
    for _ in 0..script.byte() % 16 {
        let (row, content) = member(script);
        if raw.len() + content.len() <= MUCH {
            members.extend(row);
            raw.extend(content);
        }
    }
    if members.len() == ROW_LEN && raw.len() * times <= MUCH {
        (members, raw) = (members.repeat(times), raw.repeat(times));
    }
    let count = (members.len() / ROW_LEN) as u32;
    let mut table = [&count.wrapping_add_signed(script.slip()).to_le_bytes()[..], &members].concat();
    script.edit(&mut table);
    let unnamed = usize::from(script.byte()).saturating_sub(0xf8);
    raw.extend(script.take(unnamed));
    let mut frame = compressed(|compressor| compressor.frame(&raw));
    script.edit(&mut frame);
    let behind = usize::from(script.byte() % 4);
    frame.extend(script.take(behind));
    let raw_length = (raw.len() as u64).wrapping_add_signed(script.slip().into());
    ([table, frame].concat(), raw_length)
}

fn member(script: &mut Script<'_>) -> ([u8; ROW_LEN], Vec<u8>) {
    let content = match script.byte() % 8 {
        0 => vec![script.byte(); script.short() << (script.byte() % 8)],
        1 => large(script).encode().to_vec(),
        length => script.take(usize::from(length) * 8).to_vec(),
    };
    let is_large = content.first_chunk::<HEADER_LEN>().and_then(|bytes| EntryHeader::decode(bytes, Place::Large).ok());
    let id = is_large.map_or(reference_to(&content).id, |large| large.id);
    let kind = match script.byte() % 8 {
        0 => script.byte(),
        _ if is_large.is_some() => EntryKind::Large as u8,
        even if even % 2 == 0 => EntryKind::Artifact as u8,
        _ => EntryKind::Record as u8,
    };
    let length = (content.len() as u32).wrapping_add_signed(script.slip());
    let mut row = [0; ROW_LEN];
    row[0] = kind;
    row[1..33].copy_from_slice(id.as_bytes());
    row[33..].copy_from_slice(&length.to_le_bytes());
    (row, content)
}

fn large(script: &mut Script<'_>) -> EntryHeader {
    EntryHeader {
        kind: EntryKind::Artifact,
        codec: Codec::Zstd,
        id: ContentId::new([script.byte(); 32]),
        raw_length: LARGE_FROM + script.short() as u64,
        stored_length: script.short() as u64,
        payload_crc: 7,
    }
}
