//! A repository looked at as a person's tools would: may it be used, is it clean, does Git ignore isobox's Views.

use crate::discovery;
use crate::ignored::{self, Kind};
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

fn coverage(repository: &GixRepository) -> Result<IgnoreCoverage, String> {
    // A rule may ignore the directory, or all that lies in it: `.isobox/tasks/*`.
    let record = format!("{VIEWS}/task-0123456789abcdef");
    match ignored::coverage(repository, Path::new(VIEWS), Kind::Directory)? {
        IgnoreCoverage::NotIgnored => ignored::coverage(repository, Path::new(&record), Kind::Directory),
        found => Ok(found),
    }
}
