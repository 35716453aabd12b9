//! A project's policy, narrowed to what the user's own allows.

use super::YamlPolicySource;
use crate::{Directories, DirectoriesError};
use isobox_domain::policy::{ProjectPolicy, WrittenPolicy};
use isobox_ports::{PolicyError, PolicySource};
use std::path::Path;

/// The policy of a project under the user's own, which is a Ceiling: whoever reads the one gets what the other allows.
#[derive(Clone, Debug)]
pub struct YamlPolicyUnderCeiling {
    project: YamlPolicySource,
    directories: Directories,
}

impl YamlPolicyUnderCeiling {
    /// For the project whose working tree has its root at `root`, and the user whose `directories` are given.
    pub fn new(root: &Path, directories: Directories) -> Self {
        Self { project: YamlPolicySource::new(root), directories }
    }

    /// The user's own policy; `None` where there is none.
    fn ceiling(&self) -> Result<Option<WrittenPolicy>, PolicyError> {
        match self.directories.config() {
            Ok(config) => YamlPolicySource::of_user(config).written(),
            // Whoever has no home keeps no policy there.
            Err(DirectoriesError::Unknown { .. }) => Ok(None),
            Err(error) => Err(PolicyError::Io { host_path: "of the user".to_owned(), source: error.into() }),
        }
    }
}

impl PolicySource for YamlPolicyUnderCeiling {
    fn written(&self) -> Result<Option<WrittenPolicy>, PolicyError> {
        self.project.written()
    }

    fn load(&self) -> Result<Option<ProjectPolicy>, PolicyError> {
        let (mut policy, ceiling) = (self.project.load()?, self.ceiling()?);
        if let (Some(policy), Some(ceiling)) = (&mut policy, ceiling) {
            // Which keys were narrowed is told by whoever is asked for the Effective Policy.
            ceiling.narrow(policy);
        }
        Ok(policy)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use isobox_domain::policy::NetworkAccess;
    use std::fs;

    const HEAD: &str = "api_version: isobox.dev/v1alpha1\nkind: ";

    fn load(user: Option<&str>) -> Result<Option<ProjectPolicy>, PolicyError> {
        let root = tempfile::tempdir().unwrap();
        for folder in [".isobox", ".config/isobox"] {
            fs::create_dir_all(root.path().join(folder)).unwrap();
        }
        let text = format!("{HEAD}ProjectPolicy\nnetwork: {{default: inherited}}\n");
        fs::write(root.path().join(super::super::POLICY_PATH), text).unwrap();
        if let Some(user) = user {
            fs::write(root.path().join(".config/isobox/config.yaml"), user).unwrap();
        }
        let directories = Directories::from_variables(|name| (name == "HOME").then(|| root.path().into()));
        YamlPolicyUnderCeiling::new(root.path(), directories).load()
    }

    #[test]
    fn what_the_user_does_not_allow_a_project_does_not_get() {
        let network = |user| load(user).unwrap().unwrap().sandbox.network;
        assert_eq!(network(None), NetworkAccess::Inherited);
        let deny = format!("{HEAD}UserPolicy\nnetwork: {{default: deny}}\n");
        assert_eq!(network(Some(&deny)), NetworkAccess::Deny);
    }

    #[test]
    fn a_users_policy_that_cannot_be_read_is_no_permission() {
        for user in [
            "",
            "kind: UserPolicy\n",
            &format!("{HEAD}ProjectPolicy\n"),
            &format!("{HEAD}UserPolicy\nfilesystem: {{read: [/opt]}}\n"),
        ] {
            assert!(
                matches!(load(Some(user)), Err(PolicyError::Invalid { host_path, .. }) if host_path.ends_with("/.config/isobox/config.yaml")),
                "{user}"
            );
        }
        let directories = Directories::from_variables(|name| (name == "XDG_CONFIG_HOME").then(|| "relative".into()));
        let root = tempfile::tempdir().unwrap();
        assert!(YamlPolicyUnderCeiling::new(root.path(), directories).load().is_err());
    }
}
