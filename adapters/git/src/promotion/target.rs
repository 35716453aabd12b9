//! The working tree that a Promotion goes into, for looking.

use super::dir::Dir;
use crate::oid;
use gix::filter::Pipeline;
use gix::filter::plumbing::pipeline::convert::ToGitOutcome;
use gix::worktree::IndexPersistedOrInMemory;
use isobox_domain::git_oid::GitOid;
use isobox_domain::repo_path::RepoPath;
use std::cell::RefCell;
use std::ffi::OsStr;
use std::fs::File;
use std::io;
use std::os::unix::ffi::OsStrExt;
use std::path::Path;

/// The working tree and what of its repository decides how files are compared.
pub(crate) struct Target<'git> {
    /// Its root.
    pub(super) root: Dir,
    /// Whether the file system keeps executable bits: `core.fileMode`.
    pub(crate) trusts_exec_bit: bool,
    git: &'git gix::Repository,
    git_directories: Vec<(u64, u64)>,
    conversion: RefCell<Option<(Pipeline<'git>, IndexPersistedOrInMemory)>>,
}

impl<'git> Target<'git> {
    /// Opens the working tree at `root_path`. `git` knows no filter driver.
    pub(crate) fn open(git: &'git gix::Repository, root_path: &Path) -> io::Result<Self> {
        let mut git_directories = Vec::new();
        for host_path in [git.git_dir(), git.common_dir()] {
            let stat = Dir::open(host_path)?.stat_self()?;
            git_directories.push((stat.st_dev, stat.st_ino));
        }
        Ok(Self {
            root: Dir::open(root_path)?,
            trusts_exec_bit: git.config_snapshot().boolean("core.fileMode").unwrap_or(true),
            git,
            git_directories,
            conversion: RefCell::new(None),
        })
    }

    /// The repository.
    pub(super) fn git(&self) -> &'git gix::Repository {
        self.git
    }

    /// Whether `dir` is a Git directory of this working tree, under whatever name.
    pub(super) fn is_git_directory(&self, dir: &Dir) -> io::Result<bool> {
        let stat = dir.stat_self()?;
        Ok(self.git_directories.contains(&(stat.st_dev, stat.st_ino)))
    }

    /// The blob that `file` at `path` stands for, by the repository's conversions without filter drivers.
    pub(crate) fn normalised_oid(&self, path: &RepoPath, file: File) -> io::Result<GitOid> {
        self.convert(path, file, |git, content| content.oid(git).map(|oid| oid::from_gix(&oid)))
    }

    /// Hands the blob that `file` at `path` stands for to `then`.
    pub(super) fn convert<T>(
        &self,
        path: &RepoPath,
        file: File,
        then: impl FnOnce(&gix::Repository, Normalised<'_>) -> io::Result<T>,
    ) -> io::Result<T> {
        let mut conversion = self.conversion.borrow_mut();
        if conversion.is_none() {
            *conversion = Some(self.git.filter_pipeline(None).map_err(io::Error::other)?);
        }
        let Some((pipeline, index)) = conversion.as_mut() else { return Err(io::Error::other("no conversions")) };
        let path = Path::new(OsStr::from_bytes(path.as_bytes()));
        match pipeline.convert_to_git(file, path, index).map_err(io::Error::other)? {
            ToGitOutcome::Unchanged(file) => then(self.git, Normalised::File(file)),
            ToGitOutcome::Buffer(bytes) => then(self.git, Normalised::Bytes(bytes)),
            ToGitOutcome::Process(_) => Err(io::Error::other("a filter driver would have to run")),
        }
    }
}

/// The content of a blob, not yet named.
pub(super) enum Normalised<'a> {
    /// That of a whole file.
    File(File),
    /// These bytes.
    Bytes(&'a [u8]),
}

impl Normalised<'_> {
    /// Git's name for it, computed without holding a file in memory.
    pub(super) fn oid(&self, git: &gix::Repository) -> io::Result<gix::ObjectId> {
        match self {
            Self::Bytes(bytes) => {
                gix::objs::compute_hash(git.object_hash(), gix::objs::Kind::Blob, bytes).map_err(io::Error::other)
            }
            Self::File(file) => file_oid(git, file),
        }
    }
}

fn file_oid(git: &gix::Repository, mut file: &File) -> io::Result<gix::ObjectId> {
    let mut hasher = oid::blob_hasher(git.object_hash(), file.metadata()?.len());
    oid::hash_all(&mut hasher, &mut file)?;
    hasher.try_finalize().map_err(io::Error::other)
}
