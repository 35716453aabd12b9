//! The adapters behind the user's own policy, behind a project's as it is written, and behind what is trusted.

use super::Project;
use crate::use_case::trusted_policy;
use isobox_domain::escape::Escaped;
use isobox_host::{FsPolicyPins, YamlPolicySource, YamlUserPolicy};
use isobox_ports::{PolicyPins, PolicySource};
use std::path::Path;

impl Project {
    /// The project's policy as it is written, whatever the user's own allows, and whether it is trusted or not.
    pub(crate) fn written_policy(&self) -> impl PolicySource + use<> {
        YamlPolicySource::new(self.repository.root())
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

/// The JSON Schema of policy files.
pub(crate) fn policy_schema() -> &'static str {
    isobox_host::policy_schema()
}
