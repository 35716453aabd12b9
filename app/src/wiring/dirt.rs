//! Whether a file of isobox's own would make a repository unclean.

use super::{Location, Project, absolute, without_links};
use crate::failure::Failure;
use isobox_git::{GixRepository, Kind};
use isobox_host::POLICY_PATH;
use std::path::{Path, PathBuf};

impl Project {
    /// Whether the project is not clean once the file at `path` is written.
    pub(crate) fn is_dirtied_by(&self, path: &Path) -> Result<bool, Failure> {
        Ok(self.repository.is_dirtied_by(&without_links(&absolute(path)?), Kind::File)?)
    }
}

/// A project that is not clean with what was written to a directory.
pub(crate) struct Dirtied {
    /// Its root.
    pub(crate) root: PathBuf,
    /// The directory, from there.
    pub(crate) path: PathBuf,
}

/// The project that is not clean with the directory `path` in it, if there is one. Where no isobox works, nobody minds.
pub(crate) fn dirtied_project(path: &Path) -> Option<Dirtied> {
    let host_path = without_links(&absolute(path).ok()?);
    let repository = GixRepository::discover(&host_path).ok()?;
    let root = repository.root();
    let is_project = root.join(POLICY_PATH).exists() || Location::of_project(&repository).records.exists();
    let is_dirtied = repository.is_dirtied_by(&host_path, Kind::Directory).ok()?;
    let path = host_path.strip_prefix(root).ok()?.to_owned();
    (is_project && is_dirtied).then(|| Dirtied { root: root.to_owned(), path })
}
