//! The parts of a record's patch, one after the other, as they are asked for.

use crate::failure::{Failure, FailureKind};
use crate::output::patch_parts::{BEGINNING, path_of};
use isobox_domain::repo_path::RepoPath;
use isobox_ports::Content;
use std::io::{self, BufRead, BufReader, Read};

/// Longest part that is looked at, in bytes: more than what the longest text that has hunks takes on both sides, 2 MiB each.
const LONGEST: usize = 8 << 20;

/// A patch whose parts are read once, in the order of their paths.
pub(crate) struct PatchReader {
    patch: BufReader<Content>,
    /// How much of a part is kept, in bytes.
    longest: usize,
    /// The header of the next part.
    header: Vec<u8>,
    is_within_line: bool,
}

/// What a patch says of one path, header and all.
pub(crate) struct Part {
    /// As much of it as is kept.
    pub(crate) bytes: Vec<u8>,
    /// How much there is, in bytes.
    pub(crate) length: u64,
}

impl Part {
    /// Whether nothing of it is left out.
    pub(crate) fn is_whole(&self) -> bool {
        self.bytes.len() as u64 == self.length
    }
}

impl PatchReader {
    pub(crate) fn new(patch: Content) -> Self {
        Self::keeping(patch, LONGEST)
    }

    /// One that keeps no more than `longest` bytes of a part.
    pub(crate) fn keeping(patch: Content, longest: usize) -> Self {
        Self { patch: BufReader::new(patch), longest, header: Vec::new(), is_within_line: false }
    }

    /// The part about `path`, header and all. `None`: there is none that can be read or is not too long, or a later path was
    /// asked for before.
    pub(crate) fn find(&mut self, path: &RepoPath) -> Result<Option<Vec<u8>>, Failure> {
        Ok(self.find_part(path)?.filter(Part::is_whole).map(|part| part.bytes))
    }

    /// The same of any length.
    pub(crate) fn find_part(&mut self, path: &RepoPath) -> Result<Option<Part>, Failure> {
        let unread = |error: io::Error| Failure::new(FailureKind::Store, "read the patch of the task").because(error);
        if self.header.is_empty() {
            self.part().map_err(unread)?;
        }
        while !self.header.is_empty() {
            let found = path_of(&self.header);
            if found.as_deref().is_some_and(|found| found > path.as_bytes()) {
                return Ok(None);
            }
            let is_it = found.as_deref() == Some(path.as_bytes());
            let part = self.part().map_err(unread)?;
            if is_it {
                return Ok(Some(part));
            }
        }
        Ok(None)
    }

    /// The part that begins with the header that was read, up to the next one.
    fn part(&mut self) -> io::Result<Part> {
        let bytes = std::mem::take(&mut self.header);
        let mut part = Part { length: bytes.len() as u64, bytes };
        loop {
            let line = self.line()?;
            if line.is_empty() || self.header == line {
                return Ok(part);
            }
            part.length += line.len() as u64;
            let room = self.longest.saturating_sub(part.bytes.len());
            part.bytes.extend_from_slice(&line[..line.len().min(room)]);
        }
    }

    /// The next line, or as much of it as is looked at together; kept as the header if it is one.
    fn line(&mut self) -> io::Result<Vec<u8>> {
        let mut line = Vec::new();
        (&mut self.patch).take(self.longest as u64).read_until(b'\n', &mut line)?;
        if !self.is_within_line && line.starts_with(BEGINNING) {
            self.header.clone_from(&line);
        }
        self.is_within_line = !line.ends_with(b"\n");
        Ok(line)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const PATCH: &str = "diff --git a/a b/a\none\ndiff --git a/c b/c\ntwo\nthree";

    fn found(patch: &str, paths: &[&str]) -> Vec<Option<String>> {
        let mut reader = PatchReader::new(Box::new(io::Cursor::new(patch.as_bytes().to_vec())));
        let mut find = |path: &&str| reader.find(&RepoPath::parse(*path).unwrap()).unwrap();
        paths.iter().map(|path| find(path).map(|part| String::from_utf8(part).unwrap())).collect()
    }

    #[test]
    fn parts_are_found_in_their_order_and_what_has_none_is_passed_over() {
        let [a, c] = ["diff --git a/a b/a\none\n", "diff --git a/c b/c\ntwo\nthree"].map(|part| Some(part.to_owned()));
        assert_eq!(found(PATCH, &["a", "b", "c", "d"]), [a.clone(), None, c.clone(), None]);
        assert_eq!(found(PATCH, &["c", "a"]), [c, None]);
        assert_eq!(found(&format!("foreign\n{PATCH}"), &["a"]), [a]);
        assert_eq!(found("", &["a"]), [None]);
    }

    #[test]
    fn a_part_that_is_too_long_is_none_and_the_next_is_found() {
        let long =
            format!("diff --git a/a b/a\n{}diff --git a/c b/c\nstill\ndiff --git a/b b/b\n", "x".repeat(LONGEST));
        assert_eq!(found(&long, &["a", "b"]), [None, Some("diff --git a/b b/b\n".to_owned())]);
        let mut reader = PatchReader::keeping(Box::new(io::Cursor::new(long.clone().into_bytes())), 30);
        let part = reader.find_part(&RepoPath::parse("a").unwrap()).unwrap().unwrap();
        assert_eq!((part.bytes.as_slice(), part.length), (&long.as_bytes()[..30], 19 + LONGEST as u64 + 25));
    }
}
