//! The adapters behind the user's own policy, and behind a project's as it is written.

use super::{Project, unusable_directory};
use crate::failure::Failure;
use isobox_domain::escape::Escaped;
use isobox_host::YamlPolicySource;
use isobox_ports::PolicySource;

impl Project {
    /// The project's policy as it is written, whatever the user's own allows.
    pub(crate) fn written_policy(&self) -> impl PolicySource + use<> {
        YamlPolicySource::new(self.repository.root())
    }

    /// The user's own policy, a Ceiling over the project's.
    pub(crate) fn user_policy(&self) -> Result<impl PolicySource + use<>, Failure> {
        Ok(YamlPolicySource::of_user(self.directories.config().map_err(unusable_directory)?))
    }

    /// Where the user's own policy lies, for people.
    pub(crate) fn user_policy_path(&self) -> String {
        let place = self.directories.config().map(|config| YamlPolicySource::of_user(config).host_path());
        place.map_or_else(|error| error.to_string(), |path| Escaped::path(&path).to_string())
    }
}

/// The JSON Schema of policy files.
pub(crate) fn policy_schema() -> &'static str {
    isobox_host::policy_schema()
}
