//! The seal of a pristine copy: what is written last, and says that everything else is in place.
//!
//! A file is a sequence of fields, each ended by a NUL byte: `ISOBOX-PRISTINE 2`, the id, the source, the branch (empty
//! for none), the commit, bytes, paths and the hash of small files; then lists, each behind the number of its items: the
//! files beside the tree (stat), the copies below (name and id), the filters (name and paths), the submodules that are
//! missing (path, commit, number of candidates and these), and the samples (path and stat). Last comes the CRC-32 of all
//! before it, in hex digits.

use super::wanted::Wanted;
use crate::fields::{self, count, number, read_regular, text};
use crate::stat_cache::FileStat;
use crate::workspace::pinned::MissingSubmodule;
use isobox_domain::content::hex;
use isobox_domain::git_oid::GitOid;
use isobox_domain::repo_path::RepoPath;
use std::ffi::OsStr;
use std::io::{self, Write};
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

const MAGIC: &[u8] = b"ISOBOX-PRISTINE 2";
/// What lies beside the tree of a copy, and capture cannot do without.
pub(super) const BESIDE: [&str; 2] = ["base", "stat-cache"];
/// Longest seal that is read back, in bytes.
const LONGEST: u64 = 4 << 20;
/// Hex digits of the CRC, and its NUL byte.
const CRC_BYTES: usize = 9;

/// What is to be known of a pristine copy without looking into it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Seal {
    /// Hex digits that tell it apart from one that was at its place before.
    pub(crate) id: String,
    /// Absolute path of the Git directory that it was made from.
    pub(crate) source: PathBuf,
    /// Full name of the branch that HEAD is on in it.
    pub(crate) branch: Option<Vec<u8>>,
    /// The commit.
    pub(crate) commit: GitOid,
    /// Bytes that it takes on disk, without the copies below it, as far as whole blocks of files go.
    pub(crate) bytes: u64,
    /// Tracked paths.
    pub(crate) paths: u64,
    /// What stands for the files of its `.git` that have no hash of their own: see [`hash_of_git`].
    pub(crate) git: String,
    /// The files beside its tree, in the order of [`BESIDE`], as they were made.
    pub(crate) beside: Vec<FileStat>,
    /// The copies that it lies on, the uppermost first: names of their directories, beside its own, and ids.
    pub(crate) below: Vec<(String, String)>,
    /// Filter drivers that were not run, each with how many paths name it.
    pub(crate) filters: Vec<(Vec<u8>, u64)>,
    /// Submodules that are empty directories.
    pub(crate) missing: Vec<MissingSubmodule>,
    /// Some of the paths that lie in the copy itself, as they were made.
    pub(crate) samples: Vec<(RepoPath, FileStat)>,
}

/// What a seal says beside what is wanted.
pub(super) struct Sealed {
    /// Bytes that it takes on disk.
    pub(super) bytes: u64,
    /// Tracked paths.
    pub(super) paths: u64,
    /// The copies that it lies on.
    pub(super) below: Vec<(String, String)>,
    /// Filter drivers that were not run.
    pub(super) filters: Vec<(Vec<u8>, u64)>,
    /// Submodules that are empty directories.
    pub(super) missing: Vec<MissingSubmodule>,
    /// Some of its paths.
    pub(super) samples: Vec<(RepoPath, FileStat)>,
}

impl Seal {
    /// The seal `id` of the copy of `wanted` that is made from the Git directory `source`, to be closed.
    pub(super) fn of(id: &str, source: &Path, wanted: &Wanted, sealed: Sealed) -> Self {
        let Sealed { bytes, paths, below, filters, missing, samples } = sealed;
        let (id, source, Wanted { branch, commit, .. }) = (id.to_owned(), source.to_owned(), wanted.clone());
        Self {
            id,
            source,
            branch,
            commit,
            bytes,
            paths,
            git: String::new(),
            beside: vec![],
            below,
            filters,
            missing,
            samples,
        }
    }

    /// Notes what lies in the directory `making`, where all else is written, and puts the seal there.
    pub(super) fn close(mut self, making: &Path) -> io::Result<()> {
        self.git = hash_of_git(making)?;
        self.beside = beside(making)?;
        std::fs::File::create_new(making.join("seal"))?.write_all(&self.encode())
    }

    /// Reads it back; `None` for anything that is no whole seal of this version.
    pub(crate) fn load(host_path: &Path) -> Option<Self> {
        Self::decode(&read_regular(host_path, LONGEST).ok()?)
    }

    fn encode(&self) -> Vec<u8> {
        let oid = |oid: &GitOid| oid.to_string().into_bytes();
        let path = |path: &Path| path.as_os_str().as_bytes().to_vec();
        let mut fields = vec![MAGIC.to_vec(), self.id.clone().into_bytes(), path(&self.source)];
        fields.extend([self.branch.clone().unwrap_or_default(), oid(&self.commit)]);
        fields.extend([self.bytes, self.paths].map(|number| number.to_string().into_bytes()));
        fields.push(self.git.clone().into_bytes());
        fields.push(count(self.beside.len()));
        fields.extend(self.beside.iter().map(encode_stat));
        fields.push(count(self.below.len()));
        fields.extend(self.below.iter().flat_map(|(name, id)| [name, id].map(|text| text.clone().into_bytes())));
        fields.push(count(self.filters.len()));
        fields.extend(self.filters.iter().flat_map(|(name, paths)| [name.clone(), paths.to_string().into_bytes()]));
        fields.push(count(self.missing.len()));
        for MissingSubmodule { path: place, commit, candidates } in &self.missing {
            fields.extend([place.as_bytes().to_vec(), oid(commit), count(candidates.len())]);
            fields.extend(candidates.iter().map(|candidate| path(candidate)));
        }
        fields.push(count(self.samples.len()));
        fields.extend(self.samples.iter().flat_map(|(path, stat)| [path.as_bytes().to_vec(), encode_stat(stat)]));
        let mut bytes = fields::join(fields);
        let crc = crc32fast::hash(&bytes);
        bytes.extend(format!("{crc:08x}\0").into_bytes());
        bytes
    }

    fn decode(bytes: &[u8]) -> Option<Self> {
        let (body, crc) = bytes.split_at_checked(bytes.len().checked_sub(CRC_BYTES)?)?;
        if crc != format!("{:08x}\0", crc32fast::hash(body)).as_bytes() {
            return None;
        }
        let mut fields = Fields(body.strip_suffix(&[0])?.split(|&byte| byte == 0));
        if fields.next()? != MAGIC {
            return None;
        }
        let seal = Self {
            id: fields.text()?,
            source: fields.path()?,
            branch: Some(fields.next()?.to_vec()).filter(|branch| !branch.is_empty()),
            commit: fields.oid()?,
            bytes: number(fields.next()?)?,
            paths: number(fields.next()?)?,
            git: fields.text()?,
            beside: fields.list(|fields| decode_stat(fields.next()?))?,
            below: fields.list(|fields| Some((fields.text()?, fields.text()?)))?,
            filters: fields.list(|fields| Some((fields.next()?.to_vec(), number(fields.next()?)?)))?,
            missing: fields.list(|fields| {
                let (path, commit) = (fields.repo_path()?, fields.oid()?);
                Some(MissingSubmodule { path, commit, candidates: fields.list(Fields::path)? })
            })?,
            samples: fields.list(|fields| Some((fields.repo_path()?, decode_stat(fields.next()?)?)))?,
        };
        fields.next().is_none().then_some(seal)
    }
}

/// What the file system says about the files beside the tree of the copy in `directory`, which are all written.
fn beside(directory: &Path) -> io::Result<Vec<FileStat>> {
    let stat = |name| std::fs::symlink_metadata(directory.join(name)).map(|found| FileStat::of(&found));
    BESIDE.into_iter().map(stat).collect()
}

/// The hash, in hex digits, of what the copy in `directory` itself has of the small files of a `.git`.
pub(super) fn hash_of_git(directory: &Path) -> io::Result<String> {
    let mut hasher = blake3::Hasher::new();
    for name in ["HEAD", "config", "packed-refs", "shallow"] {
        let host_path = directory.join("tree/.git").join(name);
        // Of what cannot be opened, a whiteout, nothing but that it is there.
        let content = match std::fs::symlink_metadata(&host_path) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => None,
            found => match found?.is_file() {
                true => Some(read_regular(&host_path, LONGEST)?),
                false => Some(vec![]),
            },
        };
        let length = content.as_ref().map_or(u64::MAX, |content| content.len() as u64);
        hasher.update(&length.to_le_bytes()).update(&content.unwrap_or_default());
    }
    Ok(hex(hasher.finalize().as_bytes()))
}

struct Fields<I>(I);

impl<'a, I: Iterator<Item = &'a [u8]>> Fields<I> {
    fn next(&mut self) -> Option<&'a [u8]> {
        self.0.next()
    }

    fn text(&mut self) -> Option<String> {
        text(self.next()?).map(str::to_owned)
    }

    fn path(&mut self) -> Option<PathBuf> {
        Some(PathBuf::from(OsStr::from_bytes(self.next()?)))
    }

    fn repo_path(&mut self) -> Option<RepoPath> {
        RepoPath::parse(self.next()?).ok()
    }

    fn oid(&mut self) -> Option<GitOid> {
        GitOid::from_hex(text(self.next()?)?)
    }

    fn list<T>(&mut self, item: impl Fn(&mut Self) -> Option<T>) -> Option<Vec<T>> {
        let items: usize = number(self.next()?)?;
        (0..items).map(|_| item(self)).collect()
    }
}

fn encode_stat(stat: &FileStat) -> Vec<u8> {
    let FileStat { inode, size, mtime_ns, ctime_ns, mode } = stat;
    format!("{inode} {size} {mtime_ns} {ctime_ns} {mode}").into_bytes()
}

fn decode_stat(field: &[u8]) -> Option<FileStat> {
    let parts: Vec<&[u8]> = field.split(|&byte| byte == b' ').collect();
    let [inode, size, mtime_ns, ctime_ns, mode] = parts[..] else { return None };
    Some(FileStat {
        inode: number(inode)?,
        size: number(size)?,
        mtime_ns: number(mtime_ns)?,
        ctime_ns: number(ctime_ns)?,
        mode: number(mode)?,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn seal() -> Seal {
        let path = |bytes: &[u8]| RepoPath::parse(bytes).expect("a valid path");
        let oid = GitOid::Sha1([3; 20]);
        let missing = MissingSubmodule { path: path(b"x/\xff"), commit: oid, candidates: vec!["/a\nb".into()] };
        Seal {
            id: "0123".into(),
            source: "/a\nb/.git".into(),
            branch: None,
            commit: oid,
            bytes: u64::MAX,
            paths: 7,
            git: "89".into(),
            beside: vec![FileStat { inode: 5, size: 6, mtime_ns: 7, ctime_ns: 8, mode: 0o100_600 }],
            below: vec![("ab-01".into(), "45".into()), ("cd-01".into(), "67".into())],
            filters: vec![(b"lfs".to_vec(), 3)],
            missing: vec![missing],
            samples: vec![(path(b"a"), FileStat { inode: 1, size: 2, mtime_ns: -3, ctime_ns: 4, mode: 0o100_644 })],
        }
    }

    #[test]
    fn a_seal_is_read_back_as_it_was_written() {
        let directory = tempfile::tempdir().expect("a temporary directory");
        std::fs::write(directory.path().join("base"), "1").expect("a file is written");
        std::fs::write(directory.path().join("stat-cache"), "23").expect("a file is written");
        seal().close(directory.path()).expect("it is written");
        let read = Seal::load(&directory.path().join("seal")).expect("it is read");
        assert_eq!(read.beside.iter().map(|file| file.size).collect::<Vec<_>>(), [1, 2]);
        assert_eq!(Seal { git: seal().git, beside: seal().beside, ..read }, seal());
        assert_eq!(Seal::load(&directory.path().join("none")), None);
    }

    #[test]
    fn a_seal_that_was_cut_off_or_changed_anywhere_is_none() {
        let bytes = seal().encode();
        for position in 0..bytes.len() {
            assert_eq!(Seal::decode(&bytes[..position]), None, "cut off after {position} bytes");
            let mut changed = bytes.clone();
            changed[position] ^= 1;
            assert_eq!(Seal::decode(&changed), None, "byte {position} changed");
        }
    }
}
