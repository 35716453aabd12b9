//! The Update Target: the first `isobox` on the user's PATH, and whether isobox may replace it.

use crate::escape::Escaped;
use crate::fact::{Duplicate, Relation, Running};
use crate::release::{Build, Identity};

/// The first `isobox` on the user's PATH, as it was found.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct UpdateTarget {
    /// Host path by which PATH leads to it.
    pub on_path: Vec<u8>,
    /// Host path of the file itself, with every link resolved: what an update replaces.
    pub file: Vec<u8>,
    /// The package that a package manager's own list counts the file to.
    pub package: Option<Package>,
    /// Whether the file lies in what `cargo build` makes.
    pub is_build_output: bool,
    /// Whether this user may replace the file.
    pub access: Access,
    /// Names of the file itself, on PATH or not: more than one means hard links.
    pub names: u64,
    /// Whether it is the program that runs now.
    pub running: Running,
    /// The other programs called `isobox`, in the order of PATH.
    pub others: Vec<Duplicate>,
}

/// A package that owns a file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Package {
    /// The package manager, e.g. `dpkg`.
    pub manager: &'static str,
    /// The name of the package, as its manager writes it.
    pub name: String,
}

/// Whether a user may replace a file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Access {
    /// Yes.
    Allowed,
    /// It belongs to somebody else, with this uid.
    BelongsTo(u32),
    /// Nothing can be made in its directory: what the system says.
    Denied(String),
}

/// Why isobox does not replace an Update Target, and what to do instead.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Refusal {
    /// Why, as the end of a sentence that begins with the target.
    pub why: String,
    /// What to do.
    pub hint: String,
}

/// Where to put an isobox that updates itself.
const BY_HAND: &str = "or install a release by hand, with install.sh, into ~/.local/bin or /usr/local/bin";

/// Who looks after files in a place, and how they are updated there. A place that begins with `/` is the beginning of a
/// path; another may stand anywhere in it, after a `/`.
const KEEPERS: [(&str, &str, &str); 10] = [
    ("/nix/store/", "Nix", "update it with Nix, e.g. `nix profile upgrade`"),
    ("/gnu/store/", "Guix", "update it with `guix upgrade`"),
    ("Cellar/", "Homebrew", "update it with `brew upgrade`"),
    ("/opt/homebrew/", "Homebrew", "update it with `brew upgrade`"),
    ("/home/linuxbrew/", "Homebrew", "update it with `brew upgrade`"),
    ("/snap/", "snapd", "update it with `snap refresh`"),
    ("/var/lib/snapd/", "snapd", "update it with `snap refresh`"),
    (".cargo/bin/", "Cargo", "update it with `cargo install`"),
    ("mise/installs/", "mise", "update it with `mise upgrade`"),
    (".asdf/installs/", "asdf", "install another version with asdf"),
];

/// Directories that distributions keep for what their package managers install; see hier(7).
const SYSTEM: [&str; 8] =
    ["/usr/bin/", "/usr/sbin/", "/bin/", "/sbin/", "/usr/lib/", "/usr/libexec/", "/lib/", "/usr/share/"];

impl UpdateTarget {
    /// A program that is the only one, runs now, and belongs to its user alone.
    pub fn alone(file: Vec<u8>) -> Self {
        Self {
            on_path: file.clone(),
            file,
            package: None,
            is_build_output: false,
            access: Access::Allowed,
            names: 1,
            running: Running::First,
            others: Vec::new(),
        }
    }

    /// Why isobox never replaces the file, whoever asks: somebody else looks after it. `None` if nobody does.
    pub fn managed(&self) -> Option<Refusal> {
        if let Some(Package { manager, name }) = &self.package {
            let name = Escaped(name.as_bytes());
            let why = format!("belongs to the package {name}, which {manager} looks after");
            return Some(Refusal { why, hint: format!("update that package with {manager}, {BY_HAND}") });
        }
        if let Some((_, keeper, way)) = KEEPERS.iter().find(|(place, ..)| self.is_below(place)) {
            return Some(Refusal { why: format!("is looked after by {keeper}"), hint: format!("{way}, {BY_HAND}") });
        }
        if SYSTEM.iter().any(|place| self.is_below(place)) {
            let why = "lies where the system's package manager installs programs".to_owned();
            return Some(Refusal { why, hint: format!("update it with the package manager, {BY_HAND}") });
        }
        let why = "is a development build: it lies in what `cargo build` makes".to_owned();
        let hint = format!("build it again from its source with `cargo build`, {BY_HAND}");
        self.is_build_output.then_some(Refusal { why, hint })
    }

    fn is_below(&self, place: &str) -> bool {
        let place = place.as_bytes();
        match place.starts_with(b"/") {
            true => self.file.starts_with(place),
            false => self.file.windows(place.len() + 1).any(|found| found[0] == b'/' && &found[1..] == place),
        }
    }

    /// Why this user cannot replace the file; `None` if nothing stands in the way.
    pub fn denied(&self) -> Option<Refusal> {
        match &self.access {
            Access::Allowed => None,
            Access::BelongsTo(uid) => Some(Refusal {
                why: format!("belongs to the user with uid {uid}"),
                hint: match uid {
                    0 => "run the update as root, e.g. with `sudo env PATH=\"$PATH\" isobox update`".to_owned(),
                    _ => "run the update as that user".to_owned(),
                },
            }),
            Access::Denied(why) => Some(Refusal {
                why: format!("cannot be replaced: in its directory nothing can be made: {why}"),
                hint: "run the update as a user who may write there, or install a release into ~/.local/bin".to_owned(),
            }),
        }
    }

    /// What else a person should know before the file is replaced: a sentence each.
    pub fn remarks(&self) -> Vec<String> {
        let file = Escaped(&self.file);
        let mut remarks = Vec::new();
        if self.on_path != self.file {
            remarks.push(format!("{} leads to {file}; the link stays as it is", Escaped(&self.on_path)));
        }
        if self.running == Running::Other {
            remarks.push(format!("the isobox that runs now is not {file}, the first on PATH"));
        }
        if let Some(Refusal { why, .. }) = self.denied() {
            remarks.push(format!("{file} {why}"));
        }
        if self.names > 1 {
            let others = self.names - 1;
            remarks.push(format!("{file} has {others} more by hard links; an update leaves the old program to them"));
        }
        let others = self.others.iter().map(|other| match other.relation {
            Relation::OtherFile => format!("{} is another isobox on PATH, and stays as it is", other.host_path),
            Relation::HardLink => format!("{} is a hard link to the same program", other.host_path),
            Relation::SymbolicLink | Relation::SamePath => format!("{} leads to the same program", other.host_path),
        });
        remarks.extend(others);
        remarks
    }
}

/// Why a program that was built as `identity` says is not replaced by a release; `None` if it may be. A key that the
/// user names is the word that it should be.
pub fn refused_build(identity: &Identity, key: KeyFrom) -> Option<Refusal> {
    (identity.build == Build::Development && key == KeyFrom::Build).then(keyless)
}

/// Why a program that has no key of releases in it takes none.
pub fn keyless() -> Refusal {
    Refusal {
        why: "is a development build, which has no key of releases in it".to_owned(),
        hint: "build it again from its source, or name the key of the releases that you trust with --key".to_owned(),
    }
}

/// Who named the key that releases must be signed with.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum KeyFrom {
    /// Whoever built isobox.
    Build,
    /// The user.
    User,
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::release::Version;

    fn target(file: &str) -> UpdateTarget {
        UpdateTarget::alone(file.into())
    }

    fn why(target: &UpdateTarget) -> Option<String> {
        target.managed().or_else(|| target.denied()).map(|refusal| refusal.why)
    }

    #[test]
    fn what_others_look_after_is_left_to_them() {
        for (file, keeper) in [
            ("/nix/store/abc-isobox/bin/isobox", "is looked after by Nix"),
            ("/opt/homebrew/Cellar/isobox/0.1/bin/isobox", "is looked after by Homebrew"),
            ("/usr/local/Cellar/isobox/0.1/bin/isobox", "is looked after by Homebrew"),
            ("/snap/isobox/7/bin/isobox", "is looked after by snapd"),
            ("/home/ana/.cargo/bin/isobox", "is looked after by Cargo"),
            ("/home/ana/.local/share/mise/installs/isobox/1/isobox", "is looked after by mise"),
            ("/usr/bin/isobox", "lies where the system's package manager installs programs"),
        ] {
            assert_eq!(why(&target(file)).as_deref(), Some(keeper), "{file}");
            assert!(target(file).managed().unwrap().hint.contains("~/.local/bin"));
        }
    }

    #[test]
    fn what_a_person_put_somewhere_is_replaced() {
        for file in
            ["/usr/local/bin/isobox", "/home/ana/.local/bin/isobox", "/opt/isobox/isobox", "/home/a/nix/store/x"]
        {
            assert_eq!(why(&target(file)), None, "{file}");
        }
    }

    #[test]
    fn a_package_is_named_whatever_its_place() {
        let package = Some(Package { manager: "dpkg", name: "isobox\n".to_owned() });
        let found = UpdateTarget { package, ..target("/opt/isobox/isobox") };
        assert_eq!(why(&found).unwrap(), "belongs to the package isobox\\n, which dpkg looks after");
    }

    #[test]
    fn what_this_user_may_not_replace_is_refused_with_a_way_out() {
        let denied = UpdateTarget { access: Access::BelongsTo(0), ..target("/usr/local/bin/isobox") };
        assert!(denied.denied().unwrap().hint.contains("as root"));
        assert_eq!(denied.remarks(), ["/usr/local/bin/isobox belongs to the user with uid 0"]);
        let denied = UpdateTarget { access: Access::Denied("Read-only".to_owned()), ..target("/x/isobox") };
        assert!(why(&denied).unwrap().ends_with("Read-only"));
        let built = UpdateTarget { is_build_output: true, ..target("/x/isobox") };
        assert!(why(&built).unwrap().contains("development build"));
    }

    #[test]
    fn a_development_build_is_replaced_only_with_a_key_that_the_user_names() {
        let identity = |build| Identity { version: Version::new(1, 0, 0), build };
        assert!(refused_build(&identity(Build::Development), KeyFrom::Build).is_some());
        assert_eq!(refused_build(&identity(Build::Development), KeyFrom::User), None);
        assert_eq!(refused_build(&identity(Build::Release), KeyFrom::Build), None);
    }

    #[test]
    fn links_and_other_programs_are_told() {
        let other = Duplicate { host_path: "/b/isobox".to_owned(), relation: Relation::OtherFile };
        let found = UpdateTarget {
            on_path: b"/a/isobox".to_vec(),
            names: 2,
            running: Running::Other,
            others: vec![other],
            ..target("/opt/isobox")
        };
        let expected = [
            "/a/isobox leads to /opt/isobox; the link stays as it is",
            "the isobox that runs now is not /opt/isobox, the first on PATH",
            "/opt/isobox has 1 more by hard links; an update leaves the old program to them",
            "/b/isobox is another isobox on PATH, and stays as it is",
        ];
        assert_eq!(found.remarks(), expected);
        assert_eq!(target("/opt/isobox").remarks(), Vec::<String>::new());
    }
}
