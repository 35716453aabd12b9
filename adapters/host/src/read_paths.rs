//! `filesystem.read`: from what a policy says to host paths that a Sandbox may show.

use crate::git_directories;
use isobox_domain::escape::Escaped;
use isobox_domain::policy::read::{Guard, ReadRefusal, admit, admit_unsafe, expand_home, guards, refuse_git};
use std::ffi::OsStr;
use std::io;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

/// A path of `filesystem.read` cannot be exposed.
#[derive(Debug, thiserror::Error)]
pub enum ReadPathError {
    /// It is one that is never exposed.
    #[error("`{written}` cannot be exposed")]
    Refused {
        /// As the policy has it, escaped for people.
        written: String,
        /// Why.
        #[source]
        source: ReadRefusal,
    },
    /// It is neither a file nor a directory.
    #[error("`{written}` cannot be exposed: it is neither a regular file nor a directory")]
    NoFile {
        /// As the policy has it, escaped for people.
        written: String,
    },
    /// It cannot be looked at, most often because it is not there.
    #[error("look at `{written}`, which is to be exposed")]
    Io {
        /// As the policy has it, escaped for people.
        written: String,
        /// What the system said.
        #[source]
        source: io::Error,
    },
}

/// Resolves the paths of `filesystem.read` against this machine, links included.
#[derive(Clone, Debug)]
pub struct ReadPaths {
    home: Option<PathBuf>,
    guards: Vec<Guard>,
}

impl ReadPaths {
    /// For a user whose home directory is `home`. Neither `guarded` nor anything in or above it is ever exposed: the
    /// places of isobox itself, such as the Task Store.
    pub fn new(home: Option<&Path>, guarded: &[PathBuf]) -> Self {
        let written = guards(home.map(|home| home.as_os_str().as_bytes()));
        let own = guarded.iter().map(|path| Guard::Whole(path.as_os_str().as_bytes().to_vec()));
        let mut all: Vec<Guard> = written.into_iter().chain(own).collect();
        // A guarded place may be a link, or be reached through one: what it leads to is guarded as well.
        let resolved: Vec<Guard> = all.iter().filter_map(resolved).collect();
        all.extend(resolved);
        Self { home: home.map(Path::to_owned), guards: all }
    }

    /// The absolute host paths, without links, that `written` stands for, in the same order and each once.
    pub fn resolve(&self, written: &[Vec<u8>]) -> Result<Vec<Vec<u8>>, ReadPathError> {
        let mut paths = Vec::new();
        for path in written {
            let resolved = self.resolve_one(path)?;
            if !paths.contains(&resolved) {
                paths.push(resolved);
            }
        }
        Ok(paths)
    }

    /// The same for paths that a person exposes in so many words, whatever stands against them.
    pub(crate) fn resolve_unsafe(&self, path: &[u8]) -> Result<Vec<u8>, ReadPathError> {
        let resolved = self.canonical(path)?.into_os_string().into_encoded_bytes();
        let refused = |source| ReadPathError::Refused { written: Escaped(path).to_string(), source };
        admit_unsafe(&resolved).map_err(refused)?;
        Ok(resolved)
    }

    /// The home directory of the user.
    pub(crate) fn home(&self) -> Option<&Path> {
        self.home.as_deref()
    }

    /// What is guarded.
    pub(crate) fn guards(&self) -> &[Guard] {
        &self.guards
    }

    /// The absolute path that `path` stands for, links resolved.
    pub(crate) fn canonical(&self, path: &[u8]) -> Result<PathBuf, ReadPathError> {
        let written = || Escaped(path).to_string();
        let home = self.home.as_deref().map(|home| home.as_os_str().as_bytes());
        let absolute =
            expand_home(path, home).map_err(|source| ReadPathError::Refused { written: written(), source })?;
        std::fs::canonicalize(OsStr::from_bytes(&absolute))
            .map_err(|source| ReadPathError::Io { written: written(), source })
    }

    pub(crate) fn resolve_one(&self, path: &[u8]) -> Result<Vec<u8>, ReadPathError> {
        let written = || Escaped(path).to_string();
        let refused = |source| ReadPathError::Refused { written: written(), source };
        let io = |source| ReadPathError::Io { written: written(), source };
        let resolved = self.canonical(path)?;
        admit(resolved.as_os_str().as_bytes(), &self.guards).map_err(refused)?;
        let found = std::fs::symlink_metadata(&resolved).map_err(io)?;
        let git = git_directories::around(&resolved).map(Path::to_owned);
        if let Some(git) = git.or_else(|| git_directories::below(&resolved, self.home.as_deref())) {
            return Err(refused(refuse_git(resolved.as_os_str().as_bytes(), git.as_os_str().as_bytes())));
        }
        match found.is_dir() || found.is_file() {
            true => Ok(resolved.into_os_string().into_encoded_bytes()),
            false => Err(ReadPathError::NoFile { written: Escaped::path(&resolved).to_string() }),
        }
    }
}

fn resolved(guard: &Guard) -> Option<Guard> {
    let host_path = OsStr::from_bytes(guard.host_path());
    // What is not there leads nowhere.
    let resolved = std::fs::canonicalize(host_path).ok().filter(|resolved| resolved != Path::new(host_path))?;
    let resolved = resolved.into_os_string().into_encoded_bytes();
    Some(match guard {
        Guard::Whole(_) => Guard::Whole(resolved),
        Guard::Top(_) => Guard::Top(resolved),
        Guard::Hidden(_) => Guard::Hidden(resolved),
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::made_up_host::Host;
    use std::fs;
    use std::os::unix::fs::symlink;

    fn host() -> Host {
        Host::with(&["home/.ssh", "home/.rustup", "elsewhere/keys", "project/.git/isobox/store"])
    }

    impl Host {
        fn read_paths(&self) -> ReadPaths {
            ReadPaths::new(Some(&self.path("home")), &[self.path("project/.git/isobox")])
        }

        fn resolve(&self, written: &str) -> Result<Vec<Vec<u8>>, ReadPathError> {
            self.read_paths().resolve(&[written.as_bytes().to_vec()])
        }
    }

    fn bytes(path: &Path) -> Vec<u8> {
        path.as_os_str().as_bytes().to_vec()
    }

    fn chain(error: &dyn std::error::Error) -> String {
        error.source().map_or(error.to_string(), |source| format!("{error}: {source}"))
    }

    #[test]
    fn links_are_resolved_and_repetitions_dropped() {
        let host = host();
        symlink(host.path("home/.rustup"), host.path("toolchain")).unwrap();
        let written = [b"~/.rustup".to_vec(), bytes(&host.path("toolchain")), bytes(&host.path("elsewhere/."))];
        let resolved = host.read_paths().resolve(&written).unwrap();
        assert_eq!(resolved, [bytes(&host.path("home/.rustup")), bytes(&host.path("elsewhere"))]);
    }

    #[test]
    fn a_link_does_not_get_around_a_guard() {
        let host = host();
        symlink(host.path("home/.ssh"), host.path("harmless")).unwrap();
        symlink("/", host.path("everything")).unwrap();
        for written in ["harmless", "everything", "home", "project", "project/.git", "project/.git/isobox/store"] {
            let refused = host.resolve(host.path(written).to_str().unwrap()).unwrap_err();
            assert!(matches!(refused, ReadPathError::Refused { .. }), "{written}: {}", chain(&refused));
        }
    }

    #[test]
    fn the_git_directory_of_another_repository_is_not_exposed_wherever_it_lies_near_a_path() {
        let host = host();
        let of = |place: &str| ["objects", "refs"].map(|part| format!("{place}/{part}"));
        let gits = ["code/owner/app/.git", "code/owner/app/.git/modules/sub", "bare/app.git"];
        for folder in gits.iter().flat_map(|place| of(place)).chain(["code/owner/app/src".to_owned()]) {
            fs::create_dir_all(host.path(&folder)).unwrap();
        }
        for place in gits {
            fs::write(host.path(place).join("HEAD"), "ref: refs/heads/main\n").unwrap();
        }
        for (written, relation) in [
            ("code", "contains"),
            ("code/owner", "contains"),
            ("code/owner/app", "contains"),
            ("code/owner/app/.git", "is"),
            ("code/owner/app/.git/objects", "lies in"),
            ("code/owner/app/.git/HEAD", "lies in"),
            ("code/owner/app/.git/modules/sub", "is"),
            ("bare", "contains"),
            ("bare/app.git", "is"),
            ("bare/app.git/refs", "lies in"),
        ] {
            let error = host.resolve(host.path(written).to_str().unwrap()).unwrap_err();
            let ReadPathError::Refused { source: ReadRefusal::Git { relation: found, .. }, .. } = &error else {
                panic!("{written}: {}", chain(&error));
            };
            assert_eq!(*found, relation, "{written}");
        }
        host.resolve(host.path("code/owner/app/src").to_str().unwrap()).unwrap();
    }

    #[test]
    fn a_repository_among_thousands_of_directories_is_found() {
        let host = host();
        for n in 0..3000 {
            fs::create_dir_all(host.path(&format!("code/{n}"))).unwrap();
        }
        fs::create_dir(host.path("code/2999/.git")).unwrap();
        let error = host.resolve(host.path("code").to_str().unwrap()).unwrap_err();
        assert!(chain(&error).contains("code/2999/.git"), "{}", chain(&error));
    }

    #[test]
    fn what_only_points_to_a_repository_and_what_cargo_fetched_is_exposed() {
        let host = host();
        fs::create_dir_all(host.path("home/.cargo/registry/index/x/.git/objects")).unwrap();
        fs::create_dir_all(host.path("tree/objects")).unwrap();
        fs::write(host.path("tree/.git"), "gitdir: /elsewhere\n").unwrap();
        for written in ["tree", "home/.cargo/registry"] {
            host.resolve(host.path(written).to_str().unwrap()).unwrap();
        }
    }

    #[test]
    fn a_repository_below_a_directory_that_is_only_called_like_cargos_is_not_exposed() {
        let host = host();
        for place in ["code/.cargo/registry", ".cargo/git", "home/.cargo/other", "home/code/.cargo/git"] {
            fs::create_dir_all(host.path(place).join("app/.git")).unwrap();
            let error = host.resolve(host.path(place).to_str().unwrap()).unwrap_err();
            assert!(chain(&error).contains(&format!("{place}/app/.git")), "{}", chain(&error));
        }
    }

    #[test]
    fn what_a_guarded_link_leads_to_is_guarded_as_well() {
        let host = host();
        fs::remove_dir(host.path("home/.ssh")).unwrap();
        symlink(host.path("elsewhere/keys"), host.path("home/.ssh")).unwrap();
        for written in ["elsewhere", "elsewhere/keys"] {
            let refused = host.resolve(host.path(written).to_str().unwrap()).unwrap_err();
            assert!(matches!(refused, ReadPathError::Refused { .. }), "{written}: {}", chain(&refused));
        }
    }

    #[test]
    fn relative_missing_and_special_paths_are_named() {
        let host = host();
        nix::unistd::mkfifo(&host.path("pipe"), nix::sys::stat::Mode::S_IRWXU).unwrap();
        for (written, expected) in [
            ("x/y".to_owned(), "`x/y` is not an absolute path"),
            ("~bob/x".to_owned(), "names a home directory other than `~`"),
            (host.path("missing").display().to_string(), "No such file"),
            (host.path("pipe").display().to_string(), "neither a regular file nor a directory"),
        ] {
            let shown = chain(&host.resolve(&written).unwrap_err());
            assert!(shown.contains(expected), "{shown}");
        }
    }
}
