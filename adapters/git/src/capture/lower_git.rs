//! The `.git` below that of an upper directory: what of it nobody changed belongs in an archive, too.

use super::marks::Marks;
use super::own_git::{Met, each_name, is_wanted_file};
use super::tree::open_root;
use crate::beneath::{self, Kind};
use nix::errno::Errno;
use std::collections::{BTreeMap, HashSet};
use std::io;
use std::os::fd::OwnedFd;
use std::path::PathBuf;

/// The `.git` of an overlay's lower directories, which isobox made: it has few files beside its objects.
#[derive(Default)]
pub(super) struct LowerGit {
    /// Handles of the `.git` of each lower directory that has one.
    gits: Vec<OwnedFd>,
    /// By path from `.git`: which of the handles has the file, and its length in bytes.
    files: BTreeMap<Vec<u8>, (usize, u64)>,
    /// Names of the files in `objects/pack`.
    packs: HashSet<Vec<u8>>,
}

/// A file that is the Workspace's as well.
pub(super) struct LowerFile<'a> {
    /// From `.git`.
    pub(super) path: &'a [u8],
    /// The `.git` that it lies in.
    pub(super) git: &'a OwnedFd,
    /// In bytes.
    pub(super) length: u64,
}

impl LowerGit {
    /// Reads what lies in `lowers`, the uppermost first.
    pub(super) fn read(lowers: &[PathBuf], marks: Marks) -> Result<Self, Errno> {
        let mut lower = Self::default();
        for host_path in lowers.iter().rev() {
            let root = open_root(host_path).map_err(|error| errno(&error))?;
            match beneath::look(&root, b".git") {
                Ok(seen) if seen.kind() == Kind::Directory => {
                    lower.add(beneath::open_directory(&root, b".git")?, marks)?;
                }
                Ok(_) => lower.hide(b""),
                Err(Errno::ENOENT) => {}
                Err(errno) => return Err(errno),
            }
        }
        Ok(lower)
    }

    fn add(&mut self, git: OwnedFd, marks: Marks) -> Result<(), Errno> {
        if marks.is_opaque(&git)? {
            self.hide(b"");
        }
        let index = self.gits.len();
        let lost = each_name(&git, Some(marks), &mut |met| {
            self.meet(&met);
            if let Some(name) = met.path.strip_prefix(b"objects/pack/") {
                self.packs.insert(name.to_vec());
            }
            let is_object = met.path.starts_with(b"objects/");
            if met.seen.kind() == Kind::File && is_wanted_file(met.path) && !is_object {
                self.files.insert(met.path.to_vec(), (index, met.seen.stat.size));
            }
            Ok(())
        });
        self.gits.push(git);
        lost.map_err(|error| errno(&error))?.map_or(Ok(()), Err)
    }

    /// Lets a name of a directory above come before what lies here.
    pub(super) fn meet(&mut self, met: &Met<'_>) {
        self.files.remove(met.path);
        if met.hides_below {
            self.hide(&[met.path, b"/"].concat());
        }
    }

    /// Hides all files below a prefix: nothing, or the path of a directory with its slash.
    pub(super) fn hide(&mut self, prefix: &[u8]) {
        if self.files.range(prefix.to_vec()..).next().is_some_and(|(path, _)| path.starts_with(prefix)) {
            self.files.retain(|path, _| !path.starts_with(prefix));
        }
    }

    /// The files that are to be seen and belong in an archive, in ascending order of path bytes.
    pub(super) fn files(&self) -> impl Iterator<Item = LowerFile<'_>> {
        self.files.iter().map(|(path, &(index, length))| LowerFile { path, git: &self.gits[index], length })
    }

    /// Whether `objects/pack` of any lower directory has a file of this name.
    pub(super) fn has_pack(&self, name: &[u8]) -> bool {
        self.packs.contains(name)
    }
}

fn errno(error: &io::Error) -> Errno {
    error.raw_os_error().map_or(Errno::EIO, Errno::from_raw)
}
