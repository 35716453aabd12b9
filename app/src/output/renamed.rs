//! Renames in a patch: found among the files that it deletes and adds, and shown as one file with another name.
//!
//! The stored patch has none: a rename is a way of looking at it.

use crate::output::patch_lines::{LineKind, Piece, Pieces};
use crate::output::patch_parts::Treatment;
use isobox_domain::quoted_name::{named_twice, quoted};
use isobox_domain::renames::{self, Candidate, Sketch};
use std::collections::HashSet;
use std::hash::{BuildHasher, RandomState};
use std::io::{self, Write};

/// Longest text that is compared, in bytes.
const LONGEST_TEXT: usize = 1 << 20;
/// How much text is kept to be compared, in bytes. Of what comes later only the same content is found.
const MOST_TEXT: usize = 4 << 20;
/// How much of paths is kept, with what belongs to them, in bytes. What comes later is no part of a rename.
const MOST_PATHS: usize = 16 << 20;
/// What a path takes beside its bytes, roughly.
const ENTRY_BYTES: usize = 200;

/// Writes the lines of a unified diff of two texts: names and sections, without the lines before them.
pub(crate) type WriteDiff = fn(&mut dyn Write, &[u8], &[u8], &(Vec<u8>, Vec<u8>)) -> io::Result<()>;

/// A file that went, or one that came.
#[derive(Default)]
struct Part {
    path: Vec<u8>,
    /// Six digits; `None` where it is not known to have gone or come.
    mode: Option<[u8; 6]>,
    /// Git's name of its content, as the patch has it.
    oid: Vec<u8>,
    text: Option<Vec<u8>>,
    is_deleted: bool,
}

impl Part {
    fn is_file(&self) -> bool {
        self.mode.is_some_and(|mode| mode.starts_with(b"100"))
    }
}

/// Takes the pieces of a patch.
pub(crate) struct RenameSearch {
    parts: Vec<Part>,
    open: Option<Part>,
    text_bytes: usize,
    path_bytes: usize,
}

/// A file that has another path.
struct Renamed {
    old: Part,
    new: Part,
    similarity: u8,
}

/// What was found.
#[derive(Default)]
pub(crate) struct Renames {
    /// In the order of their new paths.
    all: Vec<Renamed>,
    /// Their places in `all`, in the order of their old paths.
    by_old: Vec<u32>,
}

impl RenameSearch {
    pub(crate) const fn new() -> Self {
        Self { parts: Vec::new(), open: None, text_bytes: 0, path_bytes: 0 }
    }

    /// The renames, of files that share `least` percent.
    pub(crate) fn renames(mut self, least: u8) -> Renames {
        self.end_part();
        let (mut deleted, mut added): (Vec<Part>, Vec<Part>) = self.parts.into_iter().partition(|part| part.is_deleted);
        // What became another kind of thing goes and comes, and is no rename.
        let gone: HashSet<&[u8]> = deleted.iter().map(|part| part.path.as_slice()).collect();
        let both: HashSet<Vec<u8>> =
            added.iter().map(|part| &part.path).filter(|path| gone.contains(path.as_slice())).cloned().collect();
        deleted.retain(|part| !both.contains(&part.path));
        added.retain(|part| !both.contains(&part.path));
        let mut renames = Vec::new();
        take_pairs(&mut deleted, &mut added, 100, &|_| None, &mut renames);
        renames.iter_mut().for_each(|Renamed { old, new, .. }| (old.text, new.text) = (None, None));
        // Random, so that nobody can write a line that is taken for another one.
        let hashes = RandomState::new();
        let sketch = |text: &[u8]| (!text.is_empty()).then(|| Sketch::of(text, &|span| hashes.hash_one(span)));
        if least < 100 {
            take_pairs(&mut deleted, &mut added, least, &sketch, &mut renames);
        }
        Renames::of(renames)
    }

    fn end_part(&mut self) {
        let Some(part) = self.open.take().filter(|part| part.mode.is_some()) else { return };
        let bytes = part.path.len() + ENTRY_BYTES;
        if self.path_bytes + bytes <= MOST_PATHS {
            self.path_bytes += bytes;
            self.text_bytes += part.text.as_ref().map_or(0, Vec::len);
            self.parts.push(part);
        }
    }

    fn header(&mut self, line: &[u8]) {
        if let Some(names) = line.strip_prefix(b"diff --git ") {
            self.end_part();
            self.open = named_twice(names).map(|path| Part { path, ..Part::default() });
            return;
        }
        let Some(part) = &mut self.open else { return };
        for (words, is_deleted) in [(&b"deleted file mode "[..], true), (b"new file mode ", false)] {
            if let Some(mode) = line.strip_prefix(words).and_then(mode_of) {
                (part.mode, part.is_deleted) = (Some(mode), is_deleted);
            }
        }
        if let Some(oid) = line.strip_prefix(b"index ").and_then(|names| oid_of(names, part.is_deleted)) {
            part.oid = oid.to_vec();
        }
        if let (true, Some(text)) = (line.starts_with(b"\\"), &mut part.text) {
            text.pop();
        }
    }

    /// Takes a line of the only side that a file has.
    fn content(&mut self, piece: Piece<'_>) {
        let room = LONGEST_TEXT.min(MOST_TEXT - self.text_bytes);
        let Some(part) = &mut self.open else { return };
        let Some(text) = &mut part.text else { return };
        if text.len() + piece.text.len() >= room {
            part.text = None;
            return;
        }
        text.extend_from_slice(piece.text);
        text.extend(piece.ends.then_some(b'\n'));
    }
}

impl Pieces for RenameSearch {
    fn take(&mut self, piece: Piece<'_>) -> io::Result<()> {
        match piece.kind {
            LineKind::Header if piece.is_whole() => self.header(piece.text),
            LineKind::Section => {
                if let Some(part) = self.open.as_mut().filter(|part| part.is_file() && part.text.is_none()) {
                    part.text = Some(Vec::new());
                }
            }
            LineKind::Removed | LineKind::Added => self.content(piece),
            LineKind::Header | LineKind::Kept => {}
        }
        Ok(())
    }
}

impl Renames {
    fn of(mut all: Vec<Renamed>) -> Self {
        all.shrink_to_fit();
        all.sort_unstable_by(|one, other| one.new.path.cmp(&other.new.path));
        let mut by_old: Vec<u32> = (0..all.len() as u32).collect();
        by_old.sort_unstable_by_key(|at| &all[*at as usize].old.path);
        Self { all, by_old }
    }

    fn find(&self, new: &[u8]) -> Option<&Renamed> {
        let at = self.all.binary_search_by(|renamed| renamed.new.path.as_slice().cmp(new)).ok()?;
        self.all.get(at)
    }

    /// Whether there are none.
    pub(crate) fn is_empty(&self) -> bool {
        self.all.is_empty()
    }

    /// Where what is at `new` was before, and what both contents share, in percent.
    pub(crate) fn origin(&self, new: &[u8]) -> Option<(&[u8], u8)> {
        self.find(new).map(|renamed| (renamed.old.path.as_slice(), renamed.similarity))
    }

    /// Whether what was at `path` is at another one.
    pub(crate) fn has_left(&self, path: &[u8]) -> bool {
        self.by_old.binary_search_by(|at| self.all[*at as usize].old.path.as_slice().cmp(path)).is_ok()
    }

    /// The old path and the new one of each, and what both contents share, in percent; in the order of the new paths.
    pub(crate) fn each(&self) -> impl Iterator<Item = (&[u8], &[u8], u8)> {
        self.all.iter().map(|Renamed { old, new, similarity }| (old.path.as_slice(), new.path.as_slice(), *similarity))
    }

    /// How many there are.
    pub(crate) fn count(&self) -> u64 {
        self.all.len() as u64
    }

    /// What becomes of the part of `path` in the patch.
    pub(crate) fn treatment(&self, path: &[u8], write_diff: WriteDiff) -> Treatment {
        match self.find(path) {
            Some(renamed) => renamed.part(write_diff).map_or(Treatment::Pass, Treatment::Replace),
            None => Treatment::of(!self.has_left(path)),
        }
    }
}

impl Renamed {
    /// The part of a patch as Git writes it for a rename.
    fn part(&self, write_diff: WriteDiff) -> io::Result<Vec<u8>> {
        let (old, new) = (&self.old, &self.new);
        let labels = (quoted(b"a/", &old.path), quoted(b"b/", &new.path));
        let mut part = Vec::new();
        let mut line = |pieces: &[&[u8]]| part.extend_from_slice(&[&pieces.concat(), &b"\n"[..]].concat());
        line(&[b"diff --git ", &labels.0, b" ", &labels.1]);
        let (before, after) = (old.mode.unwrap_or_default(), new.mode.unwrap_or_default());
        if before != after {
            line(&[b"old mode ", &before]);
            line(&[b"new mode ", &after]);
        }
        line(&[format!("similarity index {}%", self.similarity).as_bytes()]);
        line(&[b"rename from ", &quoted(b"", &old.path)]);
        line(&[b"rename to ", &quoted(b"", &new.path)]);
        if old.oid != new.oid {
            let mode = if before == after { [&b" "[..], &after].concat() } else { Vec::new() };
            line(&[b"index ", &old.oid, b"..", &new.oid, &mode]);
            if let (Some(before), Some(after)) = (&old.text, &new.text) {
                write_diff(&mut part, before, after, &labels)?;
            }
        }
        Ok(part)
    }
}

/// What a text is compared by; `None` where it is not compared.
type ToSketch<'a> = &'a dyn Fn(&[u8]) -> Option<Sketch>;

/// Moves those that belong together from both sides to `renames`.
fn take_pairs(
    deleted: &mut Vec<Part>,
    added: &mut Vec<Part>,
    least: u8,
    sketch: ToSketch<'_>,
    renames: &mut Vec<Renamed>,
) {
    let candidate = |part| candidate(part, sketch);
    let [from, to] = [&*deleted, &*added].map(|parts| parts.iter().map(candidate).collect::<Vec<_>>());
    let found = renames::pair(&from, &to, least);
    drop((from, to));
    let taken = found.into_iter().map(|rename| Renamed {
        old: std::mem::take(&mut deleted[rename.from]),
        new: std::mem::take(&mut added[rename.to]),
        similarity: rename.similarity,
    });
    renames.extend(taken);
    deleted.retain(|part| part.mode.is_some());
    added.retain(|part| part.mode.is_some());
}

fn candidate<'a>(part: &'a Part, sketch: ToSketch<'_>) -> Candidate<'a> {
    // A link to a path is no file with that path in it.
    let kind: &[u8] = if part.is_file() { b"file" } else { b"other" };
    let name = (!part.oid.is_empty()).then_some((kind, part.oid.as_slice()));
    Candidate { path: &part.path, name, sketch: part.text.as_deref().and_then(sketch) }
}

fn mode_of(mode: &[u8]) -> Option<[u8; 6]> {
    mode.try_into().ok().filter(|mode: &[u8; 6]| mode.iter().all(u8::is_ascii_digit))
}

/// The name of the content that is there, of `index OLD..NEW`: one that is not cut short. Empty content has none: it says nothing
/// about where it comes from.
fn oid_of(names: &[u8], is_deleted: bool) -> Option<&[u8]> {
    const EMPTY: [&str; 2] = [
        "e69de29bb2d1d6434b8b29ae775ad8c2e48c5391",
        "473a0f4c3be8a93681a267e3b1e9a7dcda1185436fe141f7749120a303721813",
    ];
    let names = names.split(|&byte| byte == b' ').next()?;
    let dots = names.windows(2).position(|pair| pair == b"..")?;
    let oid = if is_deleted { &names[..dots] } else { &names[dots + 2..] };
    let is_whole = matches!(oid.len(), 40 | 64) && oid.iter().all(u8::is_ascii_hexdigit);
    (is_whole && !EMPTY.iter().any(|empty| empty.as_bytes() == oid)).then_some(oid)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::output::patch_lines::PatchLines;

    /// The old path and the new one of each rename of at least half, and what both share.
    fn found(patch: &[u8]) -> Vec<(String, String, u8)> {
        let mut lines = PatchLines::new(RenameSearch::new());
        lines.write_all(patch).expect("a search takes everything");
        let renames = lines.finish().expect("a search takes everything").renames(50);
        let text = |path: &[u8]| String::from_utf8_lossy(path).into_owned();
        renames.each().map(|(old, new, similarity)| (text(old), text(new), similarity)).collect()
    }

    /// The part of a file of one line that went (`-`) or came (`+`).
    fn part(sign: char, path: &str, mode: &str, oid: &str, line: &str) -> String {
        let null = "0".repeat(40);
        let (what, oids, ranges) = match sign {
            '-' => ("deleted", format!("{oid}..{null}"), "-1,1 +0,0"),
            _ => ("new", format!("{null}..{oid}"), "-0,0 +1,1"),
        };
        format!(
            "diff --git a/{path} b/{path}\n{what} file mode {mode}\nindex {oids}\n--- a\n+++ b\n@@ {ranges} @@\n{sign}{line}\n"
        )
    }

    const ONE: &str = "1111111111111111111111111111111111111111";
    const TWO: &str = "2222222222222222222222222222222222222222";

    #[test]
    fn a_content_is_found_by_its_name_or_else_by_its_lines() {
        let rename = |old: &str, new: &str, similarity| vec![(old.to_owned(), new.to_owned(), similarity)];
        let patch = |old: String, new: String| found((old + &new).as_bytes());
        let file = "100644";
        assert_eq!(patch(part('-', "a", file, ONE, "x"), part('+', "b", "100755", ONE, "y")), rename("a", "b", 100));
        assert_eq!(patch(part('-', "a", file, ONE, "same"), part('+', "b", file, TWO, "same")), rename("a", "b", 100));
        assert_eq!(patch(part('-', "a", file, ONE, "x"), part('+', "b", file, TWO, "y")), []);
    }

    #[test]
    fn what_only_looks_alike_is_no_rename() {
        let patch = |old: String, new: String| found((old + &new).as_bytes());
        let (file, link) = ("100644", "120000");
        assert_eq!(patch(part('-', "a", link, ONE, "x"), part('+', "b", file, ONE, "x")), [], "another kind");
        assert_eq!(patch(part('-', "a", file, ONE, "x"), part('+', "a", link, ONE, "x")), [], "the same path");
        assert_eq!(patch(part('-', "a", file, "1111111", "x"), part('+', "b", file, "1111111", "y")), [], "cut short");
        let long = "x".repeat(LONGEST_TEXT);
        assert_eq!(patch(part('-', "a", file, ONE, &long), part('+', "b", file, TWO, &long)), [], "too long");
    }

    #[test]
    fn a_patch_that_is_not_well_formed_has_no_renames() {
        let good = part('-', "a", "100644", ONE, "x") + &part('+', "b", "100644", ONE, "x");
        for end in 0..good.len() {
            assert!(found(&good.as_bytes()[..end]).len() <= 1, "{end}");
        }
        let bad = "diff --git \ndiff --git a\nindex ..\nindex 1\ndeleted file mode 1\nnew file mode xxxxxx\n\\\n@@ -1 +1 @@\n\\\n";
        assert_eq!(found(bad.as_bytes()), []);
    }
}
