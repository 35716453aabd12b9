//! The stat cache: every tracked path of a Workspace as checkout left it, kept outside of what a workload can write.
//!
//! A file is `ISOBOX-STAT 2\n`, then one entry a path in ascending order of path bytes, a zero of two bytes, and what an
//! entry is found by: the offset in the file of each 16th entry from the first on, the offset of each submodule's entry,
//! and in the end the number of entries, the number of submodules, and the offset of these offsets. Offsets and those
//! three have eight bytes, numbers are little-endian. It is read from any entry on as a stream, so memory does not grow with
//! the number of paths.

mod reader;
mod searched;
mod writer;

pub(crate) use searched::{Position, StatCache};
pub(crate) use writer::StatCacheWriter;

use isobox_domain::change::Mode;
use isobox_domain::git_oid::GitOid;
use isobox_domain::repo_path::RepoPath;
use std::os::unix::fs::MetadataExt;

const MAGIC: &[u8; 14] = b"ISOBOX-STAT 2\n";
/// From how many entries one is marked by its offset.
const INTERVAL: u64 = 16;
/// Bytes of an offset.
const OFFSET_BYTES: u64 = 8;
/// Bytes of the three numbers at the end.
const FOOTER_BYTES: u64 = 24;

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

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use std::io;
    use std::path::{Path, PathBuf};

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

    fn written(entries: &[StatCacheEntry]) -> (tempfile::TempDir, PathBuf) {
        let directory = tempfile::tempdir().expect("a temporary directory");
        let path = directory.path().join("stat-cache");
        let mut writer = StatCacheWriter::create(&path).expect("the file is made");
        entries.iter().for_each(|entry| writer.add(entry).expect("the entry is written"));
        writer.finish().expect("the file is ended");
        (directory, path)
    }

    fn read(path: &Path) -> io::Result<Vec<StatCacheEntry>> {
        let mut position = StatCache::open(path)?.first()?;
        std::iter::from_fn(|| position.take().transpose()).collect()
    }

    fn numbered(count: u32) -> Vec<StatCacheEntry> {
        let mode = |number| if number % 7 == 3 { Mode::Submodule } else { Mode::File };
        let long = |number: u32| "n".repeat(if number.is_multiple_of(5) { 300 } else { 3 });
        let path = |number| format!("{:04}/{}", number * 2, long(number));
        (0..count).map(|number| entry(path(number).as_bytes(), mode(number), Freshness::Proven)).collect()
    }

    #[test]
    fn entries_are_read_back_as_they_were_written() {
        let entries = [
            entry(b"a\nb\xff", Mode::File, Freshness::Racy),
            entry(b"b", Mode::Executable, Freshness::Proven),
            entry(b"c", Mode::Symlink, Freshness::Proven),
            entry(b"d/e", Mode::Submodule, Freshness::Proven),
        ];
        let (_directory, path) = written(&entries);
        assert_eq!(read(&path).expect("every entry is read"), entries);
    }

    #[test]
    fn every_entry_is_found_by_its_path_from_any_place_before() {
        for count in [0, 1, 15, 16, 17, 100] {
            let entries = numbered(count);
            let (_directory, path) = written(&entries);
            let cache = StatCache::open(&path).expect("it opens");
            let mut from = cache.first().expect("it is read");
            for start in 0..=entries.len() {
                for target in (start * 2)..=(entries.len() * 2) {
                    // Between two entries, and at one.
                    let path = format!("{target:04}");
                    let position = cache.seek(path.as_bytes(), &from).expect("it is read");
                    assert_eq!(position.next.as_ref(), entries.get(target.div_ceil(2)), "{path} of {count}");
                }
                from.take().expect("it is read");
            }
        }
    }

    #[test]
    fn what_follows_an_entry_that_was_found_are_the_others() {
        let entries = numbered(50);
        let (_directory, path) = written(&entries);
        let cache = StatCache::open(&path).expect("it opens");
        let mut position = cache.seek(b"0040", &cache.first().expect("it is read")).expect("it is read");
        let rest: io::Result<Vec<_>> = std::iter::from_fn(|| position.take().transpose()).collect();
        assert_eq!(rest.expect("every entry is read"), entries[20..]);
    }

    #[test]
    fn submodules_are_told_without_reading_what_is_between_them() {
        let entries = numbered(50);
        let (_directory, path) = written(&entries);
        let expected = entries.iter().filter(|entry| entry.mode == Mode::Submodule).map(|entry| entry.path.clone());
        let found = StatCache::open(&path).and_then(|cache| cache.submodules()).expect("they are read");
        assert_eq!(found, expected.collect::<Vec<_>>());
    }

    #[test]
    fn a_cache_that_was_cut_off_anywhere_is_an_error() {
        let (_directory, path) = written(&numbered(20));
        let file = std::fs::File::options().write(true).open(&path).expect("it opens");
        for length in (0..std::fs::metadata(&path).expect("it is there").len()).rev() {
            file.set_len(length).expect("it is cut off");
            assert!(StatCache::open(&path).is_err(), "cut off after {length} bytes");
        }
    }

    proptest! {
        #[test]
        fn reading_any_bytes_ends_without_panic(
            entries in 0_u64..40, submodules in 0_u64..4, tail in proptest::collection::vec(any::<u8>(), 0..600),
        ) {
            let directory = tempfile::tempdir().expect("a temporary directory");
            let path = directory.path().join("stat-cache");
            let offsets_length = (entries.div_ceil(INTERVAL) + submodules) * OFFSET_BYTES;
            let offsets = (MAGIC.len() as u64 + tail.len() as u64).saturating_sub(offsets_length);
            let footer: Vec<u8> = [entries, submodules, offsets].into_iter().flat_map(u64::to_le_bytes).collect();
            std::fs::write(&path, [MAGIC.as_slice(), &tail, &footer].concat()).expect("it is written");
            let Ok(cache) = StatCache::open(&path) else { return Ok(()) };
            drop((read(&path), cache.submodules()));
            if let Ok(first) = cache.first() {
                drop(cache.seek(b"x/y", &first));
            }
        }
    }
}
