//! What marks are about: changes by hashes of what they are, so that another Task with the same change has the same marks.

use isobox_domain::change::{After, Before, Change, Mode};
use isobox_domain::content::ContentId;
use isobox_domain::hunks::{Hunks, Line, Sign};
use isobox_domain::repo_path::RepoPath;
use isobox_domain::review::Subject;
use std::ops::Range;

/// What the hash of each kind of subject begins with, so that none is taken for another.
const PATH: &[u8] = b"isobox review path 1\0";
const FILE: &[u8] = b"isobox review file 1\0";
const HUNK: &[u8] = b"isobox review hunk 2\0";

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

/// The hunks of a changed path: each by where it is in the file as it was, the lines that it removes and adds, those that are kept next
/// to it, and what becomes of the mode. What was accepted is so where it was seen alone, and as it was: the same lines elsewhere can
/// do something else, and so can a file that can be run.
pub(super) fn hunks(change: &Change, hunks: &Hunks) -> Vec<Subject> {
    let path = path(&change.path);
    let mut begin = blake3::Hasher::new();
    begin.update(HUNK).update(path.as_bytes());
    for mode in [change.before.as_ref().map(|before| before.mode), change.after.as_ref().map(|after| after.mode)] {
        begin.update(mode.map_or(b"-", letter));
    }
    let mut subjects = Vec::new();
    for section in hunks.shown() {
        let lines = section.excerpt.lines;
        for range in section.hunks {
            let before = lines[..range.start].iter().filter(|line| line.sign != Sign::Added).count();
            let (first, length) = section.excerpt.ranges[0];
            // An empty range is named by the line before it.
            let line = first + usize::from(length == 0) + before;
            let mut hasher = begin.clone();
            hasher.update(&(line as u64).to_be_bytes());
            lines[with_neighbours(lines, range)].iter().for_each(|line| update_with(&mut hasher, line));
            subjects.push(Subject::Hunk { id: finished(&hasher), path });
        }
    }
    subjects
}

/// A hunk with the lines that are kept before and behind it, up to other hunks.
fn with_neighbours(lines: &[Line], hunk: &Range<usize>) -> Range<usize> {
    let is_kept = |line: &&Line| line.sign == Sign::Kept;
    let before = lines[..hunk.start].iter().rev().take(NEIGHBOURS).take_while(is_kept).count();
    let behind = lines[hunk.end..].iter().take(NEIGHBOURS).take_while(is_kept).count();
    hunk.start - before..hunk.end + behind
}

fn update_with(hasher: &mut blake3::Hasher, line: &Line) {
    let sign: &[u8] = match line.sign {
        Sign::Kept => b" ",
        Sign::Removed => b"-",
        Sign::Added => b"+",
    };
    hasher.update(sign).update(&(line.text.len() as u64).to_be_bytes()).update(&line.text);
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
