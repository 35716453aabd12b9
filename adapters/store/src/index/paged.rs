//! Derived files in pages of 4 KiB, each with its own checksum, so that any part is verified when it is read.

use crate::dir::Dir;
use isobox_store_format::entry::crc_append;
use isobox_store_format::scan::read_exact_at;
use std::fs::File;
use std::io::{self, Write};
use std::os::unix::fs::MetadataExt;
use std::sync::Arc;

const PAGE: usize = 4096;
const CRC: usize = 4;
const BODY: usize = PAGE - CRC;

/// Writes pages, whose bodies are what it is given.
pub(super) struct PageWriter<W> {
    to: W,
    body: Vec<u8>,
}

impl<W: Write> PageWriter<W> {
    pub(super) fn new(to: W) -> Self {
        Self { to, body: Vec::with_capacity(PAGE) }
    }

    /// Adds bytes to the file.
    pub(super) fn add(&mut self, mut bytes: &[u8]) -> io::Result<()> {
        while !bytes.is_empty() {
            let (now, later) = bytes.split_at(bytes.len().min(BODY - self.body.len()));
            self.body.extend_from_slice(now);
            if self.body.len() == BODY {
                self.turn()?;
            }
            bytes = later;
        }
        Ok(())
    }

    /// Ends the file.
    pub(super) fn finish(mut self) -> io::Result<()> {
        if !self.body.is_empty() {
            self.body.resize(BODY, 0);
            self.turn()?;
        }
        self.to.flush()
    }

    fn turn(&mut self) -> io::Result<()> {
        let crc = crc_append(0, &self.body);
        self.body.extend(crc.to_le_bytes());
        self.to.write_all(&self.body)?;
        self.body.clear();
        Ok(())
    }
}

/// A paged file that is kept open, or opened whenever a page of it is read: a process has a limited number of descriptors.
#[derive(Clone, Debug)]
pub(super) enum PagedFile {
    /// From `start` on, in bytes.
    Kept {
        file: Arc<File>,
        start: u64,
    },
    Named {
        dir: Arc<Dir>,
        name: String,
        inode: u64,
    },
}

impl PagedFile {
    /// All of a file that is kept open.
    pub(super) fn whole(file: File) -> Self {
        Self::Kept { file: Arc::new(file), start: 0 }
    }

    /// The same, kept open; `InvalidData` if another one bears its name now.
    pub(super) fn kept(&self) -> io::Result<Self> {
        let (file, start) = self.opened()?;
        Ok(Self::Kept { file, start })
    }

    fn opened(&self) -> io::Result<(Arc<File>, u64)> {
        let (dir, name, expected) = match self {
            Self::Kept { file, start } => return Ok((Arc::clone(file), *start)),
            Self::Named { dir, name, inode } => (dir, name, *inode),
        };
        let found = dir.find_file(name)?.ok_or(io::ErrorKind::InvalidData)?;
        let is_expected = found.metadata()?.ino() == expected;
        if is_expected { Ok((Arc::new(found), 0)) } else { Err(io::ErrorKind::InvalidData.into()) }
    }
}

/// Reads anywhere in a paged file. Keeps the page it read last.
#[derive(Debug)]
pub(super) struct Pages {
    file: PagedFile,
    current: Option<u64>,
    page: Vec<u8>,
}

impl Pages {
    pub(super) fn new(file: PagedFile) -> Self {
        Self { file, current: None, page: vec![0; PAGE] }
    }

    /// Fills `buffer` from `at` on. A damaged or missing page is `InvalidData`.
    pub(super) fn read(&mut self, mut at: u64, mut buffer: &mut [u8]) -> io::Result<()> {
        while !buffer.is_empty() {
            let offset = (at % BODY as u64) as usize;
            let length = buffer.len().min(BODY - offset);
            let (now, later) = buffer.split_at_mut(length);
            self.turn_to(at / BODY as u64)?;
            now.copy_from_slice(&self.page[offset..offset + length]);
            buffer = later;
            at += length as u64;
        }
        Ok(())
    }

    fn turn_to(&mut self, number: u64) -> io::Result<()> {
        if self.current == Some(number) {
            return Ok(());
        }
        self.current = None;
        let damaged = || io::Error::from(io::ErrorKind::InvalidData);
        let (file, start) = self.file.opened()?;
        match read_exact_at(&*file, &mut self.page, start + number * PAGE as u64) {
            Err(error) if error.kind() == io::ErrorKind::UnexpectedEof => return Err(damaged()),
            read => read?,
        }
        if crc_append(0, &self.page[..BODY]).to_le_bytes() != self.page[BODY..] {
            return Err(damaged());
        }
        self.current = Some(number);
        Ok(())
    }
}
