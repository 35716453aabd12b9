//! Tasks that are not over: those that run, and those whose isobox was killed before they were recorded.

use crate::failure::{Failure, FailureKind};
use crate::use_case::recover;
use crate::use_case::select::{self, Selected};
use isobox_domain::import::is_draft;
use isobox_domain::record::RecordEntry;
use isobox_domain::task_id::{TaskId, TaskSelector};
use isobox_ports::{Clock, OpenAttempt, OpenAttempts, RecordLog, StoreError};

/// What a look at open tasks touches.
#[derive(Clone, Copy)]
pub(crate) struct Ports<'a> {
    pub(crate) attempts: &'a dyn OpenAttempts,
    pub(crate) records: &'a dyn RecordLog,
    pub(crate) clock: &'a dyn Clock,
}

/// A Task that was named.
pub(crate) enum Meant {
    /// It is not over.
    Open(Box<dyn OpenAttempt>),
    /// It is on record.
    Recorded(Box<Selected>),
}

/// How much later than its request a Task can be found on record by its time alone: clocks are put back.
const CLOCK_ERROR_MS: u64 = 24 * 60 * 60 * 1000;

/// The attempts that are not over and not on record, newest first.
pub(crate) fn look(ports: &Ports<'_>) -> Result<Vec<Box<dyn OpenAttempt>>, StoreError> {
    let open = attempts_at_tasks(ports.attempts)?;
    match open.is_empty() {
        true => Ok(open),
        false => Ok(not_on_record(open, ports.records.list()?.filter_map(Result::ok))),
    }
}

/// What is not over: an import is no task.
pub(crate) fn attempts_at_tasks(attempts: &dyn OpenAttempts) -> Result<Vec<Box<dyn OpenAttempt>>, StoreError> {
    let mut open = attempts.look()?;
    open.retain(|attempt| !is_draft(attempt.draft()));
    Ok(open)
}

/// Those of the `open` attempts that none of the `entries`, newest first, is the record of; newest first.
pub(crate) fn not_on_record(
    mut open: Vec<Box<dyn OpenAttempt>>,
    entries: impl Iterator<Item = RecordEntry>,
) -> Vec<Box<dyn OpenAttempt>> {
    // What goes on with one that is on record is the removal of its Workspace alone.
    for entry in entries {
        // No record is older than the request of its Task.
        let latest_ms = entry.committed_at.unix_ms() + CLOCK_ERROR_MS;
        if open.iter().all(|attempt| latest_ms < attempt.draft().created_at.unix_ms()) {
            break;
        }
        open.retain(|attempt| !is_record_of(&entry, &**attempt));
    }
    open.sort_by_key(|attempt| std::cmp::Reverse(attempt.draft().created_at));
    open
}

/// Whether a process carries the attempt out: one that records what a killed one left does not.
pub(crate) fn is_running(attempt: &dyn OpenAttempt) -> bool {
    attempt.is_running() && attempt.noted(recover::RECOVERY).is_none()
}

fn is_record_of(entry: &RecordEntry, attempt: &dyn OpenAttempt) -> bool {
    (entry.task, entry.attempt) == (attempt.draft().task, attempt.draft().attempt)
}

/// Finds the Task that `selector`, typed as `typed`, means. `@latest` counts those that are not over first.
pub(crate) fn select(ports: &Ports<'_>, selector: &TaskSelector, typed: &str) -> Result<Meant, Failure> {
    let mut open = look(ports)?;
    let records = select::Ports { records: ports.records, clock: ports.clock };
    let recorded = |selector: &TaskSelector| {
        select::select(&records, selector, typed).map(|selected| Meant::Recorded(Box::new(selected)))
    };
    match selector {
        TaskSelector::Latest(back) => match open.len().checked_sub(*back as usize + 1) {
            Some(_) => Ok(Meant::Open(open.swap_remove(*back as usize))),
            None => recorded(&TaskSelector::Latest(*back - open.len() as u32)),
        },
        TaskSelector::Full(task) | TaskSelector::ViewDirectory { task, .. } => {
            match open.iter().position(|attempt| attempt.draft().task == *task) {
                Some(index) => Ok(Meant::Open(open.swap_remove(index))),
                None => recorded(selector),
            }
        }
        TaskSelector::Record(_) => recorded(selector),
        TaskSelector::Attempt { of, attempt } => {
            let of = select(ports, of, typed.rsplit_once('#').map_or(typed, |(of, _)| of))?;
            let is_meant = |open: &dyn OpenAttempt| open.draft().attempt == *attempt;
            if matches!(&of, Meant::Open(open) if is_meant(&**open)) { Ok(of) } else { recorded(selector) }
        }
        TaskSelector::Prefix(prefix) => match by_prefix(open, prefix)? {
            Some(attempt) => match recorded(selector) {
                Ok(Meant::Recorded(other)) if other.record.task != attempt.draft().task => Err(ambiguous(prefix)),
                Err(failure) if failure.source.is_some() => Err(failure),
                _ => Ok(Meant::Open(attempt)),
            },
            None => recorded(selector),
        },
    }
}

/// The number of the newest attempt of a Task, on record or not.
pub(crate) fn newest_attempt(ports: &Ports<'_>, task: TaskId) -> Result<u32, StoreError> {
    let recorded = ports.records.list()?.filter_map(Result::ok).filter(|entry| entry.task == task);
    let recorded = recorded.map(|entry| entry.attempt).max().unwrap_or_default();
    let open = look(ports)?;
    let open = open.iter().map(|attempt| attempt.draft()).filter(|draft| draft.task == task);
    Ok(open.map(|draft| draft.attempt).max().unwrap_or_default().max(recorded))
}

fn by_prefix(open: Vec<Box<dyn OpenAttempt>>, prefix: &str) -> Result<Option<Box<dyn OpenAttempt>>, Failure> {
    let mut found = open.into_iter().filter(|attempt| attempt.draft().task.to_hex().starts_with(prefix));
    let first = found.next();
    let is_of_another =
        |attempt: Box<dyn OpenAttempt>| first.as_ref().is_some_and(|first| first.draft().task != attempt.draft().task);
    match found.any(is_of_another) {
        true => Err(ambiguous(prefix)),
        false => Ok(first),
    }
}

fn ambiguous(prefix: &str) -> Failure {
    Failure::new(FailureKind::TaskNotFound, format!("`{prefix}` could be more than one task"))
        .with_hint("`isobox list` shows their ids; type more digits")
}
