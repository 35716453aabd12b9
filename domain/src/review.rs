//! What a person noted about changes while they read them: verdicts, marks and notes, by what the changes are.
//!
//! A mark belongs to a change, not to a Task: another Task with the same change has it too.

use crate::content::ContentId;
use std::collections::{HashMap, HashSet};

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
    marks: HashMap<Subject, Mark>,
    paths: HashSet<ContentId>,
}

impl Marks {
    /// Puts a mark in the place of the one that was there.
    pub fn put(&mut self, subject: Subject, mark: Mark) {
        if let Subject::Hunk { path, .. } = subject {
            self.paths.insert(path);
        }
        self.marks.insert(subject, mark);
    }

    /// The mark of a change; that of one nobody marked says nothing.
    pub fn of(&self, subject: &Subject) -> Mark {
        self.marks.get(subject).cloned().unwrap_or_default()
    }

    /// What is decided about a change.
    pub fn verdict(&self, subject: &Subject) -> Verdict {
        self.marks.get(subject).map(|mark| mark.verdict).unwrap_or_default()
    }

    /// Whether any hunk of a path has a mark, in whichever change of it.
    pub fn has_hunks_of(&self, path: &ContentId) -> bool {
        self.paths.contains(path)
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
}
