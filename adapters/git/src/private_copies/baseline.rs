//! What copies held when they were made: against that their changes are told.
//!
//! It is a file beside the copies: for each copy that is captured `R`, its host path and its number; for each thing in one a letter
//! for its kind, its path, and for files and links Git's name of it, its BLAKE3 and its length. A path has its length, of four
//! bytes, before it. Numbers are little-endian.

use crate::fields::{invalid, read_array, read_regular};
use crate::oid;
use gix::hash::Kind;
use isobox_domain::change::Mode;
use isobox_domain::content::{ContentId, ContentRef};
use isobox_domain::git_oid::GitOid;
use std::collections::BTreeMap;
use std::fs::OpenOptions;
use std::io::{self, Read, Write};
use std::os::unix::fs::OpenOptionsExt;
use std::path::Path;

/// Longest file that is read, in bytes: the most entries that are copied, each with a path of the longest kind.
const LONGEST: u64 = 1 << 30;
const ROOT: u8 = b'R';
const KINDS: [(u8, Option<Mode>); 4] =
    [(b'D', None), (b'F', Some(Mode::File)), (b'X', Some(Mode::Executable)), (b'L', Some(Mode::Symlink))];

/// Something that was copied.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Copied {
    /// A directory.
    Directory,
    /// A file or a link.
    Content { mode: Mode, oid: GitOid, content: ContentRef },
}

/// What was copied, by host paths without their first slash.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Baseline {
    /// Of each copy its host path, and the number of the directory that it lies in.
    pub(super) roots: Vec<(Vec<u8>, u32)>,
    /// Everything in them.
    pub(crate) files: BTreeMap<Vec<u8>, Copied>,
}

impl Baseline {
    /// Notes a directory.
    pub(super) fn note_directory(&mut self, host_path: &[u8]) {
        self.files.insert(relative(host_path).to_vec(), Copied::Directory);
    }

    /// Notes a file or link with all that `content` yields.
    pub(super) fn note(&mut self, host_path: &[u8], mode: Mode, length: u64, content: impl Read) -> io::Result<()> {
        let (oid, content) = hashed(length, content)?;
        self.files.insert(relative(host_path).to_vec(), Copied::Content { mode, oid, content });
        Ok(())
    }

    pub(super) fn write(&self, host_path: &Path) -> io::Result<()> {
        let mut bytes = Vec::new();
        for (path, number) in &self.roots {
            bytes.push(ROOT);
            put_path(&mut bytes, path);
            bytes.extend(number.to_le_bytes());
        }
        for (path, copied) in &self.files {
            let mode = match copied {
                Copied::Directory => None,
                Copied::Content { mode, .. } => Some(*mode),
            };
            bytes.extend(KINDS.iter().find(|(_, known)| *known == mode).map(|(letter, _)| *letter));
            put_path(&mut bytes, path);
            if let Copied::Content { oid, content, .. } = copied {
                bytes.extend(oid.as_bytes());
                bytes.extend(content.id.as_bytes());
                bytes.extend(content.length.to_le_bytes());
            }
        }
        OpenOptions::new().write(true).create_new(true).mode(0o600).open(host_path)?.write_all(&bytes)
    }

    pub(super) fn read(host_path: &Path) -> io::Result<Self> {
        let bytes = read_regular(host_path, LONGEST)?;
        let (mut input, mut baseline) = (&bytes[..], Self::default());
        while let Some((letter, rest)) = input.split_first() {
            input = rest;
            let path = take_path(&mut input)?;
            if *letter == ROOT {
                baseline.roots.push((path, u32::from_le_bytes(read_array(&mut input)?)));
                continue;
            }
            let kind =
                KINDS.iter().find(|(known, _)| known == letter).ok_or_else(|| invalid("it has an unknown entry"))?;
            let copied = match kind.1 {
                None => Copied::Directory,
                Some(mode) => {
                    let oid = GitOid::Sha1(read_array(&mut input)?);
                    let id = ContentId::new(read_array(&mut input)?);
                    let content = ContentRef { id, length: u64::from_le_bytes(read_array(&mut input)?) };
                    Copied::Content { mode, oid, content }
                }
            };
            baseline.files.insert(path, copied);
        }
        Ok(baseline)
    }
}

fn put_path(bytes: &mut Vec<u8>, path: &[u8]) {
    // No path is as long as that.
    bytes.extend(u32::try_from(path.len()).unwrap_or(u32::MAX).to_le_bytes());
    bytes.extend(path);
}

fn take_path(input: &mut &[u8]) -> io::Result<Vec<u8>> {
    let length = u32::from_le_bytes(read_array(input)?) as usize;
    let (path, rest) = input.split_at_checked(length).ok_or_else(|| invalid("it ends early"))?;
    *input = rest;
    Ok(path.to_vec())
}

/// A host path without its first slash.
pub(super) fn relative(host_path: &[u8]) -> &[u8] {
    host_path.strip_prefix(b"/").unwrap_or(host_path)
}

/// Git's name of a blob of `length` bytes, and isobox's own.
pub(crate) fn hashed(length: u64, content: impl Read) -> io::Result<(GitOid, ContentRef)> {
    let (mut git, mut own) = (oid::blob_hasher(Kind::Sha1, length), Hashed { content, hasher: blake3::Hasher::new() });
    let length = oid::hash_all(&mut git, &mut own)?;
    let git = git.try_finalize().map_err(io::Error::other)?;
    Ok((oid::from_gix(&git), ContentRef { id: ContentId::new(*own.hasher.finalize().as_bytes()), length }))
}

/// What is read, hashed on the way.
struct Hashed<R> {
    content: R,
    hasher: blake3::Hasher,
}

impl<R: Read> Read for Hashed<R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let count = self.content.read(buffer)?;
        self.hasher.update(&buffer[..count]);
        Ok(count)
    }
}
