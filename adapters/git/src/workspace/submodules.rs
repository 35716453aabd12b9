//! Finding the objects of a submodule in the trusted repository. Nothing is fetched.

use super::failure;
use super::tree::{CommitTree, TreeEntry};
use crate::discovery;
use gix::ObjectId;
use gix::bstr::ByteSlice;
use isobox_domain::change::Mode;
use isobox_domain::repo_path::RepoPath;
use isobox_ports::WorkspaceError;
use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

/// The first repository at one of `candidates` that has `commit`, and where it is.
pub(crate) fn open(candidates: &[PathBuf], commit: &gix::oid) -> Option<(gix::Repository, PathBuf)> {
    for host_path in candidates.iter().filter(|host_path| host_path.is_dir()) {
        // One that belongs to somebody else, or is damaged, is as good as none: its directory stays empty, which is told.
        if let Ok(submodule) = discovery::open_owned(host_path)
            && submodule.find_commit(commit).is_ok()
        {
            return Some((submodule, host_path.clone()));
        }
    }
    None
}

/// A submodule that a commit names.
pub(super) struct Submodule {
    /// Its path from the root of the repository that names it.
    pub(super) path: RepoPath,
    /// The commit of it.
    pub(super) commit: ObjectId,
    /// Where Git keeps it, whether it is there or not: below the Git directory of this working tree, of the main one, or
    /// in the working tree.
    pub(super) candidates: Vec<PathBuf>,
}

/// The submodules of `tree`, a commit of `repository`.
pub(super) fn named(repository: &gix::Repository, tree: &CommitTree) -> Result<Vec<Submodule>, WorkspaceError> {
    let submodules = tree.entries.iter().filter(|entry| entry.mode == Mode::Submodule);
    let named = submodules.map(|TreeEntry { path, oid, .. }| {
        let candidates = candidates(repository, name(repository, tree, path)?.as_ref(), path);
        Ok(Submodule { path: path.clone(), commit: *oid, candidates })
    });
    named.collect()
}

fn candidates(repository: &gix::Repository, name: Option<&RepoPath>, path: &RepoPath) -> Vec<PathBuf> {
    let module = |git_dir: &Path| name.map(|name| git_dir.join("modules").join(OsStr::from_bytes(name.as_bytes())));
    let checkout = repository.workdir().map(|root| root.join(OsStr::from_bytes(path.as_bytes())).join(".git"));
    let absorbed = [module(repository.git_dir()), module(repository.common_dir())];
    absorbed.into_iter().chain([checkout]).flatten().collect()
}

/// The name that the commit's `.gitmodules` gives to the submodule at `path`.
fn name(repository: &gix::Repository, tree: &CommitTree, path: &RepoPath) -> Result<Option<RepoPath>, WorkspaceError> {
    let is_file = |e: &&TreeEntry| e.path.as_bytes() == b".gitmodules" && e.mode != Mode::Symlink;
    let Some(gitmodules) = tree.entries.iter().find(is_file) else { return Ok(None) };
    let blob = repository.find_blob(gitmodules.oid).map_err(|e| failure("read .gitmodules of the pinned commit", e))?;
    let Ok(modules) = gix::submodule::File::from_bytes(&blob.data, None, &Default::default()) else { return Ok(None) };
    let name = modules.name_by_path(path.as_bytes().as_bstr());
    // A name such as `../x` would lead out of `modules`; as a RepoPath it cannot.
    Ok(name.and_then(|name| RepoPath::parse(name.to_vec()).ok()))
}
