//! The user's own policy, wherever the user's configuration lies.

use super::YamlPolicySource;
use crate::{Directories, DirectoriesError};
use isobox_ports::{PolicyError, PolicyFile, PolicySource};

/// The user's own policy. It is a Ceiling, so that one which cannot be read is an error, and no permission.
#[derive(Clone, Debug)]
pub struct YamlUserPolicy {
    directories: Directories,
}

impl YamlUserPolicy {
    /// Of the user whose `directories` are given.
    pub const fn new(directories: Directories) -> Self {
        Self { directories }
    }
}

impl PolicySource for YamlUserPolicy {
    fn read(&self) -> Result<Option<PolicyFile>, PolicyError> {
        match self.directories.config() {
            Ok(config) => YamlPolicySource::of_user(config).read(),
            // Whoever has no home keeps no policy there.
            Err(DirectoriesError::Unknown { .. }) => Ok(None),
            Err(error) => Err(PolicyError::Io { host_path: "of the user".to_owned(), source: error.into() }),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use isobox_domain::policy::{NetworkAccess, WrittenPolicy};
    use std::fs;

    const HEAD: &str = "api_version: isobox.dev/v1alpha1\nkind: ";

    fn written(text: Option<&str>) -> Result<Option<WrittenPolicy>, PolicyError> {
        let home = tempfile::tempdir().unwrap();
        fs::create_dir_all(home.path().join(".config/isobox")).unwrap();
        if let Some(text) = text {
            fs::write(home.path().join(".config/isobox/config.yaml"), text).unwrap();
        }
        let directories = Directories::from_variables(|name| (name == "HOME").then(|| home.path().into()));
        YamlUserPolicy::new(directories).written()
    }

    #[test]
    fn what_a_user_wrote_is_read_and_nothing_is_no_limit() {
        assert_eq!(written(None).unwrap(), None);
        assert_eq!(YamlUserPolicy::new(Directories::default()).written().unwrap(), None);
        let deny = format!("{HEAD}UserPolicy\nnetwork: {{default: deny}}\n");
        assert_eq!(written(Some(&deny)).unwrap().unwrap().network, Some(NetworkAccess::Deny));
    }

    #[test]
    fn a_users_policy_that_cannot_be_read_is_no_permission() {
        for text in [
            "",
            "kind: UserPolicy\n",
            &format!("{HEAD}ProjectPolicy\n"),
            &format!("{HEAD}UserPolicy\nfilesystem: {{read: [/opt]}}\n"),
        ] {
            assert!(
                matches!(written(Some(text)), Err(PolicyError::Invalid { host_path, .. }) if host_path.ends_with("/.config/isobox/config.yaml")),
                "{text}"
            );
        }
        let directories = Directories::from_variables(|name| (name == "XDG_CONFIG_HOME").then(|| "relative".into()));
        assert!(YamlUserPolicy::new(directories).written().is_err());
    }
}
