//! Going through a pack entry by entry, by lengths, and on past whatever is damaged.

use crate::checksums::Checksums;
use crate::entry::{EntryHeader, HEADER_LEN, MAGIC, Place};
use crate::limits::MAX_ENTRIES;
use std::io;

/// Bytes that can be read at any place.
pub trait ReadAt {
    /// Reads up to `buffer.len()` bytes at `offset`; 0 at the end.
    fn read_at(&self, buffer: &mut [u8], offset: u64) -> io::Result<usize>;
}

impl ReadAt for [u8] {
    fn read_at(&self, buffer: &mut [u8], offset: u64) -> io::Result<usize> {
        let rest = usize::try_from(offset).ok().and_then(|at| self.get(at..)).unwrap_or_default();
        let length = rest.len().min(buffer.len());
        buffer[..length].copy_from_slice(&rest[..length]);
        Ok(length)
    }
}

impl ReadAt for std::fs::File {
    fn read_at(&self, buffer: &mut [u8], offset: u64) -> io::Result<usize> {
        std::os::unix::fs::FileExt::read_at(self, buffer, offset)
    }
}

impl<R: ReadAt + ?Sized> ReadAt for &R {
    fn read_at(&self, buffer: &mut [u8], offset: u64) -> io::Result<usize> {
        (**self).read_at(buffer, offset)
    }
}

impl<R: ReadAt + ?Sized> ReadAt for std::sync::Arc<R> {
    fn read_at(&self, buffer: &mut [u8], offset: u64) -> io::Result<usize> {
        (**self).read_at(buffer, offset)
    }
}

/// What a scan comes across.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Found {
    /// An entry whose header is sound and whose payload lies within the file; the payload was not looked at.
    Entry {
        /// Where its header starts.
        offset: u64,
        /// Its header.
        header: EntryHeader,
    },
    /// Bytes that are no entry, and not what a killed writer leaves at the end.
    Damage {
        /// Where they start.
        offset: u64,
        /// Where the next entry starts, or the file ends.
        end: u64,
    },
    /// The start of an entry that the end of the file cuts off: what a killed writer leaves.
    Torn {
        /// Where it starts.
        offset: u64,
    },
}

const WINDOW: usize = 4096;
const SEARCH_WINDOW: usize = 64 * 1024;

/// Goes through the entries between two offsets of a file, in a time in proportion to its length, whatever it reads. Takes the
/// same memory as long as nothing is damaged; past damage, 4 bytes for each KiB that it searches.
#[derive(Debug)]
pub struct Scanner<'a, R: ?Sized> {
    bytes: &'a R,
    at: u64,
    end: u64,
    /// How much more is gone through one by one.
    left: u64,
    window: Vec<u8>,
    window_at: u64,
    search: Vec<u8>,
    search_at: u64,
    /// Of what follows the first damage, or a later one.
    checksums: Option<Checksums>,
}

impl<'a, R: ReadAt + ?Sized> Scanner<'a, R> {
    /// Scans from `start`, where an entry starts, to `end`, however many entries there are.
    pub fn new(bytes: &'a R, start: u64, end: u64) -> Self {
        let (window, search) = (Vec::new(), Vec::new());
        let (window_at, search_at) = (start, start);
        Self { bytes, at: start, end, left: u64::MAX, window, window_at, search, search_at, checksums: None }
    }

    /// The same in a pack, of which no more than [`MAX_ENTRIES`] are gone through: what follows them is damage.
    pub fn of_pack(bytes: &'a R, start: u64, end: u64) -> Self {
        Self { left: MAX_ENTRIES, ..Self::new(bytes, start, end) }
    }

    /// Counts so many entries that were met otherwise, as in a block.
    pub fn count(&mut self, entries: u64) {
        self.left = self.left.saturating_sub(entries);
    }

    /// The next thing, or `None` at the end.
    pub fn find_next(&mut self) -> io::Result<Option<Found>> {
        if self.at >= self.end {
            return Ok(None);
        }
        let offset = self.at;
        let Some(left) = self.left.checked_sub(1) else {
            self.at = self.end;
            return Ok(Some(Found::Damage { offset, end: self.end }));
        };
        self.left = left;
        if self.end - offset < HEADER_LEN as u64 {
            return self.end_short(offset).map(Some);
        }
        match EntryHeader::decode(&self.header_at(offset)?, Place::Pack) {
            Ok(header) if header.entry_length() <= self.end - offset => {
                self.at = offset + header.entry_length();
                Ok(Some(Found::Entry { offset, header }))
            }
            Ok(_) => {
                self.at = self.end;
                Ok(Some(Found::Torn { offset }))
            }
            Err(_) => self.resynchronise(offset).map(Some),
        }
    }

    // Less than a header is left: the start of one is torn, anything else is damage.
    fn end_short(&mut self, offset: u64) -> io::Result<Found> {
        let mut start = [0; MAGIC.len()];
        let length = (self.end - offset).min(start.len() as u64) as usize;
        read_exact_at(self.bytes, &mut start[..length], offset)?;
        let end = self.end;
        self.at = end;
        let is_torn = start[..length] == MAGIC[..length];
        Ok(if is_torn { Found::Torn { offset } } else { Found::Damage { offset, end } })
    }

    // Content may hold bytes that look like a header, so after damage only an entry with a right payload counts: such
    // a one cannot reach beyond the content that imitates it.
    fn resynchronise(&mut self, damaged: u64) -> io::Result<Found> {
        if self.checksums.as_ref().is_none_or(|known| damaged > known.end()) {
            self.checksums = Some(Checksums::from(damaged));
        }
        let mut candidate = damaged + 1;
        loop {
            candidate = self.find_magic(candidate)?.unwrap_or(self.end);
            if candidate >= self.end || self.is_whole_entry(candidate)? {
                self.at = candidate;
                return Ok(Found::Damage { offset: damaged, end: candidate });
            }
            candidate += 1;
        }
    }

    fn is_whole_entry(&mut self, offset: u64) -> io::Result<bool> {
        if self.end - offset < HEADER_LEN as u64 {
            return Ok(false);
        }
        match EntryHeader::decode(&self.header_at(offset)?, Place::Pack) {
            Ok(header) if header.entry_length() <= self.end - offset => self.has_payload(offset, &header),
            _ => Ok(false),
        }
    }

    // Thousands of candidates may say that the same mebibyte is their payload.
    fn has_payload(&mut self, offset: u64, header: &EntryHeader) -> io::Result<bool> {
        let payload = offset + HEADER_LEN as u64..offset + header.entry_length();
        let bytes = self.bytes;
        let checksums = self.checksums.get_or_insert_with(|| Checksums::from(offset));
        Ok(checksums.of(bytes, payload)? == header.payload_crc)
    }

    fn find_magic(&mut self, from: u64) -> io::Result<Option<u64>> {
        let mut at = from;
        while at + MAGIC.len() as u64 <= self.end {
            let searched = self.searched_from(at)?;
            if let Some(found) = searched.windows(MAGIC.len()).position(|window| window == MAGIC) {
                return Ok(Some(at + found as u64));
            }
            // The last bytes may be the start of a magic that goes on in the next window.
            at += (searched.len() - (MAGIC.len() - 1)) as u64;
        }
        Ok(None)
    }

    /// At least as many bytes from `at` on as a magic has, which are there.
    fn searched_from(&mut self, at: u64) -> io::Result<&[u8]> {
        let known = at.checked_sub(self.search_at).and_then(|skip| self.search.len().checked_sub(skip as usize));
        if known.is_none_or(|known| known < MAGIC.len()) {
            let length = (self.end - at).min(SEARCH_WINDOW as u64) as usize;
            self.search.resize(length, 0);
            self.search_at = at;
            read_exact_at(self.bytes, &mut self.search, at)?;
        }
        Ok(&self.search[(at - self.search_at) as usize..])
    }

    fn header_at(&mut self, offset: u64) -> io::Result<[u8; HEADER_LEN]> {
        if let Some(header) = self.windowed(offset) {
            return Ok(header);
        }
        let length = (self.end - offset).min(WINDOW as u64) as usize;
        self.window.resize(length, 0);
        self.window_at = offset;
        read_exact_at(self.bytes, &mut self.window, offset)?;
        let short = || io::Error::from(io::ErrorKind::UnexpectedEof);
        self.windowed(offset).ok_or_else(short)
    }

    fn windowed(&self, offset: u64) -> Option<[u8; HEADER_LEN]> {
        let at = usize::try_from(offset.checked_sub(self.window_at)?).ok()?;
        self.window.get(at..at.checked_add(HEADER_LEN)?)?.try_into().ok()
    }
}

/// Fills `buffer` from `offset` on; an end before that is an error.
pub fn read_exact_at<R: ReadAt + ?Sized>(bytes: &R, mut buffer: &mut [u8], mut offset: u64) -> io::Result<()> {
    while !buffer.is_empty() {
        match bytes.read_at(buffer, offset) {
            Ok(0) => return Err(io::ErrorKind::UnexpectedEof.into()),
            Ok(length) => {
                buffer = &mut buffer[length..];
                offset += length as u64;
            }
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(error) => return Err(error),
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::entry::EntryKind;
    use crate::frame::Compressor;

    fn pack(contents: &[&[u8]]) -> (Vec<u8>, Vec<u64>) {
        let mut compressor = Compressor::new().unwrap();
        let (mut bytes, mut offsets) = (Vec::new(), Vec::new());
        for content in contents {
            let (header, stored) = compressor.entry(EntryKind::Artifact, content).unwrap();
            offsets.push(bytes.len() as u64);
            bytes.extend(header.encode());
            bytes.extend(stored);
        }
        offsets.push(bytes.len() as u64);
        (bytes, offsets)
    }

    fn scan(bytes: &[u8]) -> Vec<Found> {
        let mut scanner = Scanner::new(bytes, 0, bytes.len() as u64);
        std::iter::from_fn(|| scanner.find_next().unwrap()).collect()
    }

    fn entries(found: &[Found]) -> Vec<u64> {
        found.iter().filter_map(|f| if let Found::Entry { offset, .. } = f { Some(*offset) } else { None }).collect()
    }

    #[test]
    fn a_damaged_header_costs_its_own_entry_and_no_other() {
        let (bytes, offsets) = pack(&[b"one", &[b'x'; 70_000], b"three"]);
        for entry in 0..3 {
            for bit in 0..HEADER_LEN * 8 {
                let mut flipped = bytes.clone();
                flipped[offsets[entry] as usize + bit / 8] ^= 1 << (bit % 8);
                let expected: Vec<_> = (0..3).filter(|n| *n != entry).map(|n| offsets[n]).collect();
                assert_eq!(entries(&scan(&flipped)), expected);
            }
        }
    }

    /// Bytes that count how many of them were read.
    struct Counted<'a>(&'a [u8], std::cell::Cell<u64>);

    impl ReadAt for Counted<'_> {
        fn read_at(&self, buffer: &mut [u8], offset: u64) -> io::Result<usize> {
            self.1.set(self.1.get() + buffer.len() as u64);
            self.0.read_at(buffer, offset)
        }
    }

    fn header_of(payload: &[u8], stored_length: u64, payload_crc: u32) -> EntryHeader {
        let header = EntryHeader::raw(EntryKind::Artifact, payload);
        EntryHeader { raw_length: stored_length, stored_length, payload_crc, ..header }
    }

    #[test]
    fn content_that_is_full_of_headers_takes_a_time_in_proportion_to_its_length() {
        let fake = header_of(b"", 1 << 20, 1).encode();
        let mut bytes = vec![0; HEADER_LEN];
        (0..2 << 14).for_each(|_| bytes.extend(fake));
        let (after, _) = pack(&[b"after"]);
        let end = bytes.len() as u64;
        bytes.extend(after);
        let counted = Counted(&bytes, Default::default());
        let mut scanner = Scanner::new(&counted, 0, bytes.len() as u64);
        assert_eq!(scanner.find_next().unwrap(), Some(Found::Damage { offset: 0, end }));
        assert!(matches!(scanner.find_next().unwrap(), Some(Found::Entry { offset, .. }) if offset == end));
        let times = counted.1.get() / bytes.len() as u64;
        assert!(times < 32, "each byte was read {times} times");
    }

    #[test]
    fn damage_after_damage_takes_a_time_in_proportion_to_its_length() {
        let (mut bytes, sound) = (Vec::new(), header_of(b"", 0, 0).encode());
        let fake = header_of(b"", 1 << 20, 1).encode();
        (0..1 << 14).for_each(|_| bytes.extend([&[0][..], &fake, &sound].concat()));
        bytes.extend(vec![0; 1 << 20]);
        let counted = Counted(&bytes, Default::default());
        let mut scanner = Scanner::new(&counted, 0, bytes.len() as u64);
        let found: Vec<_> = std::iter::from_fn(|| scanner.find_next().unwrap()).collect();
        assert_eq!(entries(&found).len(), 1 << 14);
        let times = counted.1.get() / bytes.len() as u64;
        assert!(times < 64, "each byte was read {times} times");
    }

    #[test]
    fn what_follows_the_most_entries_that_a_pack_may_have_is_damage() {
        let bytes = header_of(b"", 0, 0).encode().repeat(MAX_ENTRIES as usize + 2);
        let length = bytes.len() as u64;
        let mut scanner = Scanner::of_pack(bytes.as_slice(), 0, length);
        let found: Vec<_> = std::iter::from_fn(|| scanner.find_next().unwrap()).collect();
        let damage = Found::Damage { offset: MAX_ENTRIES * HEADER_LEN as u64, end: length };
        assert_eq!((found.len() as u64, found.last()), (MAX_ENTRIES + 1, Some(&damage)));
        let mut scanner = Scanner::new(bytes.as_slice(), 0, length);
        let found = std::iter::from_fn(|| scanner.find_next().unwrap());
        assert_eq!(found.count() as u64, MAX_ENTRIES + 2);
    }

    #[test]
    fn an_end_that_cuts_an_entry_off_is_told_from_damage() {
        let (bytes, offsets) = pack(&[b"one", b"two"]);
        for length in offsets[1] + 1..offsets[2] {
            let found = scan(&bytes[..length as usize]);
            assert_eq!(found.last(), Some(&Found::Torn { offset: offsets[1] }));
            assert_eq!(entries(&found), [0]);
        }
        let garbage = [&bytes, &[0u8; 100][..]].concat();
        assert_eq!(scan(&garbage).last(), Some(&Found::Damage { offset: offsets[2], end: offsets[2] + 100 }));
    }

    #[test]
    fn content_that_imitates_an_entry_cannot_hide_what_follows_it() {
        let (inner, _) = pack(&[&(0..=255).collect::<Vec<u8>>()]);
        let mut imitation = inner[..HEADER_LEN].to_vec();
        imitation.extend([0; 100]);
        let (mut bytes, offsets) = pack(&[&imitation, b"after"]);
        assert!(bytes.windows(4).filter(|w| *w == MAGIC).count() == 3, "the content must be stored as it is");
        bytes[8] ^= 1;
        assert_eq!(entries(&scan(&bytes)), [offsets[1]]);
    }
}
