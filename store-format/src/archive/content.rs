//! The content of one object of an Archive, as a stream.

use super::{ArchiveError, Row};
use crate::limits::FRAME_RAW;
use crate::scan::{ReadAt, read_exact_at};
use isobox_domain::content::ContentId;
use std::io::{self, Cursor, Read};

/// Content that was verified from end to end. Takes the memory of one piece, and 32 bytes for each piece.
///
/// The file may be another's: each piece is compared once more with what was verified, so that nothing else is handed out.
#[derive(Debug)]
pub struct ArchiveContent<R> {
    bytes: R,
    /// The digests of the pieces that are left, the next one last.
    pieces: Vec<[u8; 32]>,
    at: u64,
    end: u64,
    current: Cursor<Vec<u8>>,
}

impl<R: ReadAt> ArchiveContent<R> {
    /// Verifies the object of `row`.
    pub(super) fn open(bytes: R, row: &Row) -> Result<Self, ArchiveError> {
        let (mut pieces, mut whole) = (Vec::new(), blake3::Hasher::new());
        let end = row.offset + row.length;
        let (mut at, mut last) = (row.offset, Vec::new());
        while at < end {
            last = read_piece(&bytes, at, end)?;
            whole.update(&last);
            pieces.push(*blake3::hash(&last).as_bytes());
            at += last.len() as u64;
        }
        if ContentId::new(*whole.finalize().as_bytes()) != row.id {
            return Err(ArchiveError::Content { expected: row.id });
        }
        if pieces.len() <= 1 {
            // All of it was just read.
            return Ok(Self { bytes, pieces: Vec::new(), at, end, current: Cursor::new(last) });
        }
        pieces.reverse();
        Ok(Self { bytes, pieces, at: row.offset, end, current: Cursor::default() })
    }

    fn next_piece(&mut self) -> io::Result<Option<Vec<u8>>> {
        let Some(expected) = self.pieces.pop() else { return Ok(None) };
        let piece = read_piece(&self.bytes, self.at, self.end)?;
        if *blake3::hash(&piece).as_bytes() != expected {
            return Err(io::Error::other("the archive was changed while it was read"));
        }
        self.at += piece.len() as u64;
        Ok(Some(piece))
    }
}

fn read_piece<R: ReadAt>(bytes: &R, at: u64, end: u64) -> io::Result<Vec<u8>> {
    let mut piece = vec![0; (end - at).min(FRAME_RAW) as usize];
    read_exact_at(bytes, &mut piece, at)?;
    Ok(piece)
}

impl<R: ReadAt> Read for ArchiveContent<R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        loop {
            let length = self.current.read(buffer)?;
            if length > 0 || buffer.is_empty() {
                return Ok(length);
            }
            match self.next_piece()? {
                Some(piece) => self.current = Cursor::new(piece),
                None => return Ok(0),
            }
        }
    }
}
