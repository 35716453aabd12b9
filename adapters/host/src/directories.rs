//! isobox's own directories: configuration, state and cache of the user.

use isobox_domain::escape::Escaped;
use nix::unistd::geteuid;
use std::ffi::OsString;
use std::io;
use std::os::unix::fs::{DirBuilderExt, MetadataExt};
use std::path::{Path, PathBuf};

/// A directory of isobox cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum DirectoriesError {
    /// Neither the XDG variable nor HOME says where it is.
    #[error("cannot tell where isobox's directory is: neither {variable} nor HOME is set")]
    Unknown {
        /// The XDG variable.
        variable: &'static str,
    },
    /// A variable holds a path that depends on the current directory.
    #[error("{variable} is `{value}`, and a relative path there would mean another directory for every caller")]
    Relative {
        /// The variable.
        variable: &'static str,
        /// Its value, escaped for people.
        value: String,
    },
    /// Others could change what is in it.
    #[error("{host_path} is not a private directory of this user: {reason}")]
    NotPrivate {
        /// The directory, escaped for people.
        host_path: String,
        /// In what way.
        reason: String,
    },
    /// The system refused.
    #[error("create directory {host_path}")]
    Io {
        /// The directory, escaped for people.
        host_path: String,
        /// What the system said.
        #[source]
        source: io::Error,
    },
}

/// Where the user's directories are, by the XDG variables and HOME.
///
/// Nothing is looked at before it is asked for, so that a command which needs no directory needs no HOME.
#[derive(Clone, Debug, Default)]
pub struct Directories {
    home: Option<OsString>,
    config: Option<OsString>,
    state: Option<OsString>,
    cache: Option<OsString>,
}

impl Directories {
    /// Reads the variables of this process.
    pub fn from_environment() -> Self {
        Self::from_variables(|name| std::env::var_os(name))
    }

    /// Reads the variables by `lookup`. An empty one counts as unset.
    pub fn from_variables(lookup: impl Fn(&str) -> Option<OsString>) -> Self {
        let set = |name| lookup(name).filter(|value| !value.is_empty());
        Self {
            home: set("HOME"),
            config: set("XDG_CONFIG_HOME"),
            state: set("XDG_STATE_HOME"),
            cache: set("XDG_CACHE_HOME"),
        }
    }

    /// The user's home directory, if HOME is an absolute path.
    pub fn home(&self) -> Option<&Path> {
        self.home.as_deref().map(Path::new).filter(|home| home.is_absolute())
    }

    /// `$XDG_CONFIG_HOME/isobox`, by default `~/.config/isobox`.
    pub fn config(&self) -> Result<PathBuf, DirectoriesError> {
        self.own("XDG_CONFIG_HOME", self.config.as_ref(), ".config")
    }

    /// `$XDG_STATE_HOME/isobox`, by default `~/.local/state/isobox`.
    pub fn state(&self) -> Result<PathBuf, DirectoriesError> {
        self.own("XDG_STATE_HOME", self.state.as_ref(), ".local/state")
    }

    /// `$XDG_CACHE_HOME/isobox`, by default `~/.cache/isobox`.
    pub fn cache(&self) -> Result<PathBuf, DirectoriesError> {
        self.own("XDG_CACHE_HOME", self.cache.as_ref(), ".cache")
    }

    /// Where Workspaces lie: `workspaces` in [`Directories::state`].
    pub fn workspaces(&self) -> Result<PathBuf, DirectoriesError> {
        Ok(self.state()?.join("workspaces"))
    }

    fn own(
        &self,
        variable: &'static str,
        value: Option<&OsString>,
        below_home: &str,
    ) -> Result<PathBuf, DirectoriesError> {
        let base = match (value, &self.home) {
            (Some(value), _) => absolute(variable, value)?,
            (None, Some(home)) => absolute("HOME", home)?.join(below_home),
            (None, None) => return Err(DirectoriesError::Unknown { variable }),
        };
        Ok(base.join("isobox"))
    }

    /// Creates the directory in which Workspaces lie and what is missing above it, mode 0700. What is there already of
    /// isobox's own is looked at: it has to be this user's, and not writable by others, who could replace what is in it.
    pub fn create_workspaces(&self) -> Result<(), DirectoriesError> {
        Self::create(&self.state()?)?;
        Self::create(&self.workspaces()?)
    }

    /// Creates a directory of isobox and what is missing above it, mode 0700, or looks at it as described there.
    pub(crate) fn create(host_path: &Path) -> Result<(), DirectoriesError> {
        let io = |source| DirectoriesError::Io { host_path: Escaped::path(host_path).to_string(), source };
        std::fs::DirBuilder::new().recursive(true).mode(0o700).create(host_path).map_err(io)?;
        let found = std::fs::metadata(host_path).map_err(io)?;
        let refuse = |reason| DirectoriesError::NotPrivate { host_path: Escaped::path(host_path).to_string(), reason };
        let user = geteuid().as_raw();
        if found.uid() != user {
            return Err(refuse(format!("it belongs to user {}, and this is user {user}", found.uid())));
        }
        if found.mode() & 0o022 != 0 {
            return Err(refuse(format!("others can write to it (mode {:04o})", found.mode() & 0o7777)));
        }
        Ok(())
    }
}

fn absolute(variable: &'static str, value: &OsString) -> Result<PathBuf, DirectoriesError> {
    let path = PathBuf::from(value);
    match path.is_absolute() {
        true => Ok(path),
        false => Err(DirectoriesError::Relative { variable, value: Escaped::path(&path).to_string() }),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs;
    use std::os::unix::fs::PermissionsExt;

    fn with(variables: &[(&str, &str)]) -> Directories {
        Directories::from_variables(|name| {
            variables.iter().find(|(known, _)| *known == name).map(|(_, value)| value.into())
        })
    }

    #[test]
    fn directories_lie_below_home_unless_xdg_says_otherwise() {
        let directories = with(&[("HOME", "/home/ana"), ("XDG_CACHE_HOME", "/var/cache/ana"), ("XDG_STATE_HOME", "")]);
        assert_eq!(directories.config().unwrap(), Path::new("/home/ana/.config/isobox"));
        assert_eq!(directories.state().unwrap(), Path::new("/home/ana/.local/state/isobox"));
        assert_eq!(directories.cache().unwrap(), Path::new("/var/cache/ana/isobox"));
        assert_eq!(directories.home(), Some(Path::new("/home/ana")));
    }

    #[test]
    fn relative_and_missing_variables_are_refused_by_name() {
        let shown = |directories: &Directories| directories.state().unwrap_err().to_string();
        assert!(shown(&with(&[])).contains("neither XDG_STATE_HOME nor HOME"));
        assert!(shown(&with(&[("HOME", "ana")])).starts_with("HOME is `ana`"));
        assert!(shown(&with(&[("HOME", "/h"), ("XDG_STATE_HOME", "./x")])).starts_with("XDG_STATE_HOME is `./x`"));
        assert_eq!(with(&[("HOME", "ana")]).home(), None);
    }

    #[test]
    fn what_is_created_is_private_all_the_way_down() {
        let root = tempfile::tempdir().unwrap();
        let leaf = root.path().join("state/isobox/workspaces");
        Directories::create(&leaf).unwrap();
        Directories::create(&leaf).unwrap();
        for made in [&leaf, leaf.parent().unwrap(), leaf.parent().unwrap().parent().unwrap()] {
            assert_eq!(fs::metadata(made).unwrap().mode() & 0o7777, 0o700, "{}", made.display());
        }
    }

    #[test]
    fn a_directory_that_others_can_write_to_is_refused() {
        let root = tempfile::tempdir().unwrap();
        let open = root.path().join("isobox");
        fs::create_dir(&open).unwrap();
        fs::set_permissions(&open, fs::Permissions::from_mode(0o775)).unwrap();
        let refused = Directories::create(&open).unwrap_err().to_string();
        assert!(refused.contains("others can write to it (mode 0775)"), "{refused}");
    }

    #[test]
    fn workspaces_are_not_made_where_others_could_replace_their_directory() {
        let root = tempfile::tempdir().unwrap();
        let directories = with(&[("XDG_STATE_HOME", root.path().to_str().unwrap())]);
        directories.create_workspaces().unwrap();
        fs::set_permissions(directories.state().unwrap(), fs::Permissions::from_mode(0o777)).unwrap();
        let refused = directories.create_workspaces().unwrap_err().to_string();
        assert!(refused.contains("isobox is not a private directory"), "{refused}");
    }

    #[test]
    fn a_file_in_the_way_is_named() {
        let root = tempfile::tempdir().unwrap();
        fs::write(root.path().join("isobox"), "").unwrap();
        let refused = Directories::create(&root.path().join("isobox")).unwrap_err();
        assert!(refused.to_string().starts_with("create directory "), "{refused}");
    }
}
