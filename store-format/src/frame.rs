//! zstd frames as isobox writes them, and the only ones it reads: one frame, content size and checksum, and no dictionary but
//! that of a pack.

use crate::dictionary::Dictionary;
use crate::entry::{Codec, EntryError, EntryHeader, EntryKind, le_u32};
use crate::limits::{MAX_FRAME, MAX_PACKED_RAW, MAX_WINDOW};
use crate::object::reference_to;
use isobox_domain::content::{ContentId, ContentRef};
use std::cell::RefCell;
use std::io;
use zstd::zstd_safe;

/// Of what compaction compresses once more: level 3 would save four percent, and take a put a sixth longer.
const QUICK_LEVEL: i32 = 1;
/// Of what stays as it is.
const LASTING_LEVEL: i32 = 3;
const SOLID_LEVEL: i32 = 9;
const FRAME_MAGIC: u32 = 0xfd2f_b528;
const HAS_CHECKSUM: u8 = 1 << 2;
const IS_SINGLE_SEGMENT: u8 = 1 << 5;

/// Turns raw bytes into frames and entries.
#[derive(Debug)]
pub struct Compressor {
    level: i32,
}

impl Compressor {
    /// Prepares one for what is put while somebody waits. Errs only when memory is short.
    pub fn new() -> io::Result<Self> {
        Self::of_level(QUICK_LEVEL)
    }

    /// Prepares one for what is never compressed once more.
    pub fn lasting() -> io::Result<Self> {
        Self::of_level(LASTING_LEVEL)
    }

    /// Prepares one that takes several times as long and makes frames of much raw content smaller.
    pub fn solid() -> io::Result<Self> {
        Self::of_level(SOLID_LEVEL)
    }

    /// Prepares one of each of these. Which one wrote a frame is noted nowhere: who writes it once more tries them.
    pub fn each() -> io::Result<[Self; 3]> {
        Ok([Self::new()?, Self::lasting()?, Self::solid()?])
    }

    fn of_level(level: i32) -> io::Result<Self> {
        with_compressor(|_, _| Ok(Self { level }))
    }

    /// One frame with all of `raw`.
    pub fn frame(&mut self, raw: &[u8]) -> io::Result<Vec<u8>> {
        with_compressor(|compressor, room| {
            compressor.set_compression_level(self.level)?;
            room.clear();
            room.reserve(zstd_safe::compress_bound(raw.len()));
            compressor.compress_to_buffer(raw, room)?;
            Ok(room.as_slice().to_vec())
        })
    }

    /// The entry of `raw`, at most [`MAX_PACKED_RAW`] long: its header, and its payload as a frame where that is
    /// shorter. COMMITs and references to large files stay raw.
    pub fn entry(&mut self, kind: EntryKind, raw: &[u8]) -> io::Result<(EntryHeader, Vec<u8>)> {
        self.entry_of(kind, raw, &reference_to(raw))
    }

    /// As [`entry`](Self::entry) where the reference to `raw` is known: to hash it once more takes a tenth of the time.
    pub fn entry_of(
        &mut self,
        kind: EntryKind,
        raw: &[u8],
        reference: &ContentRef,
    ) -> io::Result<(EntryHeader, Vec<u8>)> {
        self.entry_with(kind, raw, reference, None)
    }

    /// As [`entry_of`](Self::entry_of) in a pack with a dictionary, which serves its records.
    pub fn entry_with(
        &mut self,
        kind: EntryKind,
        raw: &[u8],
        reference: &ContentRef,
        dictionary: Option<&Dictionary>,
    ) -> io::Result<(EntryHeader, Vec<u8>)> {
        let dictionary = dictionary.filter(|_| kind == EntryKind::Record);
        let frame = match (kind, dictionary) {
            (EntryKind::Commit | EntryKind::Large, _) => None,
            (_, None) => Some((Codec::Zstd, self.frame(raw)?)),
            (_, Some(dictionary)) => Some((Codec::Dictionary, frame_with(raw, dictionary)?)),
        };
        let frame = frame.filter(|(_, frame)| frame.len() < raw.len());
        let (codec, stored) = frame.unwrap_or_else(|| (Codec::Raw, raw.to_vec()));
        let header = EntryHeader {
            kind,
            codec,
            id: reference.id,
            raw_length: reference.length,
            stored_length: stored.len() as u64,
            payload_crc: crc32c::crc32c(&stored),
        };
        Ok((header, stored))
    }
}

/// The raw bytes of an entry in a pack: checksum, lengths and digest are right, or nothing is returned.
pub fn decode_payload(header: &EntryHeader, stored: Vec<u8>) -> Result<Vec<u8>, EntryError> {
    decode_payload_with(header, stored, None)
}

/// As [`decode_payload`] in a pack that has this dictionary.
pub fn decode_payload_with(
    header: &EntryHeader,
    stored: Vec<u8>,
    dictionary: Option<&Dictionary>,
) -> Result<Vec<u8>, EntryError> {
    if crc32c::crc32c(&stored) != header.payload_crc {
        return Err(EntryError::PayloadCrc);
    }
    let raw = match header.codec {
        Codec::Raw => stored,
        Codec::Zstd => decode_frame(&stored, header.raw_length)?,
        Codec::Dictionary => {
            let missing = EntryError::Frame { reason: "its pack has no sound dictionary" };
            decode_checked(&stored, header.raw_length, MAX_PACKED_RAW, Some(dictionary.ok_or(missing)?.bytes()))?
        }
        Codec::Block => return Err(EntryError::Block { reason: "it holds many objects, and is none itself" }),
    };
    let found = reference_to(&raw);
    if (found.id, found.length) != (header.id, header.raw_length) {
        return Err(EntryError::WrongContent { found: found.id });
    }
    Ok(raw)
}

/// The `raw_length` bytes, at most [`MAX_PACKED_RAW`], of the one frame that is all of `stored`.
pub fn decode_frame(stored: &[u8], raw_length: u64) -> Result<Vec<u8>, EntryError> {
    decode_frame_up_to(stored, raw_length, MAX_PACKED_RAW)
}

/// The `raw_length` bytes, at most `most`, of the one frame that is all of `stored`.
pub(crate) fn decode_frame_up_to(stored: &[u8], raw_length: u64, most: u64) -> Result<Vec<u8>, EntryError> {
    decode_checked(stored, raw_length, most, None)
}

fn decode_checked(stored: &[u8], raw_length: u64, most: u64, dictionary: Option<&[u8]>) -> Result<Vec<u8>, EntryError> {
    check_frame(stored)?;
    let announced = zstd_safe::get_frame_content_size(stored).ok().flatten();
    if raw_length > most || announced != Some(raw_length) {
        return Err(EntryError::Frame { reason: "it does not have the length that was announced" });
    }
    let damaged = EntryError::Frame { reason: "it is damaged" };
    // No more than `most`, checked above.
    let raw = decompress(stored, raw_length as usize, dictionary.unwrap_or_default()).ok_or(damaged)?;
    if raw.len() as u64 == raw_length { Ok(raw) } else { Err(damaged) }
}

thread_local! {
    /// The working memory of a thread, about 1.3 MB, and room for the longest frame that it made: to make them anew costs
    /// more than to compress a record.
    static COMPRESSOR: RefCell<Option<(zstd::bulk::Compressor<'static>, Vec<u8>)>> = const { RefCell::new(None) };
    /// The same, about 160 KB, for what is read.
    static DECOMPRESSOR: RefCell<Option<zstd_safe::DCtx<'static>>> = const { RefCell::new(None) };
    /// Working memory with the dictionary that was used last, about 200 KB: to take one in costs as much as to use it.
    static WITH_DICTIONARY: RefCell<Option<(ContentId, zstd::bulk::Compressor<'static>)>> = const { RefCell::new(None) };
}

/// One frame with all of `raw`, to be read with `dictionary`.
fn frame_with(raw: &[u8], dictionary: &Dictionary) -> io::Result<Vec<u8>> {
    WITH_DICTIONARY.with_borrow_mut(|kept| {
        let (_, compressor) = match kept.take_if(|(id, _)| id != dictionary.id()) {
            None if kept.is_some() => kept.as_mut().expect("it is some"),
            _ => kept.insert((*dictionary.id(), prepared_with(dictionary)?)),
        };
        compressor.compress(raw)
    })
}

fn prepared_with(dictionary: &Dictionary) -> io::Result<zstd::bulk::Compressor<'static>> {
    let mut compressor = prepared()?;
    compressor.set_dictionary(QUICK_LEVEL, dictionary.bytes())?;
    Ok(compressor)
}

fn with_compressor<T>(
    work: impl FnOnce(&mut zstd::bulk::Compressor<'static>, &mut Vec<u8>) -> io::Result<T>,
) -> io::Result<T> {
    COMPRESSOR.with_borrow_mut(|kept| {
        let (compressor, room) = match kept {
            Some(kept) => kept,
            none => none.insert((prepared()?, Vec::new())),
        };
        work(compressor, room)
    })
}

fn prepared() -> io::Result<zstd::bulk::Compressor<'static>> {
    let mut compressor = zstd::bulk::Compressor::new(QUICK_LEVEL)?;
    compressor.include_checksum(true)?;
    compressor.include_contentsize(true)?;
    compressor.include_dictid(false)?;
    Ok(compressor)
}

fn decompress(stored: &[u8], raw_length: usize, dictionary: &[u8]) -> Option<Vec<u8>> {
    DECOMPRESSOR.with_borrow_mut(|decompressor| {
        let decompressor = match decompressor {
            Some(decompressor) => decompressor,
            none => none.insert(zstd_safe::DCtx::try_create()?),
        };
        let mut raw = Vec::with_capacity(raw_length);
        decompressor.decompress_using_dict(&mut raw, stored, dictionary).ok()?;
        Some(raw)
    })
}

/// The length of the frame at the start of `bytes`, and its raw length. `None` if `bytes` holds no whole frame.
pub fn first_frame(bytes: &[u8]) -> Option<(usize, u64)> {
    let length = zstd_safe::find_frame_compressed_size(bytes).ok().filter(|&length| length as u64 <= MAX_FRAME)?;
    let raw_length = zstd_safe::get_frame_content_size(bytes).ok()??;
    Some((length, raw_length))
}

// RFC 8878, section 3.1.1: magic, descriptor byte, then a window byte unless the frame is a single segment.
fn check_frame(stored: &[u8]) -> Result<(), EntryError> {
    let refused = |reason| Err(EntryError::Frame { reason });
    let Some(&descriptor) = stored.get(4) else { return refused("it is too short") };
    if le_u32(stored, 0) != FRAME_MAGIC {
        return refused("it does not start as one");
    }
    if descriptor & 3 != 0 || zstd_safe::get_dict_id_from_frame(stored).is_some() {
        return refused("it needs a dictionary");
    }
    if descriptor & HAS_CHECKSUM == 0 {
        return refused("it has no checksum");
    }
    if descriptor & IS_SINGLE_SEGMENT == 0 && stored.get(5).is_none_or(|&byte| window_bytes(byte) > MAX_WINDOW) {
        return refused("its window is too large");
    }
    if zstd_safe::find_frame_compressed_size(stored) != Ok(stored.len()) {
        return refused("something follows it, or its end is missing");
    }
    Ok(())
}

// RFC 8878, section 3.1.1.1.2.
fn window_bytes(descriptor: u8) -> u64 {
    let base = 1u64 << (10 + (descriptor >> 3));
    base + base / 8 * u64::from(descriptor & 7)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_entry_gives_back_its_raw_bytes_and_a_flipped_bit_nothing() {
        let mut compressor = Compressor::new().unwrap();
        for raw in [&b""[..], b"x", &[b'a'; 5000], &(0..=255).collect::<Vec<u8>>()] {
            let (header, stored) = compressor.entry(EntryKind::Artifact, raw).unwrap();
            assert_eq!(decode_payload(&header, stored.clone()), Ok(raw.to_vec()));
            for bit in 0..stored.len() * 8 {
                let mut flipped = stored.clone();
                flipped[bit / 8] ^= 1 << (bit % 8);
                assert_eq!(decode_payload(&header, flipped), Err(EntryError::PayloadCrc));
            }
        }
    }

    #[test]
    fn frames_of_another_make_are_refused() {
        let raw = vec![b'a'; 5000];
        let good = Compressor::new().unwrap().frame(&raw).unwrap();
        assert_eq!(decode_frame(&good, 5000), Ok(raw.clone()));
        assert!(decode_frame(&good, 4999).is_err() && decode_frame(&good, 5001).is_err());
        let twice = [good.as_slice(), &good].concat();
        assert!(decode_frame(&twice, 5000).is_err() && decode_frame(&twice, 10000).is_err());
        let bare = zstd::bulk::compress(&raw, 3).unwrap();
        assert_eq!(decode_frame(&bare, 5000), Err(EntryError::Frame { reason: "it has no checksum" }));
        let sizeless = zstd::stream::encode_all(raw.as_slice(), 3).unwrap();
        assert!(decode_frame(&sizeless, 5000).is_err());
        assert!(decode_frame(b"", 0).is_err());
    }

    #[test]
    fn a_frame_that_swells_to_more_than_it_says_is_refused() {
        let bomb = Compressor::new().unwrap().frame(&vec![0; 64 << 20]).unwrap();
        assert!(decode_frame(&bomb, 64 << 20).is_err());
        assert!(decode_frame(&bomb, 1000).is_err());
    }
}
