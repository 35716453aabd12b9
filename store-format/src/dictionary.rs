//! Dictionaries: what a pack may begin with, so that records which say much the same take little room each.

use crate::entry::{EntryError, EntryHeader, EntryKind, HEADER_LEN, Place};
use crate::frame::{Compressor, decode_payload};
use crate::limits::{DICTIONARY_REACH, MAX_DICTIONARY};
use crate::object::reference_to;
use crate::scan::{Found, ReadAt, Scanner, read_exact_at};
use isobox_domain::content::ContentId;
use std::io;
use std::sync::Arc;

/// What dictionaries that zstd makes start with: RFC 8878, section 5.
const ZSTD_DICTIONARY: [u8; 4] = [0x37, 0xa4, 0x30, 0xec];

/// What the frames of records in one pack refer to: bytes that are much like theirs.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Dictionary {
    id: ContentId,
    bytes: Vec<u8>,
}

impl Dictionary {
    /// One that suits what is like `sample`: as much of it as a dictionary may have.
    pub fn like(sample: &[u8]) -> Self {
        let bytes = sample[..sample.len().min(MAX_DICTIONARY as usize)].to_vec();
        Self { id: reference_to(&bytes).id, bytes }
    }

    /// Its bytes.
    pub fn bytes(&self) -> &[u8] {
        &self.bytes
    }

    /// The BLAKE3 of its bytes.
    pub fn id(&self) -> &ContentId {
        &self.id
    }

    /// What a pack begins with: the same entry twice, so that one damaged bit costs no record.
    pub fn entries(&self, compressor: &mut Compressor) -> io::Result<[(EntryHeader, Vec<u8>); 2]> {
        let entry = compressor.entry(EntryKind::Dictionary, &self.bytes)?;
        Ok([entry.clone(), entry])
    }

    /// Reads the payload of the entry with `header`.
    pub fn decode(header: &EntryHeader, stored: Vec<u8>) -> Result<Self, EntryError> {
        if header.kind != EntryKind::Dictionary {
            return Err(EntryError::Frame { reason: "it is no dictionary" });
        }
        let bytes = decode_payload(header, stored)?;
        // zstd would not take it as it is, but as one of its own make.
        if bytes.starts_with(&ZSTD_DICTIONARY) {
            return Err(EntryError::Frame { reason: "it is a dictionary of another kind" });
        }
        Ok(Self { id: header.id, bytes })
    }
}

/// The dictionary of a pack of `length` bytes: the first sound one that it begins with, if it does.
pub fn find_dictionary<R: ReadAt + ?Sized>(pack: &R, length: u64) -> io::Result<Option<Dictionary>> {
    let mut scanner = Scanner::new(pack, 0, length.min(DICTIONARY_REACH));
    while let Some(found) = scanner.find_next()? {
        match found {
            Found::Entry { offset, header } if header.kind == EntryKind::Dictionary => {
                // Within `DICTIONARY_REACH`, where the scan ends.
                let mut stored = vec![0; header.stored_length as usize];
                read_exact_at(pack, &mut stored, offset + HEADER_LEN as u64)?;
                if let Ok(dictionary) = Dictionary::decode(&header, stored) {
                    return Ok(Some(dictionary));
                }
            }
            Found::Damage { .. } => {}
            Found::Entry { .. } | Found::Torn { .. } => break,
        }
    }
    Ok(None)
}

/// The first entry of a pack, where that is a sound dictionary: who meets the same bytes once more need not read what they say.
#[derive(Clone, Debug)]
pub struct Beginning {
    bytes: Vec<u8>,
    dictionary: Arc<Dictionary>,
}

impl Beginning {
    /// What a pack of `length` bytes begins with; `None` where it has no dictionary, or its first copy is damaged.
    pub fn read<R: ReadAt + ?Sized>(pack: &R, length: u64) -> io::Result<Option<Self>> {
        let mut first = [0; HEADER_LEN];
        if length < HEADER_LEN as u64 {
            return Ok(None);
        }
        read_exact_at(pack, &mut first, 0)?;
        let header = EntryHeader::decode(&first, Place::Pack).ok();
        let is_dictionary = |header: &EntryHeader| header.kind == EntryKind::Dictionary;
        let Some(header) = header.filter(|header| is_dictionary(header) && header.entry_length() <= length) else {
            return Ok(None);
        };
        let mut bytes = first.to_vec();
        // No longer than its kind allows, which the header was checked for.
        bytes.resize(header.entry_length() as usize, 0);
        read_exact_at(pack, &mut bytes[HEADER_LEN..], HEADER_LEN as u64)?;
        let decoded = Dictionary::decode(&header, bytes[HEADER_LEN..].to_vec());
        Ok(decoded.ok().map(|dictionary| Self { bytes, dictionary: Arc::new(dictionary) }))
    }

    /// Whether a pack of `length` bytes begins with the same bytes.
    pub fn is_of<R: ReadAt + ?Sized>(&self, pack: &R, length: u64) -> io::Result<bool> {
        if length < self.bytes.len() as u64 {
            return Ok(false);
        }
        let mut found = vec![0; self.bytes.len()];
        read_exact_at(pack, &mut found, 0)?;
        Ok(found == self.bytes)
    }

    /// The dictionary.
    pub fn dictionary(&self) -> &Arc<Dictionary> {
        &self.dictionary
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::entry::Codec;
    use crate::frame::decode_payload_with;

    fn record(n: u8) -> Vec<u8> {
        let names = ["outcome", "command", "policy", "workspace"].map(|name| format!("{name} of a record; "));
        [names.concat().as_bytes(), &blake3::hash(&[n]).as_bytes()[..]].concat()
    }

    fn pack() -> (Vec<u8>, EntryHeader, Vec<u8>) {
        let mut compressor = Compressor::new().unwrap();
        let dictionary = Dictionary::like(&record(0));
        let raw = record(1);
        let entry = compressor.entry_with(EntryKind::Record, &raw, &reference_to(&raw), Some(&dictionary)).unwrap();
        let mut entries = dictionary.entries(&mut compressor).unwrap().to_vec();
        entries.push(entry.clone());
        let bytes = entries.iter().flat_map(|(header, stored)| [header.encode().as_slice(), stored].concat());
        (bytes.collect(), entry.0, entry.1)
    }

    #[test]
    fn a_record_takes_less_room_with_the_dictionary_of_its_pack_and_is_read_only_with_that() {
        let (_, header, stored) = pack();
        assert_eq!((header.codec, EntryHeader::decode(&header.encode(), Place::Pack)), (Codec::Dictionary, Ok(header)));
        assert!(stored.len() < 70, "{} bytes", stored.len());
        let dictionary = Dictionary::like(&record(0));
        assert_eq!(decode_payload_with(&header, stored.clone(), Some(&dictionary)), Ok(record(1)));
        assert!(decode_payload_with(&header, stored.clone(), None).is_err());
        assert!(decode_payload_with(&header, stored, Some(&Dictionary::like(&record(2)[1..]))).is_err());
    }

    #[test]
    fn no_flipped_bit_costs_a_pack_its_dictionary() {
        let (bytes, header, _) = pack();
        let end = bytes.len() - header.entry_length() as usize;
        let found = |bytes: &[u8]| find_dictionary(bytes, bytes.len() as u64).unwrap();
        assert_eq!(found(&bytes), Some(Dictionary::like(&record(0))));
        for bit in 0..end * 8 {
            let mut flipped = bytes.clone();
            flipped[bit / 8] ^= 1 << (bit % 8);
            assert_eq!(found(&flipped), Some(Dictionary::like(&record(0))), "bit {bit}");
        }
        assert_eq!(found(&bytes[end..]), None);
    }

    #[test]
    fn a_pack_is_known_by_its_beginning_only_while_all_of_that_is_the_same() {
        let (bytes, ..) = pack();
        let length = bytes.len() as u64;
        let beginning = Beginning::read(bytes.as_slice(), length).unwrap().expect("it begins so");
        assert_eq!(**beginning.dictionary(), Dictionary::like(&record(0)));
        assert!(beginning.is_of(bytes.as_slice(), length).unwrap());
        let first = beginning.bytes.len();
        assert!(!beginning.is_of(bytes.as_slice(), first as u64 - 1).unwrap());
        for bit in 0..first * 8 {
            let mut flipped = bytes.clone();
            flipped[bit / 8] ^= 1 << (bit % 8);
            assert!(!beginning.is_of(flipped.as_slice(), length).unwrap(), "bit {bit}");
            assert!(Beginning::read(flipped.as_slice(), length).unwrap().is_none(), "bit {bit}");
        }
    }

    #[test]
    fn a_dictionary_that_zstd_would_read_in_another_way_is_refused() {
        let (header, stored) = Compressor::new().unwrap().entry(EntryKind::Dictionary, &ZSTD_DICTIONARY).unwrap();
        assert!(Dictionary::decode(&header, stored).is_err());
    }

    #[test]
    fn a_dictionary_takes_up_the_beginning_of_what_is_long() {
        let long = vec![7; 1 << 20];
        assert_eq!(Dictionary::like(&long).bytes().len() as u64, MAX_DICTIONARY);
        let (header, _) = Compressor::new().unwrap().entry(EntryKind::Dictionary, &long).unwrap();
        assert!(EntryHeader::decode(&header.encode(), Place::Pack).is_err());
    }
}
