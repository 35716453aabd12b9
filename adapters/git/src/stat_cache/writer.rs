//! Writing a stat cache.

use super::{FileStat, Freshness, INTERVAL, MAGIC, StatCacheEntry};
use isobox_domain::change::Mode;
use std::fs::File;
use std::io::{self, BufWriter, Write};
use std::path::Path;

/// Writes a stat cache.
pub(crate) struct StatCacheWriter {
    out: BufWriter<File>,
    /// Bytes written.
    length: u64,
    entries: u64,
    marks: Vec<u64>,
    submodules: Vec<u64>,
}

impl StatCacheWriter {
    /// Makes the file; it must not be there yet.
    pub(crate) fn create(host_path: &Path) -> io::Result<Self> {
        let out = BufWriter::new(File::create_new(host_path)?);
        let mut writer = Self { out, length: 0, entries: 0, marks: Vec::new(), submodules: Vec::new() };
        writer.write(MAGIC)?;
        Ok(writer)
    }

    /// When the file was made, by the clock of its file system, in nanoseconds since 1970.
    pub(crate) fn created_at_ns(&self) -> io::Result<i64> {
        Ok(FileStat::of(&self.out.get_ref().metadata()?).ctime_ns)
    }

    /// Adds a path. Paths come in ascending order of their bytes.
    pub(crate) fn add(&mut self, entry: &StatCacheEntry) -> io::Result<()> {
        if self.entries.is_multiple_of(INTERVAL) {
            self.marks.push(self.length);
        }
        if entry.mode == Mode::Submodule {
            self.submodules.push(self.length);
        }
        let path = entry.path.as_bytes();
        let oid = entry.oid.as_bytes();
        // RepoPath holds at most 4095 bytes, an oid 32: neither cast can cut anything off.
        self.write(&(path.len() as u16).to_le_bytes())?;
        self.write(path)?;
        self.write(&[encode_mode(entry.mode), oid.len() as u8])?;
        self.write(oid)?;
        self.write(&[u8::from(entry.freshness == Freshness::Racy)])?;
        let FileStat { inode, size, mtime_ns, ctime_ns, mode } = entry.stat;
        self.write(&inode.to_le_bytes())?;
        self.write(&size.to_le_bytes())?;
        self.write(&mtime_ns.to_le_bytes())?;
        self.write(&ctime_ns.to_le_bytes())?;
        self.write(&mode.to_le_bytes())?;
        self.entries += 1;
        Ok(())
    }

    /// Ends the file. Without it a reader reports the cache as cut off.
    pub(crate) fn finish(mut self) -> io::Result<()> {
        self.write(&0_u16.to_le_bytes())?;
        let footer = [self.entries, self.submodules.len() as u64, self.length];
        let (marks, submodules) = (std::mem::take(&mut self.marks), std::mem::take(&mut self.submodules));
        for number in marks.into_iter().chain(submodules).chain(footer) {
            self.write(&number.to_le_bytes())?;
        }
        self.out.flush()
    }

    fn write(&mut self, bytes: &[u8]) -> io::Result<()> {
        self.length += bytes.len() as u64;
        self.out.write_all(bytes)
    }
}

fn encode_mode(mode: Mode) -> u8 {
    match mode {
        Mode::File => 0,
        Mode::Executable => 1,
        Mode::Symlink => 2,
        Mode::Submodule => 3,
    }
}
