//! Writing the index of a Workspace's `.git`: paths with what `stat(2)` said, so that `git status` reads no file again.
//!
//! The bytes are those of gitformat-index(5), version 2 without extensions. Entries go to the file as they come; how many
//! there are is known in the end, and so is the hash, for which the file is read once more.

use super::checkout::Made;
use crate::oid;
use isobox_domain::change::Mode;
use isobox_domain::git_oid::GitOid;
use isobox_domain::repo_path::RepoPath;
use std::fs::File;
use std::io::{self, BufWriter, Seek, SeekFrom, Write};
use std::os::unix::fs::FileExt;
use std::path::Path;

const HEADER: &[u8; 12] = b"DIRC\0\0\0\x02\0\0\0\0";
/// Where the number of entries is.
const COUNT_AT: u64 = 8;
/// Longest name that the flags of an entry can tell the length of.
const LONGEST_TOLD: usize = 0xfff;
/// Bytes of an entry's numbers, and of its flags.
const NUMBERS_BYTES: usize = 40;
const FLAGS_BYTES: usize = 2;

/// Writes an index.
pub(crate) struct IndexWriter {
    out: BufWriter<File>,
    entries: u32,
}

impl IndexWriter {
    /// Makes the index in `git_dir`, which has none.
    pub(crate) fn create(git_dir: &Path) -> io::Result<Self> {
        let file = File::options().read(true).write(true).create_new(true).open(git_dir.join("index"))?;
        let mut out = BufWriter::with_capacity(64 << 10, file);
        out.write_all(HEADER)?;
        Ok(Self { out, entries: 0 })
    }

    /// Adds a path. Paths come in ascending order of their bytes.
    pub(crate) fn add(&mut self, path: &RepoPath, mode: Mode, oid: &GitOid, made: &Made) -> io::Result<()> {
        self.entries = self.entries.checked_add(1).ok_or(io::ErrorKind::FileTooLarge)?;
        let path = path.as_bytes();
        for number in numbers(mode, made) {
            self.out.write_all(&number.to_be_bytes())?;
        }
        self.out.write_all(oid.as_bytes())?;
        let told = path.len().min(LONGEST_TOLD) as u16;
        self.out.write_all(&told.to_be_bytes())?;
        self.out.write_all(path)?;
        // One to eight NUL bytes up to a multiple of eight.
        let length = NUMBERS_BYTES + oid.as_bytes().len() + FLAGS_BYTES + path.len();
        self.out.write_all(&[0; 8][..8 - length % 8])
    }

    /// Ends the index, whose hash is of `kind`.
    pub(crate) fn finish(self, kind: gix::hash::Kind) -> io::Result<()> {
        let mut file = self.out.into_inner().map_err(io::IntoInnerError::into_error)?;
        file.write_all_at(&self.entries.to_be_bytes(), COUNT_AT)?;
        file.seek(SeekFrom::Start(0))?;
        let mut hasher = gix::hash::hasher(kind);
        oid::hash_all(&mut hasher, &mut file)?;
        let hash = hasher.try_finalize().map_err(io::Error::other)?;
        file.write_all(hash.as_slice())
    }
}

/// The numbers of an entry. Git keeps the lower 32 bits of each.
fn numbers(mode: Mode, made: &Made) -> [u32; 10] {
    let time = |ns: i64| [ns.div_euclid(1_000_000_000) as u32, ns.rem_euclid(1_000_000_000) as u32];
    let ([ctime_s, ctime_ns], [mtime_s, mtime_ns]) = (time(made.stat.ctime_ns), time(made.stat.mtime_ns));
    let (device, inode) = (made.device as u32, made.stat.inode as u32);
    [ctime_s, ctime_ns, mtime_s, mtime_ns, device, inode, bits(mode), made.uid, made.gid, made.stat.size as u32]
}

const fn bits(mode: Mode) -> u32 {
    match mode {
        Mode::File => 0o100_644,
        Mode::Executable => 0o100_755,
        Mode::Symlink => 0o120_000,
        Mode::Submodule => 0o160_000,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::stat_cache::FileStat;
    use gix::bstr::ByteSlice;

    #[test]
    fn gix_reads_every_entry_as_it_was_written() {
        let stat = FileStat { inode: 5 << 32 | 6, size: 7, mtime_ns: -1, ctime_ns: 8_000_000_009, mode: 0o100_644 };
        let made = Made { stat, device: 10, uid: 11, gid: 12 };
        let modes = [Mode::File, Mode::Executable, Mode::Symlink, Mode::Submodule];
        for (oid, kind) in
            [(GitOid::Sha1([1; 20]), gix::hash::Kind::Sha1), (GitOid::Sha256([2; 32]), gix::hash::Kind::Sha256)]
        {
            let directory = tempfile::tempdir().expect("a temporary directory");
            let paths: Vec<_> = (1..20)
                .chain([4_094, 4_095])
                .map(|length| RepoPath::parse("x/".repeat(length).as_bytes()[..length * 2 - 1].to_vec()))
                .filter_map(Result::ok)
                .collect();
            let mut writer = IndexWriter::create(directory.path()).expect("it is made");
            for (number, path) in paths.iter().enumerate() {
                writer.add(path, modes[number % 4], &oid, &made).expect("it is added");
            }
            writer.finish(kind).expect("it is written");
            let read = gix::index::File::at(directory.path().join("index"), kind, false, Default::default());
            let read = read.expect("it is an index whose hash is right");
            let found: Vec<_> = read.entries().iter().map(|entry| entry.path(&read).as_bytes().to_vec()).collect();
            assert_eq!(found, paths.iter().map(|path| path.as_bytes().to_vec()).collect::<Vec<_>>());
            let [file, executable, link, submodule] = [0, 1, 2, 3].map(|at| read.entries()[at].mode.bits());
            assert_eq!([file, executable, link, submodule], [0o100_644, 0o100_755, 0o120_000, 0o160_000]);
            let stat = read.entries()[0].stat;
            assert_eq!((stat.mtime.secs, stat.mtime.nsecs), (u32::MAX, 999_999_999));
            assert_eq!((stat.ctime.secs, stat.ctime.nsecs), (8, 9));
            assert_eq!((stat.dev, stat.ino, stat.uid, stat.gid, stat.size), (10, 6, 11, 12, 7));
            assert_eq!(oid::from_gix(&read.entries()[0].id), oid);
        }
    }
}
