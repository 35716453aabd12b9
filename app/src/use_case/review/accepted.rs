//! What was accepted, as what a Promotion takes.

use super::subjects;
use crate::failure::Failure;
use crate::use_case::promote::{Answered, Chooser, InHunks, Taken};
use isobox_domain::change::Change;
use isobox_domain::review::{Marks, Verdict};
use std::collections::BTreeSet;

/// Answers for the person who reviewed before.
pub(crate) struct Deciding {
    pub(crate) marks: Marks,
}

impl Chooser for Deciding {
    fn known(&mut self, change: &Change) -> Option<Taken> {
        match self.marks.verdict(&subjects::file(change)) {
            Verdict::Accepted => Some(Taken::All),
            Verdict::Rejected => Some(Taken::Nothing),
            Verdict::Undecided if self.marks.has_hunks_of(&subjects::path(&change.path)) => None,
            Verdict::Undecided => Some(Taken::Nothing),
        }
    }

    fn advice(&self) -> &'static str {
        "accept what is to be promoted in `isobox review`, with y"
    }

    fn path(&mut self, _: &Change) -> Result<Option<Taken>, Failure> {
        Ok(Some(Taken::Nothing))
    }

    fn hunks(&mut self, change: &Change, file: &InHunks<'_>, open: &[u32]) -> Result<Answered, Failure> {
        let subjects = subjects::hunks(&change.path, file.hunks);
        let is_accepted = |number: &&u32| self.marks.verdict(&subjects[**number as usize]) == Verdict::Accepted;
        let numbers: BTreeSet<u32> = open.iter().filter(is_accepted).copied().collect();
        let taken = match numbers.len() {
            0 => Taken::Nothing,
            count if count == open.len() => Taken::All,
            _ => Taken::Hunks(numbers),
        };
        Ok(Answered { taken, is_last: false })
    }
}
