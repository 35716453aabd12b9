//! Git's own object names, in either hash.

use crate::content::{hex, parse_hex};
use std::fmt;

/// The name of a Git object: a commit, tree or blob of a SHA-1 or SHA-256 repository.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum GitOid {
    /// 20 bytes, of a repository in the `sha1` object format.
    Sha1([u8; 20]),
    /// 32 bytes, of a repository in the `sha256` object format.
    Sha256([u8; 32]),
}

impl GitOid {
    /// The raw hash, 20 or 32 bytes.
    pub fn as_bytes(&self) -> &[u8] {
        match self {
            Self::Sha1(bytes) => bytes,
            Self::Sha256(bytes) => bytes,
        }
    }

    /// The oid whose raw hash is `bytes`; `None` unless there are 20 or 32.
    pub fn from_bytes(bytes: &[u8]) -> Option<Self> {
        match bytes.len() {
            20 => bytes.try_into().ok().map(Self::Sha1),
            32 => bytes.try_into().ok().map(Self::Sha256),
            _ => None,
        }
    }

    /// The oid of 40 or 64 lower-case hex digits.
    pub fn from_hex(text: &str) -> Option<Self> {
        parse_hex(text).map(Self::Sha1).or_else(|| parse_hex(text).map(Self::Sha256))
    }

    /// The first eight hex digits, for people.
    pub fn short(&self) -> String {
        hex(&self.as_bytes()[..4])
    }
}

impl fmt::Display for GitOid {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&hex(self.as_bytes()))
    }
}

impl fmt::Debug for GitOid {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}
