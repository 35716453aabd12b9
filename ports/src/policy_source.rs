//! Where policies come from.

use crate::Cause;
use isobox_domain::content::ContentId;
use isobox_domain::fact::Refused;
use isobox_domain::policy::{ProjectPolicy, WrittenPolicy};

/// A place in a policy file, both from 1; columns count characters.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Position {
    /// The line.
    pub line: u64,
    /// The character in it.
    pub column: u64,
}

/// Why a policy could not be read.
#[derive(Debug, thiserror::Error)]
pub enum PolicyError {
    /// The file is there, but is no valid policy.
    #[error("{host_path}{}: {problem}", at(.position))]
    Invalid {
        /// The file, escaped for people.
        host_path: String,
        /// Where in it, if that is known.
        position: Option<Position>,
        /// What is wrong, expected and found.
        problem: String,
        /// The line in question with a caret below it.
        excerpt: Option<Box<str>>,
        /// What to write instead.
        hint: Option<Box<str>>,
        /// Everything else that is wrong, each with its place, its line and what to write instead.
        further: Box<[Refused]>,
    },
    /// The file could not be read.
    #[error("read policy {host_path}")]
    Io {
        /// The file, escaped for people.
        host_path: String,
        /// What the system said.
        #[source]
        source: Cause,
    },
}

impl PolicyError {
    /// Everything that is wrong, each with its place and its line, and what to write instead.
    pub fn mistakes(&self) -> Vec<Refused> {
        match self {
            Self::Invalid { excerpt, hint, further, .. } => {
                let excerpt = excerpt.as_ref().map(|excerpt| format!("\n{excerpt}")).unwrap_or_default();
                let first = Refused { reason: format!("{self}{excerpt}"), hint: hint.as_deref().map(str::to_owned) };
                std::iter::once(first).chain(further.iter().cloned()).collect()
            }
            Self::Io { source, .. } => vec![Refused { reason: format!("{self}: {source}"), hint: None }],
        }
    }
}

fn at(position: &Option<Position>) -> String {
    position.map(|p| format!(":{}:{}", p.line, p.column)).unwrap_or_default()
}

/// Where a key stands.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PolicyPlace {
    /// The file or preset for people, if it is one that the policy extends.
    pub extended: Option<String>,
    /// Where in it.
    pub position: Position,
}

/// A policy file as it was read, in one go, with whatever it extends: what it says is what its digest is of.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PolicyFile {
    /// BLAKE3 of the file's bytes, or of those of all files and presets where it extends any.
    pub digest: ContentId,
    /// What it says, key by key.
    pub written: WrittenPolicy,
    /// Where each key stands that it has, by its full name.
    pub places: Vec<(String, PolicyPlace)>,
}

impl PolicyFile {
    /// Where a key stands, if the file has it.
    pub fn place_of(&self, key: &str) -> Option<&PolicyPlace> {
        self.places.iter().find(|(name, _)| name == key).map(|(_, place)| place)
    }
}

/// The policy of a project, from its trusted checkout.
///
/// - No file is `None`; a file that is no policy is an error, never `None`.
/// - What the policy extends is part of it, and of its digest.
/// - Nothing is followed out of the project: a policy that is a symbolic link is an error.
pub trait PolicySource {
    /// Reads the policy once, with the digest of what was read.
    fn read(&self) -> Result<Option<PolicyFile>, PolicyError>;

    /// Reads the policy key by key.
    fn written(&self) -> Result<Option<WrittenPolicy>, PolicyError> {
        Ok(self.read()?.map(|file| file.written))
    }

    /// Reads the policy; what it leaves out has its most restrictive value.
    fn load(&self) -> Result<Option<ProjectPolicy>, PolicyError> {
        Ok(self.written()?.map(WrittenPolicy::resolved))
    }
}
