//! Dictionaries: what a pack may begin with, so that records which say much the same take little room each.

use crate::entry::{EntryError, EntryHeader, EntryKind, HEADER_LEN};
use crate::frame::{Compressor, decode_payload};
use crate::limits::{DICTIONARY_REACH, MAX_DICTIONARY};
use crate::object::reference_to;
use crate::scan::{Found, ReadAt, Scanner, read_exact_at};
use isobox_domain::content::ContentId;
use std::io;

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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::entry::{Codec, Place};
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
