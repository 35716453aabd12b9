//! What was accepted, as what a Promotion takes.

use super::subjects;
use crate::failure::Failure;
use crate::use_case::promote::{Answered, Chooser, InHunks, Taken};
use isobox_domain::change::Change;
use isobox_domain::review::{Marks, Subject, Verdict};
use std::collections::BTreeSet;

/// Answers for the person who reviewed before.
pub(crate) struct Deciding {
    pub(crate) marks: Marks,
}

impl Deciding {
    /// What is taken of a change that is decided as a whole.
    fn taken(&self, file: &Subject) -> Taken {
        match self.marks.verdict(file) {
            Verdict::Accepted => Taken::All,
            Verdict::Rejected | Verdict::Undecided => Taken::Nothing,
        }
    }
}

impl Chooser for Deciding {
    fn known(&mut self, change: &Change) -> Option<Taken> {
        let file = subjects::file(change);
        self.marks.holds_for_hunks(&file, &subjects::path(&change.path)).then(|| self.taken(&file))
    }

    fn advice(&self) -> &'static str {
        "accept what is to be promoted in `isobox review`, with y"
    }

    fn path(&mut self, change: &Change) -> Result<Option<Taken>, Failure> {
        Ok(Some(self.taken(&subjects::file(change))))
    }

    fn hunks(&mut self, change: &Change, file: &InHunks<'_>, open: &[u32]) -> Result<Answered, Failure> {
        let (whole, subjects) = (subjects::file(change), subjects::hunks(change, file.hunks));
        let verdict = |number: u32| self.marks.verdict_in(&whole, &subjects[number as usize]);
        let is_accepted = |number: &&u32| verdict(**number) == Verdict::Accepted;
        let numbers: BTreeSet<u32> = open.iter().filter(is_accepted).copied().collect();
        let taken = match numbers.len() {
            0 => Taken::Nothing,
            count if count == open.len() => Taken::All,
            _ => Taken::Hunks(numbers),
        };
        Ok(Answered { taken, is_last: false })
    }
}
