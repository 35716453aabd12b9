//! The parts of a patch that are about chosen paths, as it passes by.

use isobox_domain::quoted_name::named_twice;
use std::io::{self, Write};

/// What a part begins with, of any program that makes patches. No other line does: content begins with a blank or a sign, and
/// base85 has no blank in it.
pub(crate) const BEGINNING: &[u8] = b"diff ";
/// The one that names a path in a way that can be relied on.
const HEADER: &[u8] = b"diff --git ";
/// Twice as much as two names take that are as long as a path can be, with every byte of them quoted.
const LONGEST_HEADER: usize = 64 << 10;

/// What becomes of the part of a path.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Treatment {
    /// It is passed on.
    Pass,
    /// It is left out.
    LeaveOut,
    /// These bytes take its place.
    Replace(Vec<u8>),
}

impl Treatment {
    /// What is done with a path that is `admitted`.
    pub(crate) const fn of(admitted: bool) -> Self {
        if admitted { Self::Pass } else { Self::LeaveOut }
    }
}

/// Passes on the parts of a patch as they are to be treated, and what is no part of one that is left out.
pub(crate) struct PatchParts<'a> {
    to: &'a mut dyn Write,
    treats: &'a dyn Fn(&[u8]) -> Treatment,
    /// The beginning of a line that may become a header.
    begun: Vec<u8>,
    is_within_line: bool,
    is_admitted: bool,
    has_passed: bool,
}

impl<'a> PatchParts<'a> {
    pub(crate) fn new(to: &'a mut dyn Write, treats: &'a dyn Fn(&[u8]) -> Treatment) -> Self {
        Self { to, treats, begun: Vec::new(), is_within_line: false, is_admitted: true, has_passed: false }
    }

    /// Takes the rest of a line, up to its end or that of `bytes`; what is left of them.
    fn go_on<'b>(&mut self, bytes: &'b [u8]) -> io::Result<&'b [u8]> {
        let (piece, rest) = bytes.split_at(line_end(bytes));
        self.is_within_line = !piece.ends_with(b"\n");
        self.pass(piece)?;
        Ok(rest)
    }

    /// Takes the beginning of a line; what is left of `bytes`.
    fn begin<'b>(&mut self, bytes: &'b [u8]) -> io::Result<&'b [u8]> {
        let (piece, rest) = bytes.split_at(line_end(bytes));
        self.begun.extend_from_slice(piece);
        let is_whole = self.begun.ends_with(b"\n");
        let shared = self.begun.len().min(BEGINNING.len());
        if self.begun[..shared] == BEGINNING[..shared] {
            if !is_whole && self.begun.len() <= LONGEST_HEADER {
                return Ok(rest);
            }
            // What cannot be read is shown: nothing is left out by mistake.
            let treatment = path_of(&self.begun).map_or(Treatment::Pass, |path| (self.treats)(&path));
            if let Treatment::Replace(part) = &treatment {
                self.is_admitted = true;
                self.pass(part)?;
            }
            self.is_admitted = treatment == Treatment::Pass;
        }
        self.is_within_line = !is_whole;
        self.pass_begun()?;
        Ok(rest)
    }

    fn pass_begun(&mut self) -> io::Result<()> {
        let begun = std::mem::take(&mut self.begun);
        self.pass(&begun)
    }

    fn pass(&mut self, bytes: &[u8]) -> io::Result<()> {
        if !self.is_admitted {
            return Ok(());
        }
        self.has_passed |= !bytes.is_empty();
        self.to.write_all(bytes)
    }

    /// Passes on what was to become a header when the patch ended; whether anything was passed on.
    pub(crate) fn finish(mut self) -> io::Result<bool> {
        self.is_admitted |= self.begun.starts_with(BEGINNING);
        self.pass_begun()?;
        self.to.flush()?;
        Ok(self.has_passed)
    }
}

impl Write for PatchParts<'_> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let mut rest = bytes;
        while let Some(&first) = rest.first() {
            let is_no_header = self.begun.is_empty() && first != BEGINNING[0];
            rest = if self.is_within_line || is_no_header { self.go_on(rest)? } else { self.begin(rest)? };
        }
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        self.to.flush()
    }
}

/// How many bytes the first line takes, with its end if it is there.
fn line_end(bytes: &[u8]) -> usize {
    bytes.iter().position(|&byte| byte == b'\n').map_or(bytes.len(), |end| end + 1)
}

/// The path that a header is about. One that has two is of another program than isobox.
pub(crate) fn path_of(header: &[u8]) -> Option<Vec<u8>> {
    named_twice(header.strip_prefix(HEADER)?.strip_suffix(b"\n")?)
}

#[cfg(test)]
mod tests {
    use super::*;

    const PATCH: &[u8] = b"diff --git a/a b/a b/a b/a\n-x\n+ diff --git a/c b/c\n\
        diff --git \"a/\\303\\244\\t\\\"\" \"b/\\303\\244\\t\\\"\"\nindex 1..2\nliteral 2\nzdiff\n\n\
        diff --git a/c b/c\n@@ -1 +1 @@\n-c\n+d\n\\ No newline at end of file\n";

    fn parts(chosen: &[&[u8]], patch: &[u8], step: usize) -> Vec<u8> {
        let mut out = Vec::new();
        let treats = |path: &[u8]| Treatment::of(chosen.contains(&path));
        let mut parts = PatchParts::new(&mut out, &treats);
        patch.chunks(step).for_each(|chunk| parts.write_all(chunk).unwrap());
        parts.finish().unwrap();
        out
    }

    #[test]
    fn those_of_chosen_paths_are_passed_on_byte_for_byte_however_they_come() {
        let second = PATCH.windows(14).position(|at| at == b"diff --git \"a/").unwrap();
        let third = PATCH.windows(16).rposition(|at| at == b"diff --git a/c b").unwrap();
        for step in [1, 2, 7, 11, 12, 40, PATCH.len()] {
            assert_eq!(parts(&[b"a b/a"], PATCH, step), &PATCH[..second], "{step}");
            assert_eq!(parts(&["ä\t\"".as_bytes()], PATCH, step), &PATCH[second..third], "{step}");
            assert_eq!(parts(&[b"c"], PATCH, step), &PATCH[third..], "{step}");
            assert_eq!(parts(&[b"a b/a", b"c"], PATCH, step).len(), PATCH.len() - (third - second), "{step}");
            assert_eq!(parts(&[], PATCH, step), b"", "{step}");
        }
    }

    #[test]
    fn what_is_about_no_one_path_is_passed_on() {
        let long = [HEADER, b"a/", &[b'x'; LONGEST_HEADER], b" b/", &[b'x'; LONGEST_HEADER], b"\n+y\n"].concat();
        let others: [&[u8]; 8] = [
            b"before all parts\n",
            b"diff --git a/old b/new\nrename\n",
            b"diff --git \"a/\\9\" \"b/\\9\"\n+x\n",
            b"diff --git \"a/\\40\" \"b/\\40\"\n+x\n",
            b"diff --cc c\n+x\n",
            b"diff -r 1 -r 2 c\n+x\n",
            b"diff --git a/cut b/",
            &long,
        ];
        for other in others {
            for step in [1, 4096] {
                let after_a_part = [b"diff --git a/a b/a\n-x\n".as_slice(), other].concat();
                for patch in [other, &after_a_part] {
                    // What comes before all parts is in the first of them otherwise.
                    let is_in_a_part = patch != other && other.starts_with(b"before");
                    let passed: &[u8] = if is_in_a_part { b"" } else { other };
                    assert_eq!(parts(&[], patch, step), passed, "{}", other[..other.len().min(40)].escape_ascii());
                }
            }
        }
        assert_eq!(parts(&[], b"diff --git a/a b/a\n-x\ndif", 5), b"", "the end of a part that was left out");
    }
}
