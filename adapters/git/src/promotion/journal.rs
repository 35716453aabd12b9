//! The journal: what a Promotion moves where, written and flushed before anything is moved.
//!
//! `ISOBOX-PROMOTION 1\n`, the length of the receipt and the receipt, then one entry a changed path in ascending order,
//! then a zero, the number of entries and the BLAKE3 of all before it. Numbers are little-endian. It is read as a
//! stream, so memory does not grow with the number of paths.

use super::dir::write_all;
use crate::fields::{invalid, read_array, read_path, read_vec};
use isobox_domain::change::Mode;
use isobox_domain::content::{ContentId, ContentRef};
use isobox_domain::repo_path::RepoPath;
use std::fs::File;
use std::io::{self, BufReader, Read};

const MAGIC: &[u8; 19] = b"ISOBOX-PROMOTION 1\n";
/// Longest receipt that is read back, in bytes: that of a record.
const MAX_RECEIPT_BYTES: u32 = 1 << 20;
const BUFFER_BYTES: usize = 64 * 1024;

/// What tells that a file is still the one that was looked at, once it has been moved.
///
/// The inode is no part of it: on an overlay file system it may change when a file of a lower layer is moved.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Fingerprint {
    pub(super) size: u64,
    pub(super) mtime_ns: i64,
}

impl Fingerprint {
    pub(super) fn of(stat: &nix::sys::stat::FileStat) -> Self {
        Self {
            // A size is never negative.
            size: stat.st_size as u64,
            mtime_ns: stat.st_mtime.saturating_mul(1_000_000_000).saturating_add(stat.st_mtime_nsec),
        }
    }
}

/// What stands at a path before.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Old {
    /// Nothing.
    Nothing,
    /// A file or link, which is moved away.
    File(Fingerprint),
    /// A directory in which nothing but empty directories is left when the deletions are done; it is moved away whole.
    Directory,
}

/// What stands at a path after.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct New {
    pub(super) mode: Mode,
    pub(super) content: ContentRef,
}

/// One changed path.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Entry {
    pub(super) path: RepoPath,
    pub(super) old: Old,
    pub(super) new: Option<New>,
    /// How many of the directories above the path exist before; the others are made.
    pub(super) existing_parents: u16,
}

/// Writes a journal.
pub(super) struct JournalWriter {
    out: File,
    buffer: Vec<u8>,
    hasher: blake3::Hasher,
    entries: u64,
}

impl JournalWriter {
    pub(super) fn new(out: File, receipt: &[u8]) -> io::Result<Self> {
        let length = u32::try_from(receipt.len()).ok().filter(|&length| length <= MAX_RECEIPT_BYTES);
        let length = length.ok_or_else(|| io::Error::new(io::ErrorKind::InvalidInput, "the receipt is too long"))?;
        let buffer = [MAGIC.as_slice(), &length.to_le_bytes(), receipt].concat();
        Ok(Self { out, buffer, hasher: blake3::Hasher::new(), entries: 0 })
    }

    /// Adds an entry and returns its number, from 0.
    pub(super) fn add(&mut self, entry: &Entry) -> io::Result<u64> {
        let path = entry.path.as_bytes();
        // A RepoPath holds at most 4095 bytes.
        self.buffer.extend((path.len() as u16).to_le_bytes());
        self.buffer.extend(path);
        self.buffer.extend(entry.existing_parents.to_le_bytes());
        match entry.old {
            Old::Nothing => self.buffer.push(0),
            Old::Directory => self.buffer.push(1),
            Old::File(Fingerprint { size, mtime_ns }) => {
                self.buffer.push(2);
                self.buffer.extend([size.to_le_bytes(), mtime_ns.to_le_bytes()].concat());
            }
        }
        match entry.new {
            None => self.buffer.push(0),
            Some(New { mode, content }) => {
                self.buffer.push(encode_mode(mode));
                self.buffer.extend(content.id.as_bytes());
                self.buffer.extend(content.length.to_le_bytes());
            }
        }
        if self.buffer.len() >= BUFFER_BYTES {
            self.flush()?;
        }
        self.entries += 1;
        Ok(self.entries - 1)
    }

    /// Ends the journal: the file, not flushed to disk yet, and the number of entries.
    pub(super) fn finish(mut self) -> io::Result<(File, u64)> {
        self.buffer.extend(0_u16.to_le_bytes());
        self.buffer.extend(self.entries.to_le_bytes());
        self.flush()?;
        write_all(&mut self.out, self.hasher.finalize().as_bytes())?;
        Ok((self.out, self.entries))
    }

    fn flush(&mut self) -> io::Result<()> {
        self.hasher.update(&self.buffer);
        write_all(&mut self.out, &self.buffer)?;
        self.buffer.clear();
        Ok(())
    }
}

/// Reads a journal: its entries, each with its number. After an error it yields nothing more.
pub(super) struct JournalReader {
    input: Hashed<BufReader<File>>,
    receipt: Vec<u8>,
    entries: u64,
    is_done: bool,
}

impl JournalReader {
    pub(super) fn new(file: File) -> io::Result<Self> {
        let mut input = Hashed { inner: BufReader::with_capacity(BUFFER_BYTES, file), hasher: blake3::Hasher::new() };
        if &read_array::<{ MAGIC.len() }>(&mut input)? != MAGIC {
            return Err(invalid("it does not begin as a journal of version 1"));
        }
        let length = u32::from_le_bytes(read_array(&mut input)?);
        if length > MAX_RECEIPT_BYTES {
            return Err(invalid("its receipt is too long"));
        }
        let receipt = read_vec(&mut input, length as usize)?;
        Ok(Self { input, receipt, entries: 0, is_done: false })
    }

    pub(super) fn into_receipt(self) -> Vec<u8> {
        self.receipt
    }

    fn read(&mut self) -> io::Result<Option<(u64, Entry)>> {
        let Some(path) = read_path(&mut self.input)? else { return self.read_end().map(|()| None) };
        let existing_parents = u16::from_le_bytes(read_array(&mut self.input)?);
        let entry = Entry { path, existing_parents, old: self.read_old()?, new: self.read_new()? };
        self.entries += 1;
        Ok(Some((self.entries - 1, entry)))
    }

    fn read_old(&mut self) -> io::Result<Old> {
        match read_array(&mut self.input)? {
            [0] => Ok(Old::Nothing),
            [1] => Ok(Old::Directory),
            [2] => Ok(Old::File(Fingerprint {
                size: u64::from_le_bytes(read_array(&mut self.input)?),
                mtime_ns: i64::from_le_bytes(read_array(&mut self.input)?),
            })),
            _ => Err(invalid("what stood at a path is none of the known kinds")),
        }
    }

    fn read_new(&mut self) -> io::Result<Option<New>> {
        let mode = match read_array(&mut self.input)? {
            [0] => return Ok(None),
            [1] => Mode::File,
            [2] => Mode::Executable,
            [3] => Mode::Symlink,
            _ => return Err(invalid("a mode is none of those that are written")),
        };
        let id = ContentId::new(read_array(&mut self.input)?);
        Ok(Some(New { mode, content: ContentRef { id, length: u64::from_le_bytes(read_array(&mut self.input)?) } }))
    }

    fn read_end(&mut self) -> io::Result<()> {
        let entries = u64::from_le_bytes(read_array(&mut self.input)?);
        let expected = *self.input.hasher.finalize().as_bytes();
        let found: [u8; 32] = read_array(&mut self.input)?;
        if entries != self.entries || found != expected {
            return Err(invalid("its checksum is wrong"));
        }
        Ok(())
    }
}

impl Iterator for JournalReader {
    type Item = io::Result<(u64, Entry)>;

    fn next(&mut self) -> Option<Self::Item> {
        if self.is_done {
            return None;
        }
        let entry = self.read();
        self.is_done = !matches!(entry, Ok(Some(_)));
        entry.transpose()
    }
}

/// A reader that hashes what passes.
struct Hashed<R> {
    inner: R,
    hasher: blake3::Hasher,
}

impl<R: Read> Read for Hashed<R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let read = self.inner.read(buffer)?;
        self.hasher.update(&buffer[..read]);
        Ok(read)
    }
}

fn encode_mode(mode: Mode) -> u8 {
    match mode {
        Mode::File => 1,
        Mode::Executable => 2,
        Mode::Symlink => 3,
        // Refused before it comes here; a reader takes it for damage.
        Mode::Submodule => u8::MAX,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::{Seek, Write};

    fn entries() -> Vec<Entry> {
        let path = |bytes: &[u8]| RepoPath::parse(bytes).expect("a path");
        let content = ContentRef { id: ContentId::new([7; 32]), length: u64::MAX - 1 };
        let old = Old::File(Fingerprint { size: 3, mtime_ns: -1 });
        let new = |mode| Some(New { mode, content });
        vec![
            Entry { path: path(b"a"), old, new: None, existing_parents: 0 },
            Entry { path: path(b"b/c\xff"), old: Old::Nothing, new: new(Mode::Executable), existing_parents: 1 },
            Entry { path: path(b"d"), old: Old::Directory, new: new(Mode::Symlink), existing_parents: 0 },
            Entry { path: path(b"e"), old, new: new(Mode::File), existing_parents: 0 },
        ]
    }

    fn written() -> Vec<u8> {
        let file = tempfile::tempfile().expect("a file");
        let mut writer = JournalWriter::new(file.try_clone().expect("a handle"), b"receipt").expect("it begins");
        for entry in entries() {
            writer.add(&entry).expect("it is added");
        }
        writer.finish().expect("it ends");
        let (mut file, mut bytes) = (file, Vec::new());
        file.rewind().and_then(|()| file.read_to_end(&mut bytes)).expect("it is read");
        bytes
    }

    fn read(bytes: &[u8]) -> io::Result<(Vec<u8>, Vec<Entry>)> {
        let mut file = tempfile::tempfile()?;
        file.write_all(bytes)?;
        file.rewind()?;
        let mut reader = JournalReader::new(file)?;
        let entries = reader.by_ref().map(|entry| entry.map(|(_, entry)| entry)).collect::<io::Result<_>>()?;
        Ok((reader.into_receipt(), entries))
    }

    #[test]
    fn a_journal_is_read_back_as_it_was_written() {
        assert_eq!(read(&written()).expect("it is read"), (b"receipt".to_vec(), entries()));
    }

    #[test]
    fn a_journal_that_is_cut_off_or_changed_in_one_byte_is_damaged() {
        let whole = written();
        for at in 0..whole.len() {
            assert!(read(&whole[..at]).is_err(), "cut off at {at}");
            let mut changed = whole.clone();
            changed[at] ^= 0x20;
            assert!(read(&changed).is_err(), "changed at {at}");
        }
    }
}
