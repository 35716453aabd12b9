//! What a person noted about changes while they read them: verdicts, marks and notes, by what the changes are.
//!
//! A mark belongs to a change, not to a Task: another Task with the same change has it too.

use crate::content::ContentId;
use std::collections::HashMap;

/// Longest note, in bytes.
pub const LONGEST_NOTE_BYTES: usize = 2000;

/// What a person decided about a change.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Verdict {
    /// Nothing yet; of a file in hunks: not the same for all of them.
    #[default]
    Undecided,
    /// It is to be promoted.
    Accepted,
    /// It is not, and whoever made it should hear why.
    Rejected,
}

impl Verdict {
    /// Every one.
    pub const ALL: [Self; 3] = [Self::Undecided, Self::Accepted, Self::Rejected];

    /// Its name in documents and files.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Undecided => "undecided",
            Self::Accepted => "accepted",
            Self::Rejected => "rejected",
        }
    }

    /// What is decided about a file where its hunks are decided like this: what holds for all of them.
    pub fn of_all(verdicts: impl IntoIterator<Item = Self>) -> Self {
        let mut verdicts = verdicts.into_iter();
        let first = verdicts.next().unwrap_or_default();
        if verdicts.all(|verdict| verdict == first) { first } else { Self::Undecided }
    }
}

/// What is noted about one change.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Mark {
    /// The verdict.
    pub verdict: Verdict,
    /// Whether a person has read it.
    pub is_reviewed: bool,
    /// What they have to say about it: one line, or nothing.
    pub note: String,
}

/// What a mark is about, by hashes of what the change is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Subject {
    /// A changed path.
    File(ContentId),
    /// A hunk of one.
    Hunk {
        /// The hunk.
        id: ContentId,
        /// The path that it is in.
        path: ContentId,
    },
}

/// Every mark, by its subject.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Marks {
    /// Each with the moment of its verdict: how many others were given before.
    marks: HashMap<Subject, (Mark, u64)>,
    /// The paths of hunks, each with the moment of the newest verdict about one of its hunks.
    paths: HashMap<ContentId, u64>,
    /// How many verdicts were given.
    given: u64,
}

impl Marks {
    /// Puts a mark in the place of the one that was there.
    pub fn put(&mut self, subject: Subject, mark: Mark) {
        let (before, mut moment) =
            self.marks.get(&subject).map_or((Verdict::Undecided, 0), |(mark, at)| (mark.verdict, *at));
        // A note, or that something was read, makes no verdict newer.
        if before != mark.verdict {
            self.given += 1;
            moment = self.given;
        }
        if let Subject::Hunk { path, .. } = subject {
            let newest = self.paths.entry(path).or_default();
            *newest = moment.max(*newest);
        }
        self.marks.insert(subject, (mark, moment));
    }

    /// The mark of a change; that of one nobody marked says nothing.
    pub fn of(&self, subject: &Subject) -> Mark {
        self.marks.get(subject).map(|(mark, _)| mark.clone()).unwrap_or_default()
    }

    /// What is decided about a change.
    pub fn verdict(&self, subject: &Subject) -> Verdict {
        self.marks.get(subject).map(|(mark, _)| mark.verdict).unwrap_or_default()
    }

    /// What is decided about a hunk of the change `file`: by itself, or with all of the file where it has no mark.
    pub fn verdict_in(&self, file: &Subject, hunk: &Subject) -> Verdict {
        if self.marks.contains_key(hunk) { self.verdict(hunk) } else { self.verdict(file) }
    }

    /// Whether what is decided about the change `file` of `path` holds for its hunks, whatever they are: there is something decided, and no
    /// verdict about a hunk of the path is newer. Where it does not, each hunk is as [`Self::verdict_in`] says.
    pub fn holds_for_hunks(&self, file: &Subject, path: &ContentId) -> bool {
        let newest = self.paths.get(path).copied();
        let is_newer = |(mark, moment): &(Mark, u64)| mark.verdict != Verdict::Undecided && Some(*moment) > newest;
        newest.is_none() || self.marks.get(file).is_some_and(is_newer)
    }

    /// Whether any hunk of a path has a mark, in whichever change of it.
    pub fn has_hunks_of(&self, path: &ContentId) -> bool {
        self.paths.contains_key(path)
    }

    /// How many there are.
    pub fn len(&self) -> usize {
        self.marks.len()
    }

    /// Whether there is none.
    pub fn is_empty(&self) -> bool {
        self.marks.is_empty()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_is_decided_as_all_its_hunks_are() {
        use Verdict::{Accepted, Rejected, Undecided};
        assert_eq!(Verdict::of_all([Accepted, Accepted]), Accepted);
        assert_eq!(Verdict::of_all([Rejected]), Rejected);
        assert_eq!(Verdict::of_all([Accepted, Rejected]), Undecided);
        assert_eq!(Verdict::of_all([Accepted, Undecided]), Undecided);
        assert_eq!(Verdict::of_all([]), Undecided);
    }

    #[test]
    fn the_newest_mark_of_a_change_holds() {
        let [id, path] = [1, 2].map(|byte| ContentId::new([byte; 32]));
        let (mut marks, subject) = (Marks::default(), Subject::Hunk { id, path });
        assert_eq!((marks.of(&subject), marks.has_hunks_of(&path)), (Mark::default(), false));
        marks.put(subject, Mark { verdict: Verdict::Accepted, ..Mark::default() });
        marks.put(subject, Mark { verdict: Verdict::Rejected, ..Mark::default() });
        assert_eq!((marks.verdict(&subject), marks.has_hunks_of(&path)), (Verdict::Rejected, true));
        assert_eq!(marks.verdict(&Subject::File(id)), Verdict::Undecided);
    }

    #[test]
    fn what_is_decided_last_holds_of_a_file_and_its_hunks() {
        let [id, path] = [1, 2].map(|byte| ContentId::new([byte; 32]));
        let (file, hunk, other) = (Subject::File(id), Subject::Hunk { id, path }, Subject::Hunk { id: path, path });
        let with = |verdict| Mark { verdict, ..Mark::default() };
        let mut marks = Marks::default();
        marks.put(hunk, with(Verdict::Accepted));
        marks.put(file, with(Verdict::Accepted));
        assert!(marks.holds_for_hunks(&file, &path));
        assert_eq!(marks.verdict_in(&file, &other), Verdict::Accepted);
        marks.put(hunk, with(Verdict::Rejected));
        marks.put(file, Mark { is_reviewed: true, ..with(Verdict::Accepted) });
        assert!(!marks.holds_for_hunks(&file, &path), "reading is no verdict");
        assert_eq!(marks.verdict_in(&file, &hunk), Verdict::Rejected);
    }
}
