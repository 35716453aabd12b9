//! Paths inside a repository: bytes, relative, and harmless by construction.

use crate::escape::Escaped;
use std::fmt;

/// A path of a file below the root of a repository, as Git spells it: any bytes but NUL, `/` between components.
///
/// It is never empty or absolute and has no `.`, `..` or empty component, and none that a file system could take
/// for `.git` (in any case). So joining it to a directory handle stays below that handle, links aside.
#[derive(Clone, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct RepoPath(Box<[u8]>);

/// Longest path accepted, in bytes: Linux's PATH_MAX without its NUL.
pub const MAX_PATH_BYTES: usize = 4095;

/// Why some bytes are no [`RepoPath`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum RepoPathError {
    /// Nothing, or nothing between two slashes.
    #[error("it has an empty component")]
    EmptyComponent,
    /// Starts with `/`.
    #[error("it is absolute")]
    Absolute,
    /// Has a component `.` or `..`.
    #[error("it has a component `.` or `..`")]
    DotComponent,
    /// Has a component that is Git's own directory.
    #[error("it has a component `.git`")]
    GitDirectory,
    /// Holds a NUL byte.
    #[error("it holds a NUL byte")]
    Nul,
    /// Is over [`MAX_PATH_BYTES`].
    #[error("it is longer than {MAX_PATH_BYTES} bytes")]
    TooLong,
}

impl RepoPath {
    /// Parses the bytes of a path.
    pub fn parse(bytes: impl Into<Vec<u8>>) -> Result<Self, RepoPathError> {
        let bytes = bytes.into();
        if bytes.len() > MAX_PATH_BYTES {
            return Err(RepoPathError::TooLong);
        }
        if bytes.starts_with(b"/") {
            return Err(RepoPathError::Absolute);
        }
        bytes.split(|&b| b == b'/').try_for_each(check_component)?;
        Ok(Self(bytes.into()))
    }

    /// The path as Git spells it.
    pub fn as_bytes(&self) -> &[u8] {
        &self.0
    }

    /// The components from the root down; at least one.
    pub fn components(&self) -> impl DoubleEndedIterator<Item = &[u8]> {
        self.0.split(|&b| b == b'/')
    }

    /// The last component.
    pub fn file_name(&self) -> &[u8] {
        self.components().next_back().unwrap_or(&self.0)
    }

    /// The path below `self`, `self/name`.
    pub fn join(&self, name: &[u8]) -> Result<Self, RepoPathError> {
        Self::parse([&self.0, b"/".as_slice(), name].concat())
    }

    /// The path and the directories that it lies below, as bytes: `a/b/c`, `a/b`, `a`.
    pub fn and_its_directories(&self) -> impl Iterator<Item = &[u8]> {
        let is_parent = |at: &usize| self.0[*at] == b'/';
        let parents = (0..self.0.len()).rev().filter(is_parent).map(|at| &self.0[..at]);
        std::iter::once(&*self.0).chain(parents)
    }

    /// Whether `self` lies below the directory `other` (a path does not lie below itself).
    pub fn is_below(&self, other: &Self) -> bool {
        self.0.strip_prefix(&*other.0).is_some_and(|rest| rest.starts_with(b"/"))
    }
}

impl std::borrow::Borrow<[u8]> for RepoPath {
    fn borrow(&self) -> &[u8] {
        &self.0
    }
}

fn check_component(name: &[u8]) -> Result<(), RepoPathError> {
    match name {
        b"" => Err(RepoPathError::EmptyComponent),
        b"." | b".." => Err(RepoPathError::DotComponent),
        _ if name.contains(&0) => Err(RepoPathError::Nul),
        _ if name.eq_ignore_ascii_case(b".git") => Err(RepoPathError::GitDirectory),
        _ => Ok(()),
    }
}

impl fmt::Display for RepoPath {
    /// Escaped for a terminal: see [`Escaped`].
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(&Escaped(&self.0), f)
    }
}

impl fmt::Debug for RepoPath {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_of_any_bytes_are_paths() {
        for path in [&b"a"[..], b"a/b", b":foo", b"\xff\xfe", b"a\nb", b" ", b"...", b"..x", b".gitignore", b"x.git/y"]
        {
            assert_eq!(RepoPath::parse(path).map(|p| p.as_bytes().to_vec()), Ok(path.to_vec()));
        }
    }

    #[test]
    fn paths_that_could_leave_the_repository_are_refused() {
        use RepoPathError::*;
        for (path, why) in [
            (&b""[..], EmptyComponent),
            (b"a//b", EmptyComponent),
            (b"a/", EmptyComponent),
            (b"/a", Absolute),
            (b"a/../b", DotComponent),
            (b"./a", DotComponent),
            (b".GiT/config", GitDirectory),
            (b"sub/.git", GitDirectory),
            (b"a\0b", Nul),
        ] {
            assert_eq!(RepoPath::parse(path), Err(why));
        }
        assert_eq!(RepoPath::parse(vec![b'a'; MAX_PATH_BYTES + 1]), Err(TooLong));
    }

    #[test]
    fn a_path_lies_below_each_of_its_directories() {
        let path = RepoPath::parse("a/b c/d").expect("a path");
        let names: Vec<&[u8]> = path.and_its_directories().collect();
        assert_eq!(names, [b"a/b c/d".as_slice(), b"a/b c", b"a"]);
    }
}
