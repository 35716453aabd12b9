//! Which host paths a policy may expose for reading, and which never.

use super::glob::{Glob, components};
use crate::escape::Escaped;

/// What to do about a path that cannot be exposed.
pub const ADVICE: &str = "name a file or directory that is there, holds no secrets, and lies in nothing that is never exposed: the smallest that will do";

/// A place on the host that `filesystem.read` does not expose.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Guard {
    /// Neither the place, nor anything in it, nor anything that contains it.
    Whole(Vec<u8>),
    /// Neither the place nor anything that contains it; what lies in it may be exposed.
    Top(Vec<u8>),
    /// Neither the place nor anything in it. What contains it may be exposed, and then the place stays hidden in it.
    Hidden(Vec<u8>),
}

impl Guard {
    /// The absolute host path of the place.
    pub fn host_path(&self) -> &[u8] {
        match self {
            Self::Whole(path) | Self::Top(path) | Self::Hidden(path) => path,
        }
    }
}

/// Why a path of `filesystem.read` is not exposed.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ReadRefusal {
    /// It is relative.
    #[error("`{path}` is not an absolute path")]
    Relative {
        /// The path, escaped for people.
        path: String,
    },
    /// It names the home directory of somebody else.
    #[error("`{path}` names a home directory other than `~`")]
    OtherHome {
        /// The path, escaped for people.
        path: String,
    },
    /// It starts with `~`, and the home directory is not known.
    #[error("`{path}` needs a home directory, and HOME is not an absolute path")]
    NoHome {
        /// The path, escaped for people.
        path: String,
    },
    /// It is, contains or lies in something that is never exposed.
    #[error("{}", guarded_in_words(path, relation, guarded))]
    Guarded {
        /// The path, links resolved, escaped for people.
        path: String,
        /// In words, how the two lie to each other.
        relation: &'static str,
        /// What is guarded, escaped for people.
        guarded: String,
    },
    /// It is, contains or lies in something that a Sandbox has itself.
    #[error("`{path}` {relation} `{own}`, of which a sandbox has its own")]
    OfSandbox {
        /// The path, links resolved, escaped for people.
        path: String,
        /// In words, how the two lie to each other.
        relation: &'static str,
        /// What the Sandbox has itself.
        own: String,
    },
    /// It is, contains or lies in the Git directory of a repository.
    #[error("{}, which may hold hooks and credentials", git_in_words(path, relation, git_directory))]
    Git {
        /// The path, links resolved, escaped for people.
        path: String,
        /// In words, how the two lie to each other.
        relation: &'static str,
        /// The Git directory, escaped for people.
        git_directory: String,
    },
}

// Secrets and control sockets of a whole machine. The kernel's own file systems come with the Sandbox, private ones.
const SYSTEM: [&str; 22] = [
    "/proc",
    "/sys",
    "/dev",
    "/run",
    "/boot",
    "/etc/shadow",
    "/etc/gshadow",
    "/etc/sudoers",
    "/etc/ssh",
    "/etc/ssl/private",
    "/etc/krb5.keytab",
    "/etc/wireguard",
    "/etc/NetworkManager",
    "/etc/kubernetes",
    "/var/run",
    "/var/lib/docker",
    "/var/lib/containerd",
    "/var/lib/kubelet",
    "/var/lib/sss",
    "/var/spool/cron",
    "/var/spool/mail",
    "/var/log",
];

// Places with much in them that is harmless, and some things that are not.
const SYSTEM_TOPS: [&str; 3] = ["/home", "/tmp", "/var/tmp"];

// Below a home directory: keys, tokens, sessions and histories, by the programs that keep them.
const HOME_SECRETS: [&str; 26] = [
    ".ssh",
    ".gnupg",
    ".aws",
    ".azure",
    ".docker",
    ".kube",
    ".netrc",
    ".git-credentials",
    ".password-store",
    ".mozilla",
    ".npmrc",
    ".pypirc",
    ".pgpass",
    ".my.cnf",
    ".vault-token",
    ".bash_history",
    ".zsh_history",
    ".config/gcloud",
    ".config/gh",
    ".config/hub",
    ".config/isobox",
    ".config/google-chrome",
    ".config/chromium",
    ".config/op",
    ".local/share/keyrings",
    ".local/share/isobox",
];

// Below a home directory: files with credentials in directories that are shown for what else is in them.
const HOME_CREDENTIALS: [&str; 13] = [
    ".cargo/credentials",
    ".cargo/credentials.toml",
    ".gem/credentials",
    ".config/git/credentials",
    ".config/composer/auth.json",
    ".config/containers/auth.json",
    ".config/pip/pip.conf",
    ".composer/auth.json",
    ".gradle/gradle.properties",
    ".m2/settings.xml",
    ".m2/settings-security.xml",
    ".nuget/NuGet/NuGet.Config",
    ".terraform.d/credentials.tfrc.json",
];

// What no Sandbox can show from the host: it has its own.
const OWN: [&str; 4] = ["/proc", "/sys", "/dev", "/workspace"];

// Sockets through which whoever reaches them rules the machine.
const CONTROL_SOCKETS: [&str; 10] = [
    "docker.sock",
    "containerd.sock",
    "podman.sock",
    "crio.sock",
    "buildkitd.sock",
    "libvirt-sock",
    "snapd.socket",
    "system_bus_socket",
    "lxd.socket",
    "incus.socket",
];

// Directory and file names that hold secrets in whichever home they lie.
const SECRET_NAMES: [&str; 9] =
    [".ssh", ".gnupg", ".aws", ".azure", ".docker", ".kube", ".netrc", ".git-credentials", ".password-store"];

/// What is guarded for a user whose home directory is `home`, or for one who has none.
pub fn guards(home: Option<&[u8]>) -> Vec<Guard> {
    let mut guards: Vec<Guard> = SYSTEM.iter().map(|path| Guard::Whole(path.as_bytes().to_vec())).collect();
    guards.extend(SYSTEM_TOPS.iter().map(|path| Guard::Top(path.as_bytes().to_vec())));
    if let Some(home) = home {
        guards.push(Guard::Top(home.to_vec()));
        guards.extend(HOME_SECRETS.iter().map(|name| Guard::Whole([home, b"/", name.as_bytes()].concat())));
        guards.extend(HOME_CREDENTIALS.iter().map(|name| Guard::Hidden([home, b"/", name.as_bytes()].concat())));
    }
    if !home.is_some_and(|home| contains(b"/root", home)) {
        guards.push(Guard::Whole(b"/root".to_vec()));
    }
    guards
}

/// The absolute path that `path` stands for: a leading `~` is `home`.
pub fn expand_home(path: &[u8], home: Option<&[u8]>) -> Result<Vec<u8>, ReadRefusal> {
    let shown = || Escaped(path).to_string();
    match path.strip_prefix(b"~") {
        Some(rest) if rest.is_empty() || rest.starts_with(b"/") => match home {
            Some(home) => Ok([home, rest].concat()),
            None => Err(ReadRefusal::NoHome { path: shown() }),
        },
        Some(_) => Err(ReadRefusal::OtherHome { path: shown() }),
        None if path.starts_with(b"/") => Ok(path.to_vec()),
        None => Err(ReadRefusal::Relative { path: shown() }),
    }
}

/// Lets `resolved` through unless a guard stands against it. `resolved` is an absolute host path without links, `.` or `..`.
pub fn admit(resolved: &[u8], guards: &[Guard]) -> Result<(), ReadRefusal> {
    if !resolved.starts_with(b"/") {
        return Err(ReadRefusal::Relative { path: Escaped(resolved).to_string() });
    }
    let obstacle = guards.iter().find_map(|guard| Some((relation(resolved, guard)?, guard.host_path().to_vec())));
    match obstacle.or_else(|| secret_by_name(resolved)) {
        None => Ok(()),
        Some((relation, guarded)) => Err(ReadRefusal::Guarded {
            path: Escaped(resolved).to_string(),
            relation,
            guarded: Escaped(&guarded).to_string(),
        }),
    }
}

/// Lets `resolved`, which a person exposes in so many words, through unless a Sandbox cannot have it from the host.
pub fn admit_unsafe(resolved: &[u8]) -> Result<(), ReadRefusal> {
    let own = OWN.iter().map(|path| Guard::Whole(path.as_bytes().to_vec()));
    let obstacle = own.into_iter().find_map(|guard| Some((relation(resolved, &guard)?, guard)));
    obstacle.map_or(Ok(()), |(relation, guard)| {
        Err(ReadRefusal::OfSandbox {
            path: Escaped(resolved).to_string(),
            relation,
            own: Escaped(guard.host_path()).to_string(),
        })
    })
}

/// What stays hidden in what is shown, though nobody wrote it down: patterns of absolute host paths. `shown` are all paths
/// that are shown, and `in_so_many_words` those of them that a person exposed against advice.
pub fn hidden(guards: &[Guard], shown: &[Vec<u8>], in_so_many_words: &[Vec<u8>]) -> Vec<Glob> {
    let is_meant = |guard: &&Guard| !in_so_many_words.iter().any(|path| contains(guard.host_path(), path));
    let guarded = guards.iter().filter(is_meant).map(|guard| Glob::new(b"").below(guard.host_path()));
    let names = SECRET_NAMES.iter().flat_map(|name| [name.to_string(), format!("*/{name}")]);
    let by_name = names.flat_map(|name| shown.iter().map(move |path| Glob::new(name.as_bytes()).below(path)));
    guarded.chain(by_name).collect()
}

/// Whether whoever reaches the socket at `resolved` rules the machine.
pub fn is_control_socket(resolved: &[u8]) -> bool {
    let name = components(resolved).last().unwrap_or_default();
    CONTROL_SOCKETS.iter().any(|known| known.as_bytes() == name) || contains(b"/run/systemd", resolved)
}

/// Refuses `resolved`, an absolute host path without links, because of a Git directory that it is, contains or lies in.
pub fn refuse_git(resolved: &[u8], git_directory: &[u8]) -> ReadRefusal {
    let relation = match (contains(resolved, git_directory), contains(git_directory, resolved)) {
        (true, true) => "is",
        (true, false) => "contains",
        (false, _) => "lies in",
    };
    ReadRefusal::Git {
        path: Escaped(resolved).to_string(),
        relation,
        git_directory: Escaped(git_directory).to_string(),
    }
}

fn guarded_in_words(path: &str, relation: &str, guarded: &str) -> String {
    match path == guarded {
        true => format!("`{path}` is never exposed to a workload"),
        false => format!("`{path}` {relation} `{guarded}`, which is never exposed to a workload"),
    }
}

fn git_in_words(path: &str, relation: &str, git_directory: &str) -> String {
    match path == git_directory {
        true => format!("`{path}` is the Git directory of a repository"),
        false => format!("`{path}` {relation} the Git directory `{git_directory}`"),
    }
}

fn relation(path: &[u8], guard: &Guard) -> Option<&'static str> {
    let guarded = guard.host_path();
    if let Guard::Hidden(_) = guard {
        let is = contains(path, guarded) && contains(guarded, path);
        return if is { Some("is") } else { contains(guarded, path).then_some("lies in") };
    }
    if contains(path, guarded) {
        return Some(if contains(guarded, path) { "is" } else { "contains" });
    }
    (matches!(guard, Guard::Whole(_)) && contains(guarded, path)).then_some("lies in")
}

fn secret_by_name(path: &[u8]) -> Option<(&'static str, Vec<u8>)> {
    let components: Vec<&[u8]> = components(path).collect();
    if let [b"home", _] = components[..] {
        return Some(("is", path.to_vec()));
    }
    let is_secret = |name: &&[u8]| SECRET_NAMES.iter().any(|secret| secret.as_bytes() == *name);
    let name = components.into_iter().find(is_secret)?;
    Some(("lies in", name.to_vec()))
}

/// Whether `inner` is `outer` or lies in it, component by component.
pub fn contains(outer: &[u8], inner: &[u8]) -> bool {
    let mut inner = components(inner);
    components(outer).all(|component| inner.next() == Some(component))
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    const HOME: &[u8] = b"/home/ana";

    fn all() -> Vec<Guard> {
        let mut all = guards(Some(HOME));
        all.push(Guard::Whole(b"/srv/app/.git".to_vec()));
        all
    }

    #[test]
    fn toolchains_are_exposed() {
        for path in [&b"/opt/go"[..], b"/home/ana/.rustup", b"/home/ana/.cargo", b"/srv/app/vendor", b"/nix/store"] {
            assert_eq!(admit(path, &all()), Ok(()), "{}", Escaped(path));
        }
    }

    #[test]
    fn secrets_and_whatever_holds_them_are_refused() {
        for (path, relation, guarded) in [
            ("/", "contains", "/proc"),
            ("//", "contains", "/proc"),
            ("/home/ana", "is", "/home/ana"),
            ("/home/ana/", "is", "/home/ana"),
            ("/home", "is", "/home"),
            ("/home/bob", "is", "/home/bob"),
            ("/home/bob/.ssh/id_ed25519", "lies in", ".ssh"),
            ("/home/ana/.ssh", "is", "/home/ana/.ssh"),
            ("/home/ana/.ssh/config.d", "lies in", "/home/ana/.ssh"),
            ("/home/ana/.config", "contains", "/home/ana/.config/gcloud"),
            ("/home/ana/.cargo/credentials", "is", "/home/ana/.cargo/credentials"),
            ("/home/ana/.m2/settings.xml", "is", "/home/ana/.m2/settings.xml"),
            ("/proc/self", "lies in", "/proc"),
            ("/run/user/1000", "lies in", "/run"),
            ("/etc", "contains", "/etc/shadow"),
            ("/root/x", "lies in", "/root"),
            ("/srv/app", "contains", "/srv/app/.git"),
            ("/srv/app/.git/objects", "lies in", "/srv/app/.git"),
        ] {
            let expected = ReadRefusal::Guarded { path: path.to_owned(), relation, guarded: guarded.to_owned() };
            assert_eq!(admit(path.as_bytes(), &all()), Err(expected), "{path}");
        }
    }

    #[test]
    fn root_may_expose_its_own_toolchains_but_not_its_home() {
        let guards = guards(Some(b"/root"));
        assert_eq!(admit(b"/root/.rustup", &guards), Ok(()));
        assert!(matches!(admit(b"/root", &guards), Err(ReadRefusal::Guarded { relation: "is", .. })));
        assert!(matches!(admit(b"/root/.aws/x", &guards), Err(ReadRefusal::Guarded { relation: "lies in", .. })));
    }

    #[test]
    fn only_the_own_home_can_be_written_as_a_tilde() {
        assert_eq!(expand_home(b"~/x", Some(HOME)), Ok(b"/home/ana/x".to_vec()));
        assert_eq!(expand_home(b"~", Some(HOME)), Ok(HOME.to_vec()));
        assert_eq!(expand_home(b"/x/~", None), Ok(b"/x/~".to_vec()));
        assert_eq!(expand_home(b"~/x", None), Err(ReadRefusal::NoHome { path: "~/x".into() }));
        assert_eq!(expand_home(b"~bob/x", Some(HOME)), Err(ReadRefusal::OtherHome { path: "~bob/x".into() }));
        assert_eq!(expand_home(b"x/y", Some(HOME)), Err(ReadRefusal::Relative { path: "x/y".into() }));
    }

    proptest! {
        #[test]
        fn what_is_admitted_shares_no_path_with_a_whole_guard(path in "(/(home|ana|etc|ssh|\\.ssh|root|x)){1,4}") {
            if admit(path.as_bytes(), &all()).is_ok() {
                for guard in all() {
                    let guarded = guard.host_path();
                    prop_assert!(matches!(guard, Guard::Hidden(_)) || !contains(path.as_bytes(), guarded));
                    prop_assert!(matches!(guard, Guard::Top(_)) || !contains(guarded, path.as_bytes()));
                }
            }
        }
    }
}
