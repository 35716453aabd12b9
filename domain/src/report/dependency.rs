//! What a dependency manifest names, and how that changed.

use super::{Finding, RiskCategory};
use crate::escape::Escaped;
use crate::masking::mask_text;
use crate::repo_path::RepoPath;
use std::collections::BTreeMap;

/// Most dependencies of one kind of change that a sentence names; the others are counted.
const MOST_NAMED: usize = 6;
/// Longest part of a name or a requirement that a sentence shows, in characters.
const LONGEST_SHOWN: usize = 60;

/// A file that names dependencies in a way that isobox can read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Manifest {
    /// `Cargo.toml`.
    Cargo,
    /// `Cargo.lock`.
    CargoLock,
    /// `package.json`.
    Npm,
    /// `package-lock.json` and `npm-shrinkwrap.json`.
    NpmLock,
    /// `requirements.txt`, `requirements-dev.txt`, `constraints.txt` and their like.
    Pip,
    /// `pyproject.toml`.
    PyProject,
    /// `go.mod`.
    Go,
}

impl Manifest {
    /// What the name of a file says; names are compared in ASCII lower case.
    pub fn of(path: &RepoPath) -> Option<Self> {
        let name = path.file_name().to_ascii_lowercase();
        match name.as_slice() {
            b"cargo.toml" => Some(Self::Cargo),
            b"cargo.lock" => Some(Self::CargoLock),
            b"package.json" => Some(Self::Npm),
            b"package-lock.json" | b"npm-shrinkwrap.json" => Some(Self::NpmLock),
            b"pyproject.toml" => Some(Self::PyProject),
            b"go.mod" => Some(Self::Go),
            name if is_of_pip(name) => Some(Self::Pip),
            _ => None,
        }
    }
}

fn is_of_pip(name: &[u8]) -> bool {
    let begins = name.starts_with(b"requirements") || name.starts_with(b"constraints");
    begins && (name.ends_with(b".txt") || name.ends_with(b".in"))
}

/// A dependency of a manifest.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct DependencyKey {
    /// Its name, as the manifest has it.
    pub name: String,
    /// What it is for in the words of the manifest, such as `dev-dependencies`; empty where that goes without saying.
    pub group: String,
}

/// What a manifest names: per dependency what it asks for, such as `^1.2` or `git https://… branch main`.
pub type Dependencies = BTreeMap<DependencyKey, String>;

/// A dependency that came, went, or is asked for in another way.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DependencyChange {
    /// Which one.
    pub key: DependencyKey,
    /// What the manifest asked for; `None`: it did not name it.
    pub before: Option<String>,
    /// What it asks for now; `None`: it does not name it.
    pub after: Option<String>,
}

/// What became of the dependencies of a manifest.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum DependencyChanges {
    /// These changed, in the order of their names.
    Known(Vec<DependencyChange>),
    /// It is too large, or the record does not lead back to what it was.
    NotThere,
    /// It is not what its name says.
    Unreadable,
}

impl DependencyChanges {
    /// The difference between two states of a manifest.
    pub fn between(before: &Dependencies, after: &Dependencies) -> Self {
        let mut keys: Vec<&DependencyKey> = before.keys().chain(after.keys()).collect();
        keys.sort();
        keys.dedup();
        let changes = keys.into_iter().filter_map(|key| {
            let (before, after) = (before.get(key).cloned(), after.get(key).cloned());
            (before != after).then(|| masked(key, before, after))
        });
        Self::Known(changes.collect())
    }

    /// The changes themselves.
    pub fn known(&self) -> &[DependencyChange] {
        match self {
            Self::Known(changes) => changes,
            Self::NotThere | Self::Unreadable => &[],
        }
    }

    /// A sentence for people, escaped.
    pub fn sentence(&self) -> String {
        let changes = match self {
            Self::Known(changes) if changes.is_empty() => {
                return "no dependency was added, removed or changed".to_owned();
            }
            Self::Known(changes) => changes,
            Self::NotThere => return "the dependencies were not compared: it is too large, or no text".to_owned(),
            Self::Unreadable => return "the dependencies were not compared: it cannot be read".to_owned(),
        };
        type Kind = fn(&DependencyChange) -> bool;
        let kinds: [(&str, Kind); 3] = [
            ("adds", |change| change.before.is_none()),
            ("removes", |change| change.after.is_none()),
            ("changes", |change| change.before.is_some() && change.after.is_some()),
        ];
        let parts = kinds.into_iter().filter_map(|(verb, is_it)| {
            let told: Vec<&DependencyChange> = changes.iter().filter(|change| is_it(change)).collect();
            (!told.is_empty()).then(|| format!("{verb} {}", named(&told)))
        });
        parts.collect::<Vec<_>>().join("; ")
    }
}

/// A change without what is secret-shaped in it: the address of a private repository often has a token.
fn masked(key: &DependencyKey, before: Option<String>, after: Option<String>) -> DependencyChange {
    let mask = |text: &String| String::from_utf8_lossy(&mask_text(text.as_bytes())).into_owned();
    let key = DependencyKey { name: mask(&key.name), group: mask(&key.group) };
    DependencyChange { key, before: before.as_ref().map(mask), after: after.as_ref().map(mask) }
}

fn named(changes: &[&DependencyChange]) -> String {
    let mut names: Vec<String> = changes.iter().take(MOST_NAMED).map(|change| told(change)).collect();
    if changes.len() > MOST_NAMED {
        names.push(format!("… and {} more", changes.len() - MOST_NAMED));
    }
    names.join(", ")
}

fn told(change: &DependencyChange) -> String {
    let DependencyChange { key, before, after } = change;
    let mut told = shown(&key.name);
    let requirement = match (before, after) {
        (Some(before), Some(after)) => format!("{} -> {}", shown(before), shown(after)),
        (one, other) => shown(one.as_ref().or(other.as_ref()).map_or("", String::as_str)),
    };
    if !requirement.is_empty() {
        told.push(' ');
        told.push_str(&requirement);
    }
    if !key.group.is_empty() {
        told.push_str(&format!(" ({})", shown(&key.group)));
    }
    told
}

fn shown(text: &str) -> String {
    let mut short: String = text.chars().take(LONGEST_SHOWN).collect();
    if short.len() < text.len() {
        short.push('…');
    }
    Escaped(short.as_bytes()).to_string()
}

impl Finding {
    /// The finding that a path is a dependency manifest, with what became of the dependencies.
    #[must_use]
    pub fn with_dependencies(self, dependencies: DependencyChanges) -> Self {
        debug_assert_eq!(self.category, RiskCategory::DependencyManifest);
        let note = Some(dependencies.sentence());
        Self { note, dependencies: Some(dependencies), ..self }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn named(list: &[(&str, &str, &str)]) -> Dependencies {
        let key = |name: &str, group: &str| DependencyKey { name: name.into(), group: group.into() };
        list.iter().map(|(name, group, requirement)| (key(name, group), (*requirement).to_owned())).collect()
    }

    fn sentence(before: &[(&str, &str, &str)], after: &[(&str, &str, &str)]) -> String {
        DependencyChanges::between(&named(before), &named(after)).sentence()
    }

    #[test]
    fn a_sentence_says_what_came_went_and_changed() {
        let before = [("rand", "", "0.8"), ("serde", "", "1"), ("old", "dev", "2")];
        let after = [("rand", "", "0.9"), ("serde", "", "1"), ("new", "", "")];
        assert_eq!(sentence(&before, &after), "adds new; removes old 2 (dev); changes rand 0.8 -> 0.9");
        assert_eq!(sentence(&before, &before), "no dependency was added, removed or changed");
    }

    #[test]
    fn a_dependency_that_changes_its_group_goes_and_comes() {
        assert_eq!(sentence(&[("a", "", "1")], &[("a", "dev", "1")]), "adds a 1 (dev); removes a 1");
    }

    #[test]
    fn a_sentence_is_short_and_harmless_whatever_a_manifest_says() {
        let names: Vec<String> = (0..20).map(|number| format!("n{number:02}\u{1b}[31m{}", "x".repeat(500))).collect();
        let after: Vec<_> = names.iter().map(|name| (name.as_str(), "", "1\u{202e}")).collect();
        let sentence = sentence(&[], &after);
        assert!(sentence.ends_with("… and 14 more"), "{sentence}");
        assert!(sentence.chars().count() < 1000 && !sentence.contains(['\u{1b}', '\u{202e}']), "{sentence}");
    }

    #[test]
    fn a_token_in_an_address_is_compared_and_never_told() {
        let [old, new] = ["one", "two"].map(|token| format!("git https://user:{token}@example.com/x"));
        let sentence = sentence(&[("x", "", &old)], &[("x", "", &new)]);
        assert!(sentence.starts_with("changes x git https://") && sentence.contains("example.com"), "{sentence}");
        assert!(!sentence.contains("one") && !sentence.contains("two"), "{sentence}");
    }

    #[test]
    fn the_name_of_a_file_says_which_manifest_it_is() {
        let of = |path: &str| Manifest::of(&RepoPath::parse(path).expect("a path"));
        assert_eq!(of("a/Cargo.toml"), Some(Manifest::Cargo));
        assert_eq!(of("requirements-dev.txt"), Some(Manifest::Pip));
        assert_eq!(of("requirements.md"), None);
        assert_eq!(of("my-package.json"), None);
    }
}
