//! Reading an Archive at any place, in the same memory however long it is.

use super::table::TableCheck;
use super::{ArchiveContent, ArchiveError, DIGEST_LEN, HEAD_LEN, Head, ROW_LEN, Row, Section};
use crate::limits::{FRAME_RAW, MAX_LARGE_RAW, MAX_PACKED_RAW};
use crate::scan::{ReadAt, read_exact_at};
use isobox_domain::content::ContentId;
use std::cmp::Ordering;
use std::io;
use std::ops::Range;

/// So many rows are read at once while the table is checked.
const ROWS_AT_ONCE: u64 = 1024;

/// An Archive whose head and table are whole. Its objects are verified when they are read.
#[derive(Clone, Debug)]
pub struct Archive<R> {
    bytes: R,
    head: Head,
}

impl<R: ReadAt> Archive<R> {
    /// Checks head and table. The objects are not looked at, nor whether the file is as long as it should be:
    /// [`require_length`](Self::require_length).
    pub fn open(bytes: R) -> Result<Self, ArchiveError> {
        let mut start = [0; HEAD_LEN as usize];
        read_exact_at(&bytes, &mut start, 0).map_err(|error| match error.kind() {
            io::ErrorKind::UnexpectedEof => ArchiveError::NotAnArchive,
            _ => error.into(),
        })?;
        let archive = Self { bytes, head: Head::decode(&start)? };
        archive.check_table(&start).map_err(|error| match error {
            ArchiveError::Io(error) if error.kind() == io::ErrorKind::UnexpectedEof => {
                ArchiveError::Head { reason: "the file ends in its table" }
            }
            error => error,
        })?;
        Ok(archive)
    }

    fn check_table(&self, head: &[u8]) -> Result<(), ArchiveError> {
        let (mut hasher, mut check) = (blake3::Hasher::new(), TableCheck::new(self.head));
        hasher.update(head);
        let mut at = 0;
        while at < self.head.rows() {
            let count = (self.head.rows() - at).min(ROWS_AT_ONCE);
            let mut rows = vec![0; (count * ROW_LEN) as usize];
            read_exact_at(&self.bytes, &mut rows, HEAD_LEN + at * ROW_LEN)?;
            hasher.update(&rows);
            let (rows, _) = rows.as_chunks();
            rows.iter().try_for_each(|row| check.admit(&Row::decode(row)))?;
            at += count;
        }
        check.end()?;
        let mut digest = [0; DIGEST_LEN as usize];
        read_exact_at(&self.bytes, &mut digest, self.head.contents_at() - DIGEST_LEN)?;
        if *hasher.finalize().as_bytes() == digest { Ok(()) } else { Err(ArchiveError::HeadDigest) }
    }

    /// What it holds.
    pub const fn head(&self) -> &Head {
        &self.head
    }

    /// Fails unless a file that is `found` bytes long is as long as this Archive is.
    pub const fn require_length(&self, found: u64) -> Result<(), ArchiveError> {
        let expected = self.head.length;
        if found == expected { Ok(()) } else { Err(ArchiveError::Length { expected, found }) }
    }

    /// The row `at` of the table, counted from 0.
    pub fn row(&self, at: u64) -> Result<Row, ArchiveError> {
        let mut bytes = [0; ROW_LEN as usize];
        read_exact_at(&self.bytes, &mut bytes, HEAD_LEN + at * ROW_LEN)?;
        let row = Row::decode(&bytes);
        // The file may have been changed since the table was checked.
        let is_within = row.length <= MAX_LARGE_RAW && row.offset <= self.head.length;
        if is_within { Ok(row) } else { Err(ArchiveError::HeadDigest) }
    }

    /// The row of a record or an artifact, and its number.
    pub fn find(&self, section: Section, id: &ContentId) -> Result<Option<(u64, Row)>, ArchiveError> {
        let Range { mut start, mut end } = self.head.rows_of(section);
        while start < end {
            let middle = start + (end - start) / 2;
            let row = self.row(middle)?;
            match row.id.cmp(id) {
                Ordering::Equal => return Ok(Some((middle, row))),
                Ordering::Less => start = middle + 1,
                Ordering::Greater => end = middle,
            }
        }
        Ok(None)
    }

    /// The rows of the events about the record in the row `record`, oldest first.
    pub fn events_of(&self, record: u64) -> Result<Range<u64>, ArchiveError> {
        let first = self.head.records;
        let before = if record == 0 { 0 } else { self.row(record - 1)?.events_until };
        let until = self.row(record)?.events_until;
        if until > self.head.events { Err(ArchiveError::HeadDigest) } else { Ok(first + before..first + until) }
    }

    /// The whole of an object of at most 1 MiB, verified.
    pub fn small(&self, row: &Row) -> Result<Vec<u8>, ArchiveError> {
        if row.length > MAX_PACKED_RAW {
            return Err(ArchiveError::Content { expected: row.id });
        }
        let mut bytes = vec![0; row.length as usize];
        read_exact_at(&self.bytes, &mut bytes, row.offset)?;
        let is_right = ContentId::new(*blake3::hash(&bytes).as_bytes()) == row.id;
        if is_right { Ok(bytes) } else { Err(ArchiveError::Content { expected: row.id }) }
    }

    /// The content of an object, verified from end to end before its first byte is handed out.
    pub fn content(&self, row: &Row) -> Result<ArchiveContent<R>, ArchiveError>
    where
        R: Clone,
    {
        ArchiveContent::open(self.bytes.clone(), row)
    }

    /// Reads everything once: hands each row and whether its content is right to `each`, then compares the digest at the end.
    /// What lies behind the end of the file is not right.
    pub fn check(&self, mut each: impl FnMut(u64, &Row, bool)) -> Result<(), ArchiveError> {
        let mut whole = blake3::Hasher::new();
        self.hash(0..self.head.contents_at(), &mut |piece| {
            whole.update(piece);
        })?;
        for at in 0..self.head.rows() {
            let row = self.row(at)?;
            let mut own = blake3::Hasher::new();
            let read = self.hash(row.offset..row.offset + row.length, &mut |piece| {
                whole.update(piece);
                own.update(piece);
            });
            let is_there = is_there(read)?;
            each(at, &row, is_there && ContentId::new(*own.finalize().as_bytes()) == row.id);
        }
        let mut digest = [0; DIGEST_LEN as usize];
        let is_there = is_there(read_exact_at(&self.bytes, &mut digest, self.head.digest_at()))?;
        if is_there && *whole.finalize().as_bytes() == digest { Ok(()) } else { Err(ArchiveError::Digest) }
    }

    fn hash(&self, range: Range<u64>, take: &mut dyn FnMut(&[u8])) -> io::Result<()> {
        let mut at = range.start;
        let mut piece = vec![0; (range.end - range.start).min(FRAME_RAW) as usize];
        while at < range.end {
            let length = (range.end - at).min(FRAME_RAW) as usize;
            read_exact_at(&self.bytes, &mut piece[..length], at)?;
            take(&piece[..length]);
            at += length as u64;
        }
        Ok(())
    }
}

fn is_there(read: io::Result<()>) -> io::Result<bool> {
    match read {
        Err(error) if error.kind() == io::ErrorKind::UnexpectedEof => Ok(false),
        read => read.map(|()| true),
    }
}
