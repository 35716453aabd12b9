//! Going through a pack entry by entry, by lengths, and on past whatever is damaged.

use crate::entry::{EntryHeader, HEADER_LEN, MAGIC, Place};
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

/// Goes through the entries between two offsets of a file. Takes the same memory whatever it reads.
#[derive(Debug)]
pub struct Scanner<'a, R: ?Sized> {
    bytes: &'a R,
    at: u64,
    end: u64,
    window: Vec<u8>,
    window_at: u64,
}

impl<'a, R: ReadAt + ?Sized> Scanner<'a, R> {
    /// Scans from `start`, where an entry starts, to `end`.
    pub fn new(bytes: &'a R, start: u64, end: u64) -> Self {
        Self { bytes, at: start, end, window: Vec::new(), window_at: start }
    }

    /// The next thing, or `None` at the end.
    pub fn find_next(&mut self) -> io::Result<Option<Found>> {
        if self.at >= self.end {
            return Ok(None);
        }
        let offset = self.at;
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

    fn has_payload(&self, offset: u64, header: &EntryHeader) -> io::Result<bool> {
        let mut at = offset + HEADER_LEN as u64;
        let end = offset + header.entry_length();
        let mut buffer = search_buffer(end - at);
        let mut crc = 0;
        while at < end {
            let length = (end - at).min(SEARCH_WINDOW as u64) as usize;
            read_exact_at(self.bytes, &mut buffer[..length], at)?;
            crc = crc32c::crc32c_append(crc, &buffer[..length]);
            at += length as u64;
        }
        Ok(crc == header.payload_crc)
    }

    fn find_magic(&self, from: u64) -> io::Result<Option<u64>> {
        let mut buffer = search_buffer(self.end.saturating_sub(from));
        let mut at = from;
        while at + MAGIC.len() as u64 <= self.end {
            let length = (self.end - at).min(SEARCH_WINDOW as u64) as usize;
            read_exact_at(self.bytes, &mut buffer[..length], at)?;
            if let Some(found) = buffer[..length].windows(MAGIC.len()).position(|window| window == MAGIC) {
                return Ok(Some(at + found as u64));
            }
            // The last bytes may be the start of a magic that goes on in the next window.
            at += (length - (MAGIC.len() - 1)) as u64;
        }
        Ok(None)
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

/// To go through so many bytes window by window: content may hold thousands of candidates, most of them short.
fn search_buffer(length: u64) -> Vec<u8> {
    // At most `SEARCH_WINDOW`.
    vec![0; length.min(SEARCH_WINDOW as u64) as usize]
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
