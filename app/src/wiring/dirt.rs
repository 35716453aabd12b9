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

    /// What the file at `path` would be written into and must not be, in words.
    pub(crate) fn harmed_by(&self, path: &Path) -> Result<Option<&'static str>, Failure> {
        let host_path = written_to(&absolute(path)?);
        Ok(match () {
            () if host_path.starts_with(without_links(&self.location.records)) => Some("the task store"),
            () if self.repository.is_of_git(&host_path) => Some("the Git directory of the repository"),
            () => None,
        })
    }
}

/// Most links that lead nowhere and are followed one after the other; as many as Linux follows in all.
const MOST_LINKS: usize = 40;

/// Where a file is written that is opened as `path`, an absolute one: a link to nothing makes what it leads to.
fn written_to(path: &Path) -> PathBuf {
    let mut host_path = without_links(path);
    for _ in 0..MOST_LINKS {
        let Ok(target) = host_path.read_link() else { break };
        host_path = without_links(&host_path.parent().unwrap_or(&host_path).join(target));
    }
    host_path
}

/// A project that is not clean with what was written.
pub(crate) struct Dirtied {
    /// Its root.
    pub(crate) root: PathBuf,
    /// What was written, from there.
    pub(crate) path: PathBuf,
}

/// The project that is not clean with the file or directory `path` in it, if there is one. Where no isobox works, nobody
/// minds.
pub(crate) fn dirtied_project(path: &Path, kind: Kind) -> Option<Dirtied> {
    let host_path = without_links(&absolute(path).ok()?);
    let directory = if kind == Kind::File { host_path.parent()? } else { &host_path };
    let repository = GixRepository::discover(directory).ok()?;
    let root = repository.root();
    let is_project = root.join(POLICY_PATH).exists() || Location::of_project(&repository).records.exists();
    let is_dirtied = repository.is_dirtied_by(&host_path, kind).ok()?;
    let path = host_path.strip_prefix(root).ok()?.to_owned();
    (is_project && is_dirtied).then(|| Dirtied { root: root.to_owned(), path })
}
