//! Writing an Archive from its first byte to its last.

use super::table::TableCheck;
use super::{ArchiveError, Head, Row};
use isobox_domain::content::{ContentId, ContentRef};
use std::io::{self, Read, Write};

const BUFFER: usize = 64 * 1024;

/// Why an Archive was not written.
#[derive(Debug, thiserror::Error)]
pub enum WriteArchiveError {
    /// What was to be written into it could not be read.
    #[error("read {id}")]
    Read {
        /// Which object.
        id: ContentId,
        /// Why not.
        #[source]
        source: io::Error,
    },
    /// It could not be written.
    #[error("write the archive")]
    Write(#[source] io::Error),
    /// What was to be written into it is not an Archive.
    #[error("what is to be written is no archive")]
    Refused(#[source] ArchiveError),
}

/// Takes a head, its rows, then the objects in the order of their rows.
pub struct ArchiveWriter<W> {
    out: Hashing<W>,
    check: TableCheck,
    head: Head,
}

impl<W: Write> ArchiveWriter<W> {
    /// Writes the head.
    pub fn begin(out: W, head: Head) -> Result<Self, WriteArchiveError> {
        let mut out = Hashing { out, hasher: blake3::Hasher::new(), length: 0 };
        out.write(&head.encode())?;
        Ok(Self { out, check: TableCheck::new(head), head })
    }

    /// Writes the next row; `events_until` is that of [`Row`].
    pub fn row(&mut self, object: &ContentRef, events_until: u64) -> Result<(), WriteArchiveError> {
        let ContentRef { id, length } = *object;
        let row = Row { id, length, offset: self.check.offset(), events_until };
        self.check.admit(&row).map_err(WriteArchiveError::Refused)?;
        self.out.write(&row.encode())
    }

    /// Ends the table.
    pub fn end_table(&mut self) -> Result<(), WriteArchiveError> {
        self.check.end().map_err(WriteArchiveError::Refused)?;
        self.out.write_digest()
    }

    /// Writes the next object, compared with what its row says.
    pub fn object(&mut self, object: &ContentRef, content: &mut dyn Read) -> Result<(), WriteArchiveError> {
        let (mut hasher, mut left) = (blake3::Hasher::new(), object.length);
        let mut buffer = vec![0; BUFFER];
        loop {
            // One byte more than is left, so that a longer content is not taken for a right one.
            let wanted = left.saturating_add(1).min(BUFFER as u64) as usize;
            match content.read(&mut buffer[..wanted]) {
                Ok(0) => break,
                Ok(count) if count as u64 > left => return Err(refused(object)),
                Ok(count) => {
                    hasher.update(&buffer[..count]);
                    self.out.write(&buffer[..count])?;
                    left -= count as u64;
                }
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(source) => return Err(WriteArchiveError::Read { id: object.id, source }),
            }
        }
        let is_right = left == 0 && ContentId::new(*hasher.finalize().as_bytes()) == object.id;
        if is_right { Ok(()) } else { Err(refused(object)) }
    }

    /// Writes the digest at the end, and hands back what was written to.
    pub fn finish(mut self) -> Result<W, WriteArchiveError> {
        if self.out.length != self.head.digest_at() {
            let found = self.out.length;
            let error = ArchiveError::Length { expected: self.head.digest_at(), found };
            return Err(WriteArchiveError::Refused(error));
        }
        self.out.write_digest()?;
        self.out.out.flush().map_err(WriteArchiveError::Write)?;
        Ok(self.out.out)
    }
}

impl<W> std::fmt::Debug for ArchiveWriter<W> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("ArchiveWriter").field("head", &self.head).finish_non_exhaustive()
    }
}

fn refused(object: &ContentRef) -> WriteArchiveError {
    WriteArchiveError::Refused(ArchiveError::Content { expected: object.id })
}

struct Hashing<W> {
    out: W,
    hasher: blake3::Hasher,
    length: u64,
}

impl<W: Write> Hashing<W> {
    fn write(&mut self, bytes: &[u8]) -> Result<(), WriteArchiveError> {
        self.hasher.update(bytes);
        self.length += bytes.len() as u64;
        self.out.write_all(bytes).map_err(WriteArchiveError::Write)
    }

    fn write_digest(&mut self) -> Result<(), WriteArchiveError> {
        let digest = *self.hasher.finalize().as_bytes();
        self.write(&digest)
    }
}
