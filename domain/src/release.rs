//! Releases of isobox, and which of them an installation is updated to.

mod index;

pub use index::{IndexError, ReleaseIndex};
pub use semver::Version;

use crate::content::hex;
use std::cmp::Ordering;
use std::fmt;

/// Longest index of releases that is read, in bytes. A Release File takes a line of about 150.
pub const MAX_INDEX_BYTES: u64 = 1 << 20;
/// Longest Release File that is read, in bytes. One of today has a fiftieth of it.
pub const MAX_RELEASE_FILE_BYTES: u64 = 256 << 20;
/// Longest program that is unpacked from a Release File, in bytes.
pub const MAX_PROGRAM_BYTES: u64 = 512 << 20;

/// The schema of what `isobox version --json` prints, by which an update knows an isobox.
pub const VERSION_SCHEMA: &str = "isobox.version/v1";

/// A kind of machine that releases are built for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Platform {
    /// Linux on x86-64, whatever its C library.
    X86_64,
    /// Linux on 64-bit Arm, whatever its C library.
    Aarch64,
}

impl Platform {
    /// Every platform.
    pub const ALL: [Self; 2] = [Self::X86_64, Self::Aarch64];

    /// The platform that this program was built for, if releases are.
    pub const fn of_this_program() -> Option<Self> {
        match () {
            () if cfg!(all(target_os = "linux", target_arch = "x86_64")) => Some(Self::X86_64),
            () if cfg!(all(target_os = "linux", target_arch = "aarch64")) => Some(Self::Aarch64),
            () => None,
        }
    }

    /// The name in an index: the target that its releases are compiled for.
    pub const fn name(self) -> &'static str {
        match self {
            Self::X86_64 => "x86_64-unknown-linux-musl",
            Self::Aarch64 => "aarch64-unknown-linux-musl",
        }
    }
}

/// The SHA-256 of a Release File: the hash that the programs of a bare machine can compute. Shown as 64 hex digits.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Sha256(pub [u8; 32]);

impl fmt::Display for Sha256 {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&hex(&self.0))
    }
}

/// A Release File: a release for one platform, packed, as the signed index describes it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ReleaseFile {
    /// The version in it.
    pub version: Version,
    /// What it runs on.
    pub platform: Platform,
    /// Its exact length in bytes, at most [`MAX_RELEASE_FILE_BYTES`].
    pub bytes: u64,
    /// The hash of its bytes.
    pub sha256: Sha256,
    /// Its name beside the index: one plain component of a path.
    pub name: String,
}

impl ReleaseFile {
    /// The program's path in it.
    pub fn program_path(&self) -> String {
        format!("isobox-{}-{}/isobox", self.version, self.platform.name())
    }
}

/// What an index means for an installation.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Choice {
    /// There is a newer release.
    Newer(ReleaseFile),
    /// The newest release is installed.
    Current,
    /// What is installed is newer than any release: it stays.
    Ahead(Version),
    /// There is no release for the platform.
    Unavailable,
}

impl Choice {
    /// What `index` means where `installed` runs on `platform`: the highest version decides, by the rules of Semantic
    /// Versioning and never by a date. Pre-releases are passed over; nothing older than `installed` is ever chosen.
    pub fn of(index: &ReleaseIndex, installed: &Version, platform: Platform) -> Self {
        let suitable = index.files().iter().filter(|file| file.platform == platform);
        let stable = suitable.filter(|file| file.version.pre.is_empty());
        match stable.max_by(|one, other| one.version.cmp_precedence(&other.version)) {
            None => Self::Unavailable,
            Some(newest) => match newest.version.cmp_precedence(installed) {
                Ordering::Greater => Self::Newer(newest.clone()),
                Ordering::Equal => Self::Current,
                Ordering::Less => Self::Ahead(newest.version.clone()),
            },
        }
    }
}

/// How a program was built.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Build {
    /// As a release, with the key of its releases in it.
    Release,
    /// By somebody from source, without such a key.
    Development,
}

impl Build {
    /// The name in documents.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Release => "release",
            Self::Development => "development",
        }
    }
}

/// What a program says of itself.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Identity {
    /// Its version.
    pub version: Version,
    /// How it was built.
    pub build: Build,
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn index(versions: &[&str]) -> ReleaseIndex {
        let hash = "0".repeat(64);
        let lines = versions.iter().map(|version| format!("archive {version} x86_64-unknown-linux-musl 1 {hash} a\n"));
        ReleaseIndex::parse(format!("isobox-releases/v1\n{}", lines.collect::<String>()).as_bytes()).unwrap()
    }

    fn chosen(versions: &[&str], installed: &str) -> String {
        let index = index(versions);
        match Choice::of(&index, &installed.parse().unwrap(), Platform::X86_64) {
            Choice::Newer(file) => format!("newer {}", file.version),
            Choice::Ahead(version) => format!("ahead of {version}"),
            other => format!("{other:?}"),
        }
    }

    #[test]
    fn the_highest_stable_version_is_chosen_whatever_its_place() {
        assert_eq!(chosen(&["0.9.0", "0.10.0", "0.2.0"], "0.9.0"), "newer 0.10.0");
        assert_eq!(chosen(&["1.0.0", "2.0.0-rc.1", "1.0.1-beta"], "1.0.0"), "Current");
        assert_eq!(chosen(&["1.0.0"], "1.0.0-rc.1"), "newer 1.0.0");
    }

    #[test]
    fn nothing_older_is_ever_chosen() {
        assert_eq!(chosen(&["1.0.0", "1.1.0"], "2.0.0"), "ahead of 1.1.0");
        assert_eq!(chosen(&["1.1.0"], "1.2.0-alpha"), "ahead of 1.1.0");
        assert_eq!(chosen(&["2.0.0-rc.1"], "1.0.0"), "Unavailable");
        assert_eq!(chosen(&["1.0.0+2"], "1.0.0+1"), "Current");
    }

    #[test]
    fn a_release_for_other_machines_is_none() {
        let index = index(&["9.0.0"]);
        assert_eq!(Choice::of(&index, &Version::new(1, 0, 0), Platform::Aarch64), Choice::Unavailable);
    }

    proptest! {
        #[test]
        fn whatever_is_chosen_is_newer_and_stable(
            versions in proptest::collection::btree_set("[0-3]\\.[0-3]\\.[0-3](-rc\\.[0-3])?", 0..12),
            installed in "[0-3]\\.[0-3]\\.[0-3](-rc\\.[0-3])?",
        ) {
            let versions: Vec<&str> = versions.iter().map(String::as_str).collect();
            let (index, installed) = (index(&versions), installed.parse().unwrap());
            if let Choice::Newer(file) = Choice::of(&index, &installed, Platform::X86_64) {
                prop_assert!(file.version > installed && file.version.pre.is_empty());
            }
        }
    }
}
