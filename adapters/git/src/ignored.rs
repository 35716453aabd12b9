//! Whether Git ignores a path of the working tree.

use crate::repository::{GixRepository, failure};
use gix::index::entry::Mode;
use isobox_domain::fact::IgnoreCoverage;
use isobox_ports::RepositoryError;
use std::error::Error;
use std::os::unix::ffi::OsStrExt;
use std::path::Path;

/// What lies at a path, or would.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// A file.
    File,
    /// A directory with files in it.
    Directory,
}

/// By every rule that Git has: of the working tree, of the repository and of the user. `path` is from the root.
pub(crate) fn coverage(repository: &GixRepository, path: &Path, kind: Kind) -> Result<IgnoreCoverage, String> {
    let gix = repository.gix();
    let failed = |error: &dyn Error| format!("ask Git's rules about {}: {error}", path.display());
    let index = gix.index_or_empty().map_err(|error| failed(&error))?;
    let bytes = path.as_os_str().as_bytes();
    let below = [bytes, b"/"].concat();
    if index.entries().iter().map(|entry| entry.path(&index)).any(|known| known == bytes || known.starts_with(&below)) {
        return Ok(IgnoreCoverage::Tracked);
    }
    let source = gix::worktree::stack::state::ignore::Source::WorktreeThenIdMappingIfNotSkipped;
    let mut rules = gix.excludes(&index, None, source).map_err(|error| failed(&error))?;
    let mode = if kind == Kind::Directory { Mode::DIR } else { Mode::FILE };
    let found = rules.at_path(path, Some(mode)).map_err(|error| failed(&error))?;
    Ok(if found.is_excluded() { IgnoreCoverage::Ignored } else { IgnoreCoverage::NotIgnored })
}

impl GixRepository {
    /// Whether the working tree is not clean once something is written to `host_path`, an absolute path without links.
    pub fn is_dirtied_by(&self, host_path: &Path, kind: Kind) -> Result<bool, RepositoryError> {
        match host_path.strip_prefix(self.root()) {
            Ok(path) if !self.is_of_git(host_path) => {
                let found = coverage(self, path, kind).map_err(|why| failure("look at what Git ignores", why))?;
                Ok(found != IgnoreCoverage::Ignored)
            }
            _ => Ok(false),
        }
    }

    /// Whether `host_path`, absolute and without links, is one of Git's own in this repository.
    pub fn is_of_git(&self, host_path: &Path) -> bool {
        // A linked working tree has a file in the place of the Git directory, which leads to it.
        let own = [self.common_dir().to_owned(), self.gix().git_dir().to_owned(), self.root().join(".git")];
        own.iter().any(|place| host_path.starts_with(place))
    }
}
