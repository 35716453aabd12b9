//! The adapters behind `init`.

use super::discover;
use crate::failure::Failure;
use crate::use_case::init;
use isobox_domain::repo_path::RepoPath;
use isobox_domain::source::{Cleanliness, DirtyEntry};
use isobox_git::GixRepository;
use isobox_host::{Directories, FsPolicyPins, FsProjectFiles, POLICY_PATH, YamlPolicySource, default_policy_text};
use isobox_ports::TrustedRepository;
use std::path::{Path, PathBuf};

/// What `init` made, and where.
pub(crate) struct Initialised {
    /// Root of the project.
    pub(crate) root: PathBuf,
    /// Paths from the root that were written.
    pub(crate) written: Vec<RepoPath>,
    /// Whether its policy is trusted.
    pub(crate) trust: init::InitialTrust,
    /// How many entries besides what was written are not committed.
    pub(crate) others: u64,
}

/// Sets up the repository around `directory`.
pub(crate) fn initialise(directory: Option<&Path>) -> Result<Initialised, Failure> {
    let repository = discover(directory)?;
    let root = repository.root().to_owned();
    let (files, policy) = (FsProjectFiles::new(&root), YamlPolicySource::new(&root));
    let pins = FsPolicyPins::new(Directories::from_environment());
    let ports = init::Ports { files: &files, policy: &policy, pins: &pins };
    let init::Done { written, trust } =
        init::init(&ports, repository.common_dir(), (POLICY_PATH, default_policy_text()))?;
    let others = uncommitted(&repository, &written);
    Ok(Initialised { root, written, trust, others })
}

/// Whether `path` is `other`, or lies in it.
fn is_in(path: &[u8], other: &[u8]) -> bool {
    let rest = path.strip_prefix(other.strip_suffix(b"/").unwrap_or(other));
    rest.is_some_and(|rest| rest.is_empty() || rest.starts_with(b"/"))
}

/// How many entries besides `written` are not committed, as far as that can be told.
fn uncommitted(repository: &GixRepository, written: &[RepoPath]) -> u64 {
    let Ok(Cleanliness::Dirty { first, count }) = repository.cleanliness() else { return 0 };
    // A directory that is new as a whole is one entry.
    let is_written = |entry: &&DirtyEntry| written.iter().any(|path| is_in(path.as_bytes(), &entry.path));
    count - first.iter().filter(is_written).count() as u64
}
