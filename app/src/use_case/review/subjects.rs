//! What marks are about: changes by hashes of what they are, so that another Task with the same change has the same marks.

use isobox_domain::change::{After, Before, Change, Mode};
use isobox_domain::content::ContentId;
use isobox_domain::hunks::{Hunks, Line, Sign};
use isobox_domain::repo_path::RepoPath;
use isobox_domain::review::Subject;
use std::collections::HashMap;
use std::ops::Range;

/// What the hash of each kind of subject begins with, so that none is taken for another.
const PATH: &[u8] = b"isobox review path 1\0";
const FILE: &[u8] = b"isobox review file 1\0";
const HUNK: &[u8] = b"isobox review hunk 1\0";

/// How many kept lines on either side belong to a hunk: as many as a patch shows.
const NEIGHBOURS: usize = 3;

/// The id of a path.
pub(super) fn path(path: &RepoPath) -> ContentId {
    finished(blake3::Hasher::new().update(PATH).update(path.as_bytes()))
}

/// A changed path: its name, and what it is before and after.
pub(super) fn file(change: &Change) -> Subject {
    let mut hasher = blake3::Hasher::new();
    hasher.update(FILE).update(change.path.as_bytes()).update(b"\0");
    match &change.before {
        None => hasher.update(b"-"),
        Some(Before { mode, content: Some(content), .. }) => hasher.update(letter(*mode)).update(content.id.as_bytes()),
        Some(Before { mode, oid, content: None }) => hasher.update(letter(*mode)).update(oid.to_string().as_bytes()),
    };
    hasher.update(b"\0");
    match &change.after {
        None => hasher.update(b"-"),
        Some(After { mode, content, .. }) => hasher.update(letter(*mode)).update(content.id.as_bytes()),
    };
    Subject::File(finished(&hasher))
}

/// The hunks of a path: each by the lines that it removes and adds, those that are kept next to it, and which of those it is that
/// read the same. What was accepted is so where it was seen alone: the same lines elsewhere can do something else.
pub(super) fn hunks(changed: &RepoPath, hunks: &Hunks) -> Vec<Subject> {
    let (path, mut seen) = (path(changed), HashMap::new());
    let lines = hunks.shown().flat_map(|section| {
        let lines = section.excerpt.lines;
        section.hunks.iter().map(|range| &lines[with_neighbours(lines, range)]).collect::<Vec<_>>()
    });
    let ids = lines.map(|lines| {
        let content = lines_id(&path, lines);
        let before: &mut u32 = seen.entry(content).or_default();
        let id = finished(blake3::Hasher::new().update(content.as_bytes()).update(&before.to_be_bytes()));
        *before += 1;
        Subject::Hunk { id, path }
    });
    ids.collect()
}

/// A hunk with the lines that are kept before and behind it, up to other hunks.
fn with_neighbours(lines: &[Line], hunk: &Range<usize>) -> Range<usize> {
    let is_kept = |line: &&Line| line.sign == Sign::Kept;
    let before = lines[..hunk.start].iter().rev().take(NEIGHBOURS).take_while(is_kept).count();
    let behind = lines[hunk.end..].iter().take(NEIGHBOURS).take_while(is_kept).count();
    hunk.start - before..hunk.end + behind
}

fn lines_id(path: &ContentId, lines: &[Line]) -> ContentId {
    let mut hasher = blake3::Hasher::new();
    hasher.update(HUNK).update(path.as_bytes());
    for line in lines {
        let sign: &[u8] = match line.sign {
            Sign::Kept => b" ",
            Sign::Removed => b"-",
            Sign::Added => b"+",
        };
        hasher.update(sign).update(&(line.text.len() as u64).to_be_bytes()).update(&line.text);
    }
    finished(&hasher)
}

const fn letter(mode: Mode) -> &'static [u8] {
    match mode {
        Mode::File => b"f",
        Mode::Executable => b"x",
        Mode::Symlink => b"l",
        Mode::Submodule => b"s",
    }
}

fn finished(hasher: &blake3::Hasher) -> ContentId {
    ContentId::new(*hasher.finalize().as_bytes())
}
