//! The changed paths of a review, and how much each deserves a look.

use super::subjects;
use crate::failure::Failure;
use crate::use_case::diff;
use isobox_domain::change::{Change, ChangeLine};
use isobox_domain::record::TaskRecord;
use isobox_domain::report::{RiskLevel, findings, level_of};
use isobox_domain::review::Subject;
use isobox_ports::ObjectStore;

/// How much all entries may take, in bytes: 60,000 with paths of ordinary length. What comes after is not listed.
const ROOM: usize = 24 << 20;

/// What is decided about a file, as the list shows it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum FileState {
    /// Nothing.
    #[default]
    Undecided,
    /// All of it is to be promoted.
    Accepted,
    /// None of it is.
    Rejected,
    /// Its hunks are not all decided alike.
    InPart,
}

/// A changed path of a review.
#[derive(Clone, Debug)]
pub(crate) struct Entry {
    pub(crate) change: Change,
    /// What its marks are about.
    pub(crate) subject: Subject,
    /// `None`: there is nothing to look at.
    pub(crate) level: Option<RiskLevel>,
    pub(crate) state: FileState,
    pub(crate) is_reviewed: bool,
}

impl Entry {
    pub(super) fn of(change: Change, level: Option<RiskLevel>) -> Self {
        Self { subject: subjects::file(&change), change, level, state: FileState::Undecided, is_reviewed: false }
    }

    fn length(&self) -> usize {
        size_of::<Self>() + self.change.path.as_bytes().len() + size_of::<u32>()
    }
}

/// Every changed path that there is room for, in the order of the Change Set, and how many others there are.
pub(super) fn entries(objects: &dyn ObjectStore, record: &TaskRecord) -> Result<(Vec<Entry>, u64), Failure> {
    let (mut entries, mut taken, mut unlisted) = (Vec::new(), 0, 0);
    diff::each_line(&diff::Ports { objects }, record, &mut |line| {
        // By what it is alone: what is in it is read later.
        let level = level_of(&findings(&line, None, &[]));
        let ChangeLine::Change(change) = line else { return Ok(()) };
        if taken > ROOM {
            unlisted += 1;
            return Ok(());
        }
        let entry = Entry::of(change, level);
        taken += entry.length();
        entries.push(entry);
        Ok(())
    })?;
    Ok((entries, unlisted))
}
