//! The commit that an Export makes of a Task Result: whether there can be one, and what it says.

use crate::change::ChangeSetRef;
use crate::content::ContentId;
use crate::outcome::Outcome;
use crate::promotion::with_trailers;
use crate::record::TaskRecord;

/// Why there is no commit of a Task Result.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum NoResultCommit {
    /// The attempt did not end in a way that gives a whole result.
    #[error("the task ended with outcome `{}`, so its result is not whole", .0.name())]
    Outcome(Outcome),
    /// The record was imported, and its result is a patch without a Change Set.
    #[error("the task was imported from another tool, and its result is a patch alone")]
    Imported,
    /// There is no changed path.
    #[error("the task changed nothing that a commit could hold")]
    NothingChanged,
    /// A commit cannot hold what the Task started from.
    #[error("the task started from uncommitted changes, which a commit of its result would lack")]
    UncommittedSource,
}

impl NoResultCommit {
    /// What to do about it. `flags` name the store in a command, each after a blank.
    pub fn hint(self, record: &TaskRecord, flags: &str) -> String {
        let task = record.task;
        match self {
            Self::Outcome(_) => format!("`isobox show{flags} {task}` says what is left of it"),
            Self::Imported => format!("`isobox export{flags} --format patch {task} FILE` writes that patch"),
            Self::NothingChanged => format!("`isobox show{flags} {task}` says what came of it"),
            Self::UncommittedSource => {
                format!("`isobox export{flags} --format patch {task} FILE` writes what the task changed beside them")
            }
        }
    }
}

/// What the commit of a Task Result holds on its base, the commit that the Task started from; or why there is none.
pub fn content(record: &TaskRecord) -> Result<ChangeSetRef, NoResultCommit> {
    if record.artifacts.v1_record.is_some() {
        return Err(NoResultCommit::Imported);
    }
    if !record.outcome.is_promotable() {
        return Err(NoResultCommit::Outcome(record.outcome));
    }
    if record.artifacts.source_snapshot.is_some() {
        return Err(NoResultCommit::UncommittedSource);
    }
    let changed = record.artifacts.change_set.filter(|change_set| change_set.summary.changed() > 0);
    changed.ok_or(NoResultCommit::NothingChanged)
}

/// What the commit says: which result it is, and trailers that name the Task and its record. The same for the same record.
pub fn message(record: &TaskRecord, digest: ContentId) -> Vec<u8> {
    with_trailers(subject(record).as_bytes(), record.task, digest)
}

/// The first line of it.
pub fn subject(record: &TaskRecord) -> String {
    format!("Result of {}", record.task)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::promotion::tests::record;

    #[test]
    fn a_result_that_is_not_whole_or_that_no_commit_can_hold_has_none() {
        let whole = record();
        let change_set = whole.artifacts.change_set;
        assert_eq!(content(&whole).ok(), change_set);
        for outcome in Outcome::ALL {
            let refused = (!outcome.is_promotable()).then_some(NoResultCommit::Outcome(outcome));
            assert_eq!(content(&TaskRecord { outcome, ..record() }).err(), refused);
        }
        let mut dirty = record();
        dirty.artifacts.source_snapshot = change_set;
        assert_eq!(content(&dirty), Err(NoResultCommit::UncommittedSource));
        let mut unchanged = record();
        unchanged.artifacts.change_set = None;
        assert_eq!(content(&unchanged), Err(NoResultCommit::NothingChanged));
    }

    #[test]
    fn the_message_names_the_task_and_its_record() {
        let digest = ContentId::new([1; 32]);
        let said = String::from_utf8(message(&record(), digest)).expect("text");
        let task = record().task;
        assert_eq!(said, format!("Result of {task}\n\nIsobox-Task: {task}\nIsobox-Record: {digest}\n"));
    }
}
