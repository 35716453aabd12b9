//! The stat cache: every tracked path of a Workspace as checkout left it, kept outside of what a workload can write.
//!
//! A file is `ISOBOX-STAT 1\n`, then one entry a path in ascending order of path bytes, then a zero and the number of
//! entries. Numbers are little-endian. It is read as a stream, so memory does not grow with the number of paths.

use crate::fields::{invalid, read_array, read_vec};
use isobox_domain::change::Mode;
use isobox_domain::git_oid::GitOid;
use isobox_domain::repo_path::{MAX_PATH_BYTES, RepoPath};
use std::fs::File;
use std::io::{self, BufWriter, Read, Write};
use std::os::unix::fs::MetadataExt;
use std::path::Path;

const MAGIC: &[u8; 14] = b"ISOBOX-STAT 1\n";

/// What the file system says about a path, as far as it changes when the path does.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct FileStat {
    /// Number of the inode.
    pub(crate) inode: u64,
    /// Apparent size in bytes.
    pub(crate) size: u64,
    /// Last change of the content, in nanoseconds since 1970.
    pub(crate) mtime_ns: i64,
    /// Last change of content or inode, in nanoseconds since 1970; no program can set it back.
    pub(crate) ctime_ns: i64,
    /// `st_mode`: type and permissions.
    pub(crate) mode: u32,
}

impl FileStat {
    /// Takes what capture compares from the system's own `stat(2)` result.
    pub(crate) fn of_stat(stat: &nix::libc::stat) -> Self {
        let ns = |seconds: i64, part: i64| seconds.saturating_mul(1_000_000_000).saturating_add(part);
        Self {
            inode: stat.st_ino,
            size: stat.st_size.unsigned_abs(),
            mtime_ns: ns(stat.st_mtime, stat.st_mtime_nsec),
            ctime_ns: ns(stat.st_ctime, stat.st_ctime_nsec),
            mode: stat.st_mode,
        }
    }

    /// Takes what capture compares from a `stat(2)` result.
    pub(crate) fn of(metadata: &std::fs::Metadata) -> Self {
        let ns = |seconds: i64, part: i64| seconds.saturating_mul(1_000_000_000).saturating_add(part);
        Self {
            inode: metadata.ino(),
            size: metadata.size(),
            mtime_ns: ns(metadata.mtime(), metadata.mtime_nsec()),
            ctime_ns: ns(metadata.ctime(), metadata.ctime_nsec()),
            mode: metadata.mode(),
        }
    }
}

/// Whether equal [`FileStat`]s prove equal content.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Freshness {
    /// They do: any later write gives a later ctime.
    Proven,
    /// They do not: the path was checked out in the same tick of the clock in which checkout ended, so capture re-reads it.
    Racy,
}

/// A tracked path as checkout left it. Its bytes then are what the base's `Materialiser` gives for it.
///
/// What lies below a submodule that was checked out has entries of its own, after the submodule's.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct StatCacheEntry {
    /// The path.
    pub(crate) path: RepoPath,
    /// Its kind in the pinned commit.
    pub(crate) mode: Mode,
    /// Git's name of its content: a blob, or a commit for a submodule.
    pub(crate) oid: GitOid,
    /// The file, link or (for a submodule) empty directory that was made.
    pub(crate) stat: FileStat,
    /// Whether `stat` proves anything.
    pub(crate) freshness: Freshness,
}

/// Writes a stat cache.
pub(crate) struct StatCacheWriter {
    out: BufWriter<File>,
    entries: u64,
}

impl StatCacheWriter {
    /// Makes the file; it must not be there yet.
    pub(crate) fn create(host_path: &Path) -> io::Result<Self> {
        let mut out = BufWriter::new(File::create_new(host_path)?);
        out.write_all(MAGIC)?;
        Ok(Self { out, entries: 0 })
    }

    /// When the file was made, by the clock of its file system, in nanoseconds since 1970.
    pub(crate) fn created_at_ns(&self) -> io::Result<i64> {
        Ok(FileStat::of(&self.out.get_ref().metadata()?).ctime_ns)
    }

    /// Adds a path. Paths come in ascending order of their bytes.
    pub(crate) fn add(&mut self, entry: &StatCacheEntry) -> io::Result<()> {
        let path = entry.path.as_bytes();
        let oid = entry.oid.as_bytes();
        // RepoPath holds at most 4095 bytes, an oid 32: neither cast can cut anything off.
        self.out.write_all(&(path.len() as u16).to_le_bytes())?;
        self.out.write_all(path)?;
        self.out.write_all(&[encode_mode(entry.mode), oid.len() as u8])?;
        self.out.write_all(oid)?;
        self.out.write_all(&[u8::from(entry.freshness == Freshness::Racy)])?;
        let FileStat { inode, size, mtime_ns, ctime_ns, mode } = entry.stat;
        self.out.write_all(&inode.to_le_bytes())?;
        self.out.write_all(&size.to_le_bytes())?;
        self.out.write_all(&mtime_ns.to_le_bytes())?;
        self.out.write_all(&ctime_ns.to_le_bytes())?;
        self.out.write_all(&mode.to_le_bytes())?;
        self.entries += 1;
        Ok(())
    }

    /// Ends the file. Without it a reader reports the cache as cut off.
    pub(crate) fn finish(mut self) -> io::Result<()> {
        self.out.write_all(&0_u16.to_le_bytes())?;
        self.out.write_all(&self.entries.to_le_bytes())?;
        self.out.flush()
    }
}

/// Reads a stat cache: its entries, in ascending order of path bytes. After an error it yields nothing more.
#[derive(Clone)]
pub(crate) struct StatCacheReader<R> {
    input: R,
    entries: u64,
    is_done: bool,
}

impl<R: Read> StatCacheReader<R> {
    /// Reads from the first byte of a stat cache on.
    pub(crate) fn new(mut input: R) -> io::Result<Self> {
        let magic: [u8; MAGIC.len()] = read_array(&mut input)?;
        if &magic != MAGIC {
            return Err(invalid("it does not begin as a stat cache of version 1"));
        }
        Ok(Self { input, entries: 0, is_done: false })
    }

    fn read(&mut self) -> io::Result<Option<StatCacheEntry>> {
        let input = &mut self.input;
        let length = usize::from(u16::from_le_bytes(read_array(input)?));
        if length == 0 {
            let expected = u64::from_le_bytes(read_array(input)?);
            return if expected == self.entries { Ok(None) } else { Err(invalid("its number of entries is wrong")) };
        }
        if length > MAX_PATH_BYTES {
            return Err(invalid("a path is too long"));
        }
        let path =
            RepoPath::parse(read_vec(input, length)?).map_err(|_| invalid("a path is no path of a repository"))?;
        let [mode, oid_length] = read_array(input)?;
        let oid = GitOid::from_bytes(&read_vec(input, usize::from(oid_length))?);
        let [racy] = read_array(input)?;
        let stat = FileStat {
            inode: u64::from_le_bytes(read_array(input)?),
            size: u64::from_le_bytes(read_array(input)?),
            mtime_ns: i64::from_le_bytes(read_array(input)?),
            ctime_ns: i64::from_le_bytes(read_array(input)?),
            mode: u32::from_le_bytes(read_array(input)?),
        };
        self.entries += 1;
        Ok(Some(StatCacheEntry {
            path,
            mode: decode_mode(mode)?,
            oid: oid.ok_or_else(|| invalid("an oid is neither 20 nor 32 bytes"))?,
            stat,
            freshness: if racy == 0 { Freshness::Proven } else { Freshness::Racy },
        }))
    }
}

impl<R: Read> Iterator for StatCacheReader<R> {
    type Item = io::Result<StatCacheEntry>;

    fn next(&mut self) -> Option<Self::Item> {
        if self.is_done {
            return None;
        }
        let entry = self.read();
        self.is_done = !matches!(entry, Ok(Some(_)));
        entry.transpose()
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

fn decode_mode(byte: u8) -> io::Result<Mode> {
    match byte {
        0 => Ok(Mode::File),
        1 => Ok(Mode::Executable),
        2 => Ok(Mode::Symlink),
        3 => Ok(Mode::Submodule),
        _ => Err(invalid("a mode is none of Git's")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn entry(path: &[u8], mode: Mode, freshness: Freshness) -> StatCacheEntry {
        let stat = FileStat { inode: 5, size: 6, mtime_ns: -7, ctime_ns: i64::MAX, mode: 0o100_644 };
        StatCacheEntry {
            path: RepoPath::parse(path).expect("a valid path"),
            mode,
            oid: GitOid::Sha256([9; 32]),
            stat,
            freshness,
        }
    }

    fn written(entries: &[StatCacheEntry]) -> Vec<u8> {
        let directory = tempfile::tempdir().expect("a temporary directory");
        let path = directory.path().join("stat-cache");
        let mut writer = StatCacheWriter::create(&path).expect("the file is made");
        entries.iter().for_each(|entry| writer.add(entry).expect("the entry is written"));
        writer.finish().expect("the file is ended");
        std::fs::read(&path).expect("the file is read")
    }

    #[test]
    fn entries_are_read_back_as_they_were_written() {
        let entries = [
            entry(b"a\nb\xff", Mode::File, Freshness::Racy),
            entry(b"b", Mode::Executable, Freshness::Proven),
            entry(b"c", Mode::Symlink, Freshness::Proven),
            entry(b"d/e", Mode::Submodule, Freshness::Proven),
        ];
        let bytes = written(&entries);
        let read: io::Result<Vec<_>> = StatCacheReader::new(&bytes[..]).expect("it opens").collect();
        assert_eq!(read.expect("every entry is read"), entries);
    }

    #[test]
    fn a_cache_that_was_cut_off_anywhere_is_an_error() {
        let bytes = written(&[entry(b"a", Mode::File, Freshness::Proven), entry(b"b", Mode::File, Freshness::Racy)]);
        for length in 0..bytes.len() {
            let result =
                StatCacheReader::new(&bytes[..length]).and_then(|reader| reader.collect::<io::Result<Vec<_>>>());
            assert!(result.is_err(), "cut off after {length} bytes");
        }
    }

    proptest! {
        #[test]
        fn reading_any_bytes_ends_without_panic(tail in proptest::collection::vec(any::<u8>(), 0..400)) {
            let bytes = [MAGIC.as_slice(), &tail].concat();
            let reader = StatCacheReader::new(&bytes[..]).expect("the magic is there");
            // An error is the last item of any.
            prop_assert!(reader.count() <= tail.len() + 1);
        }
    }
}
