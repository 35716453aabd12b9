//! What packs and stores consist of. Checksums are repaired first: a fuzzer does not find them, an attacker writes them.

use isobox_store_format::commit::{Commit, TRAILER_LEN, payload_length};
use isobox_store_format::dictionary::{Dictionary, find_dictionary};
use isobox_store_format::entry::{EntryHeader, HEADER_LEN, MAGIC, Place};
use isobox_store_format::format_file::{FORMAT_LEN, FormatFile};
use isobox_store_format::frame::{decode_frame, decode_payload_with, first_frame};
use isobox_store_format::limits::MAX_DICTIONARY;
use isobox_store_format::object::reference_to;
use isobox_store_format::scan::{Found, Scanner};

pub(crate) fn entry(bytes: &[u8]) {
    let Some((header, payload)) = bytes.split_first_chunk() else { return };
    for place in [Place::Pack, Place::Large] {
        check_header(header, place);
        check_header(&repaired(header), place);
    }
    if let Ok(header) = EntryHeader::decode(&repaired(header), Place::Pack) {
        check_payload(&header, payload);
        let payload_crc = crc32c::crc32c(payload);
        check_payload(&EntryHeader { payload_crc, stored_length: payload.len() as u64, ..header }, payload);
    }
    if let Some((length, raw_length)) = first_frame(payload) {
        let frame = &payload[..length];
        if let Ok(raw) = decode_frame(frame, raw_length) {
            assert_eq!(raw.len() as u64, raw_length);
        }
    }
}

fn repaired(header: &[u8; HEADER_LEN]) -> [u8; HEADER_LEN] {
    let mut repaired = *header;
    repaired[..MAGIC.len()].copy_from_slice(&MAGIC);
    let crc = crc32c::crc32c(&repaired[..HEADER_LEN - 4]);
    repaired[HEADER_LEN - 4..].copy_from_slice(&crc.to_le_bytes());
    repaired
}

fn check_header(bytes: &[u8; HEADER_LEN], place: Place) {
    if let Ok(header) = EntryHeader::decode(bytes, place) {
        assert_eq!(&header.encode(), bytes);
    }
}

fn check_payload(header: &EntryHeader, payload: &[u8]) {
    let dictionary = Dictionary::like(payload);
    for dictionary in [None, Some(&dictionary)] {
        if let Ok(raw) = decode_payload_with(header, payload.to_vec(), dictionary) {
            let found = reference_to(&raw);
            assert_eq!((found.id, found.length), (header.id, header.raw_length));
        }
    }
    if let Ok(dictionary) = Dictionary::decode(header, payload.to_vec()) {
        assert_eq!(Dictionary::like(dictionary.bytes()), dictionary);
    }
}

pub(crate) fn commit(bytes: &[u8]) {
    if let Ok(commit) = Commit::decode(bytes) {
        assert_eq!(commit.encode().expect("what was read can be written"), bytes);
        let trailer: &[u8; TRAILER_LEN] = bytes.last_chunk().expect("a trailer");
        assert_eq!(payload_length(trailer), Some(bytes.len() as u64));
    }
}

pub(crate) fn format_file(bytes: &[u8]) {
    check_format(bytes);
    let mut repaired = bytes.to_vec();
    repaired.resize(FORMAT_LEN, 0);
    for copy in repaired.chunks_exact_mut(FORMAT_LEN / 2) {
        let (body, crc) = copy.split_last_chunk_mut::<4>().expect("a checksum");
        *crc = crc32c::crc32c(body).to_le_bytes();
    }
    check_format(&repaired);
}

// Only one of the two copies has to be sound, so the bytes themselves need not come back.
fn check_format(bytes: &[u8]) {
    if let Ok(file) = FormatFile::decode(bytes) {
        let again = file.encode().expect("what was read can be written");
        assert_eq!(FormatFile::decode(&again), Ok(file));
        assert!(bytes.chunks_exact(FORMAT_LEN / 2).any(|copy| again.starts_with(copy)));
    }
}

pub(crate) fn pack(bytes: &[u8]) {
    check_scan(bytes);
    let mut with_headers = bytes.to_vec();
    repair_headers(&mut with_headers);
    check_scan(&with_headers);
    let dictionary = find_dictionary(with_headers.as_slice(), with_headers.len() as u64).expect("memory can be read");
    assert!(dictionary.is_none_or(|dictionary| dictionary.bytes().len() as u64 <= MAX_DICTIONARY));
}

/// Gives every header in a pack the checksum that it should have, and mostly its payload's as well.
fn repair_headers(pack: &mut [u8]) {
    let mut at = 0;
    while let Some(found) = pack[at..].windows(MAGIC.len()).position(|window| window == MAGIC) {
        at += found;
        let Some((header, rest)) = pack[at..].split_first_chunk_mut::<HEADER_LEN>() else { return };
        *header = repaired(header);
        if let Ok(read) = EntryHeader::decode(header, Place::Pack)
            && let Some(payload) = usize::try_from(read.stored_length).ok().and_then(|length| rest.get(..length))
            && read.payload_crc & 7 != 0
        {
            *header = EntryHeader { payload_crc: crc32c::crc32c(payload), ..read }.encode();
        }
        at += HEADER_LEN;
    }
}

// A scan covers its bytes without gap or overlap and ends.
fn check_scan(bytes: &[u8]) {
    let mut scanner = Scanner::new(bytes, 0, bytes.len() as u64);
    let mut at = 0;
    while let Some(found) = scanner.find_next().expect("memory can be read") {
        let (start, end) = match found {
            Found::Entry { offset, header } => (offset, offset + header.entry_length()),
            Found::Damage { offset, end } => (offset, end),
            Found::Torn { offset } => (offset, bytes.len() as u64),
        };
        assert_eq!(start, at);
        assert!(end > start);
        at = end;
    }
    assert_eq!(at, bytes.len() as u64);
}
