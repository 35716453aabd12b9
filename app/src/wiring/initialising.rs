//! The adapters behind `init`.

use super::discover;
use crate::failure::Failure;
use crate::use_case::init;
use isobox_host::{Directories, FsPolicyPins, FsProjectFiles, POLICY_PATH, YamlPolicySource, default_policy_text};
use std::path::{Path, PathBuf};

/// What `init` made, and where.
pub(crate) struct Initialised {
    /// Root of the project.
    pub(crate) root: PathBuf,
    /// Paths from the root that were written.
    pub(crate) written: Vec<isobox_domain::repo_path::RepoPath>,
    /// Whether its policy is trusted.
    pub(crate) trust: init::InitialTrust,
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
    Ok(Initialised { root, written, trust })
}
