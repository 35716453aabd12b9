//! A repository looked at as a person's tools would: may it be used, is it clean, does Git ignore isobox's Views.

use crate::discovery;
use crate::repository::GixRepository;
use isobox_domain::escape::Escaped;
use isobox_domain::fact::{Fact, IgnoreCoverage, Refused};
use isobox_domain::source::{Cleanliness, DirtyEntry, DirtyState};
use isobox_ports::{HostProbe, RepositoryError, TrustedRepository};
use std::error::Error;
use std::path::{Path, PathBuf};

/// Where Views lie in a project.
const VIEWS: &str = ".isobox/tasks";

/// Looks at the repository around a directory, if there is one.
#[derive(Clone, Debug)]
pub struct RepositoryProbe {
    directory: PathBuf,
}

impl RepositoryProbe {
    /// For the repository around `directory`.
    pub fn new(directory: &Path) -> Self {
        Self { directory: directory.to_owned() }
    }
}

impl HostProbe for RepositoryProbe {
    fn facts(&self) -> Vec<Fact> {
        if !discovery::is_inside_a_repository(&self.directory) {
            return vec![Fact::NoRepository];
        }
        let repository = match GixRepository::discover(&self.directory) {
            Ok(repository) => repository,
            Err(error) => return vec![Fact::Repository(Err(refused(error)))],
        };
        // What can be opened may still have no commit to start from.
        let usable = repository.source().map(|_| repository.shown()).map_err(refused);
        let (first, count) = dirt(&repository);
        vec![Fact::Repository(usable), Fact::Dirt(first, count), Fact::Views(coverage(&repository))]
    }
}

fn refused(error: RepositoryError) -> Refused {
    let reason = chain(&error);
    let hint = match error {
        RepositoryError::Refused { hint, .. } => hint,
        RepositoryError::Locked { .. } | RepositoryError::Io { .. } => None,
    };
    Refused { reason, hint }
}

fn chain(error: &(dyn Error + 'static)) -> String {
    let sources = std::iter::successors(error.source(), |link: &&(dyn Error + 'static)| (*link).source());
    sources.fold(error.to_string(), |told, source| format!("{told}: {source}"))
}

fn dirt(repository: &GixRepository) -> (Result<Vec<String>, String>, u64) {
    match repository.cleanliness() {
        Ok(Cleanliness::Clean) => (Ok(Vec::new()), 0),
        Ok(Cleanliness::Dirty { first, count }) => (Ok(first.iter().map(shown).collect()), count),
        Err(error) => (Err(chain(&error)), 0),
    }
}

fn shown(entry: &DirtyEntry) -> String {
    let state = match entry.state {
        DirtyState::Staged => "staged",
        DirtyState::Unstaged => "changed",
        DirtyState::Untracked => "untracked",
        DirtyState::Unmerged => "in conflict",
    };
    format!("{state}: {}", Escaped(&entry.path))
}

/// By every rule that Git has: of the working tree, of the repository and of the user.
fn coverage(repository: &GixRepository) -> Result<IgnoreCoverage, String> {
    let gix = repository.gix();
    let failed = |error: &dyn Error| format!("ask Git's rules about {VIEWS}: {error}");
    let index = gix.index_or_empty().map_err(|error| failed(&error))?;
    let below = format!("{VIEWS}/");
    if index.entries().iter().any(|entry| entry.path(&index).starts_with(below.as_bytes())) {
        return Ok(IgnoreCoverage::Tracked);
    }
    let source = gix::worktree::stack::state::ignore::Source::WorktreeThenIdMappingIfNotSkipped;
    let mut rules = gix.excludes(&index, None, source).map_err(|error| failed(&error))?;
    let directory = rules.at_path(VIEWS, Some(gix::index::entry::Mode::DIR)).map_err(|error| failed(&error))?;
    if directory.is_excluded() {
        return Ok(IgnoreCoverage::Ignored);
    }
    // A rule may ignore all that lies in it: `.isobox/tasks/*`.
    let record = format!("{VIEWS}/task-0123456789abcdef");
    let record = rules.at_path(record, Some(gix::index::entry::Mode::DIR)).map_err(|error| failed(&error))?;
    Ok(if record.is_excluded() { IgnoreCoverage::Ignored } else { IgnoreCoverage::NotIgnored })
}
