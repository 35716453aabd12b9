//! The adapters behind the user's own policy, behind a project's as it is written, and behind what is trusted.

use super::Project;
use crate::failure::{Failure, FailureKind, one_line};
use crate::use_case::trusted_policy;
use isobox_domain::escape::Escaped;
use isobox_host::{FsPolicyPins, ReadPathError, ReadPaths, YamlPolicySource, YamlUserPolicy};
use isobox_ports::{PolicyError, PolicyFile, PolicyPins, PolicySource};
use std::path::{Path, PathBuf};

impl Project {
    /// The project's policy as it is written, whatever the user's own allows, and whether it is trusted or not.
    pub(crate) fn written_policy(&self) -> impl PolicySource + use<> {
        YamlPolicySource::new(self.repository.root())
    }

    /// The same, read. Where it asks to show what is never shown, it is no valid policy on this machine.
    pub(crate) fn showable_policy(&self) -> Result<Option<PolicyFile>, PolicyError> {
        let Some(file) = self.written_policy().read()? else { return Ok(None) };
        let refusal = |path: &Vec<u8>| match self.resolve_read_paths(std::slice::from_ref(path)) {
            // A path that is not there may be there on the next machine.
            Ok(_) | Err(ReadPathError::Io { .. }) => None,
            Err(error) => Some(one_line(&refused_read_path(error))),
        };
        match file.written.read.iter().flatten().take(MOST_CHECKED).find_map(refusal) {
            None => Ok(Some(file)),
            Some(problem) => Err(PolicyError::Invalid {
                host_path: self.policy_path(),
                position: None,
                problem,
                excerpt: None,
                hint: Some(SMALLEST.into()),
                further: Box::default(),
            }),
        }
    }

    /// Host paths that `written` in a policy stand for; those that must not be exposed are refused.
    pub(crate) fn read_paths(&self, written: &[Vec<u8>]) -> Result<Vec<Vec<u8>>, Failure> {
        self.resolve_read_paths(written).map_err(refused_read_path)
    }

    fn resolve_read_paths(&self, written: &[Vec<u8>]) -> Result<Vec<Vec<u8>>, ReadPathError> {
        if written.is_empty() {
            return Ok(Vec::new());
        }
        let own = [self.directories.config(), self.directories.state(), self.directories.cache()];
        let mut guarded: Vec<PathBuf> = own.into_iter().filter_map(Result::ok).collect();
        guarded.extend([self.repository.common_dir().to_owned(), self.location.records.clone()]);
        ReadPaths::new(self.directories.home(), &guarded).resolve(written)
    }

    /// The user's own policy, a Ceiling over the project's.
    pub(crate) fn user_policy(&self) -> impl PolicySource + use<> {
        YamlUserPolicy::new(self.directories.clone())
    }

    /// Where the user's own policy lies, for people.
    pub(crate) fn user_policy_path(&self) -> String {
        let place = self.directories.config().map(|config| YamlPolicySource::of_user(config).host_path());
        place.map_or_else(|error| error.to_string(), |path| Escaped::path(&path).to_string())
    }

    /// The policies of this project that its user trusts.
    pub(crate) fn policy_pins(&self) -> impl PolicyPins + use<> {
        FsPolicyPins::new(self.directories.clone())
    }

    /// Hands the ports of a trusted policy to `act`.
    pub(crate) fn with_policy_ports<T>(&self, act: impl FnOnce(&trusted_policy::Ports<'_>) -> T) -> T {
        let (project, user, pins) = (self.written_policy(), self.user_policy(), self.policy_pins());
        act(&trusted_policy::Ports { project: &project, user: &user, pins: &pins })
    }

    /// The root of the project, for people.
    pub(crate) fn shown_root(&self) -> String {
        Escaped::path(self.repository.root()).to_string()
    }

    /// The canonical common Git directory, by which policies are trusted.
    pub(crate) fn common_dir(&self) -> &Path {
        self.repository.common_dir()
    }
}

/// Most paths that are looked at to check a policy, which nobody may have trusted yet.
const MOST_CHECKED: usize = 1000;
/// What to do about a path that is not shown.
const SMALLEST: &str = "name a file or directory that is there and holds no secrets: the smallest that will do";

fn refused_read_path(error: ReadPathError) -> Failure {
    Failure::new(FailureKind::Policy, error.to_string()).because(error).with_hint(SMALLEST)
}

/// The JSON Schema of policy files.
pub(crate) fn policy_schema() -> &'static str {
    isobox_host::policy_schema()
}
