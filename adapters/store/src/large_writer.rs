//! Staging content of any length: small content becomes an entry, larger content a file of its own, written in frames.

use crate::dir::Access;
use crate::staging::{SharedStaging, StagedLarge, hold};
use isobox_domain::content::{ContentId, ContentRef};
use isobox_store_format::entry::{Codec, EntryHeader, EntryKind, HEADER_LEN};
use isobox_store_format::frame::Compressor;
use isobox_store_format::limits::{FRAME_RAW, LARGE_FROM};
use std::fs::File;
use std::io::{self, Write};
use std::os::unix::fs::FileExt;

/// Longest piece in bytes: what is held in memory, and the raw length of a frame.
pub(crate) const PIECE: usize = FRAME_RAW as usize;

/// Takes content piece by piece.
#[derive(Debug)]
pub(crate) struct LargeWriter {
    staging: SharedStaging,
    name: Option<String>,
    piece: Vec<u8>,
    file: Option<File>,
    stored: u64,
    raw: u64,
    crc: Crc,
    hasher: blake3::Hasher,
}

// The CRC32C of the payload so far; the format crate computes it from whole slices.
type Crc = u32;

impl LargeWriter {
    /// Stages into a file of the given name, or of a fresh one, if the content gets large.
    pub(crate) fn new(staging: SharedStaging, name: Option<String>) -> Self {
        Self { staging, name, piece: Vec::new(), file: None, stored: 0, raw: 0, crc: 0, hasher: blake3::Hasher::new() }
    }

    /// How many whole pieces were written out.
    pub(crate) fn pieces(&self) -> u64 {
        self.raw / FRAME_RAW
    }

    /// How many bytes still fit into the current piece.
    pub(crate) fn room(&self) -> usize {
        PIECE - self.piece.len()
    }

    /// Adds bytes to the current piece, no more than [`room`](Self::room).
    pub(crate) fn push(&mut self, bytes: &[u8]) {
        self.piece.extend_from_slice(bytes);
    }

    /// Writes the current piece out as a frame.
    pub(crate) fn write_piece(&mut self) -> io::Result<()> {
        // No compaction ever makes it shorter.
        let frame = Compressor::lasting()?.frame(&self.piece)?;
        let at = HEADER_LEN as u64 + self.stored;
        self.file()?.write_all_at(&frame, at)?;
        self.stored += frame.len() as u64;
        self.raw += self.piece.len() as u64;
        self.crc = isobox_store_format::entry::crc_append(self.crc, &frame);
        self.hasher.update(&self.piece);
        self.piece.clear();
        Ok(())
    }

    /// Ends the content.
    pub(crate) fn end(&mut self) -> io::Result<ContentRef> {
        if self.raw == 0 && (self.piece.len() as u64) < LARGE_FROM {
            return hold(&self.staging).add_small(&self.piece);
        }
        if !self.piece.is_empty() {
            self.write_piece()?;
        }
        let id = ContentId::new(*self.hasher.finalize().as_bytes());
        let header = EntryHeader {
            kind: EntryKind::Artifact,
            codec: Codec::Zstd,
            id,
            raw_length: self.raw,
            stored_length: self.stored,
            payload_crc: self.crc,
        };
        self.file()?.write_all_at(&header.encode(), 0)?;
        let name = self.name();
        hold(&self.staging).add_large(StagedLarge { name, header });
        Ok(ContentRef { id, length: self.raw })
    }

    fn name(&mut self) -> String {
        let staging = &self.staging;
        self.name.get_or_insert_with(|| hold(staging).next_name()).clone()
    }

    fn file(&mut self) -> io::Result<&File> {
        let name = self.name();
        match &mut self.file {
            Some(file) => Ok(file),
            empty => Ok(empty.insert(hold(&self.staging).dir().file(&name, Access::Fresh)?)),
        }
    }
}

impl Write for LargeWriter {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        if self.room() == 0 {
            self.write_piece()?;
        }
        let length = bytes.len().min(self.room());
        self.push(&bytes[..length]);
        Ok(length)
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}
