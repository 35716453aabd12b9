//! From how a person names a Task to the record that is meant.

use crate::failure::{Failure, FailureKind};
use crate::output::text;
use crate::use_case::nearest::nearest;
use isobox_domain::content::ContentId;
use isobox_domain::record::{RecordEntry, SandboxKind, TaskRecord};
use isobox_domain::task_id::{TaskId, TaskSelector};
use isobox_ports::{Clock, RecordLog, StoreError};

/// Candidates that an ambiguous prefix lists.
const SHOWN: usize = 10;

/// What a selection touches.
#[derive(Clone, Copy)]
pub(crate) struct Ports<'a> {
    pub(crate) records: &'a dyn RecordLog,
    pub(crate) clock: &'a dyn Clock,
}

/// A record and its digest.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Selected {
    pub(crate) digest: ContentId,
    pub(crate) record: TaskRecord,
}

/// Finds the record that `selector`, typed as `typed`, means: of a Task, its newest attempt.
pub(crate) fn select(ports: &Ports<'_>, selector: &TaskSelector, typed: &str) -> Result<Selected, Failure> {
    let digest = match selector {
        TaskSelector::Record(digest) => Some(*digest),
        TaskSelector::Full(task) | TaskSelector::ViewDirectory { task, .. } => newest_of(ports.records, *task)?,
        TaskSelector::Latest(back) => latest(ports.records, *back)?,
        TaskSelector::Attempt { of, attempt } => Some(one_of(ports, of, *attempt, typed)?),
        TaskSelector::Prefix(prefix) => by_prefix(ports, prefix)?,
    };
    let not_found = || {
        let failure = Failure::new(FailureKind::TaskNotFound, format!("there is no task `{typed}` in this store"));
        let near = match selector {
            TaskSelector::Full(_) | TaskSelector::Prefix(_) => nearest(ports.records, typed),
            TaskSelector::Latest(_)
            | TaskSelector::Record(_)
            | TaskSelector::Attempt { .. }
            | TaskSelector::ViewDirectory { .. } => None,
        };
        let failure =
            near.into_iter().fold(failure, |failure, task| failure.with_hint(format!("did you mean {task}?")));
        failure.with_hint("`isobox list` shows the tasks of a store; --source or --records choose another one")
    };
    let digest = digest.ok_or_else(not_found)?;
    let record = ports.records.load(&digest)?.ok_or_else(not_found)?;
    Ok(Selected { digest, record })
}

/// One attempt of the Task that `of` means.
fn one_of(ports: &Ports<'_>, of: &TaskSelector, attempt: u32, typed: &str) -> Result<ContentId, Failure> {
    let newest = select(ports, of, typed.rsplit_once('#').map_or(typed, |(of, _)| of))?.record;
    let (found, damage) = scan(ports.records, |entry| (entry.task, entry.attempt) == (newest.task, attempt), 1)?;
    first_or_damage(found, damage)?.ok_or_else(|| {
        let message = format!("{} has no attempt {attempt} on record; its newest is {}", newest.task, newest.attempt);
        Failure::new(FailureKind::TaskNotFound, message).with_hint("`isobox list` shows every attempt")
    })
}

/// The only Task of an Archive, shown as `archive`: its newest attempt.
pub(crate) fn only(ports: &Ports<'_>, archive: &str) -> Result<Selected, Failure> {
    let mut seen: Vec<TaskId> = Vec::new();
    let is_another = |entry: &RecordEntry| {
        let is_another = !seen.contains(&entry.task);
        if is_another {
            seen.push(entry.task);
        }
        is_another
    };
    let (found, damage) = scan(ports.records, is_another, SHOWN + 1)?;
    if found.len() > 1 {
        let message = format!("{archive} holds more than one task");
        let hint = format!("name one of them: {archive}#{}", found[0].task);
        return Err(several(ports, message, &found)?.with_hint(hint));
    }
    let gone = || Failure::new(FailureKind::TaskNotFound, format!("there is no task in {archive}"));
    let digest = first_or_damage(found, damage)?.ok_or_else(gone)?;
    let record = ports.records.load(&digest)?.ok_or_else(gone)?;
    Ok(Selected { digest, record })
}

fn newest_of(records: &dyn RecordLog, task: TaskId) -> Result<Option<ContentId>, StoreError> {
    let (found, damage) = scan(records, |entry| entry.task == task, 1)?;
    first_or_damage(found, damage)
}

fn latest(records: &dyn RecordLog, back: u32) -> Result<Option<ContentId>, StoreError> {
    let mut tasks: Vec<TaskId> = Vec::new();
    let mut is_next = |entry: &RecordEntry| {
        let is_another_attempt = tasks.contains(&entry.task);
        // Whoever says the latest means what they had done, not what was verified of it.
        let is_next = !is_another_attempt && !is_of_verification(records, entry);
        if is_next {
            tasks.push(entry.task);
        }
        is_next && tasks.len() > back as usize
    };
    let (found, damage) = scan(records, &mut is_next, 1)?;
    first_or_damage(found, damage)
}

/// What cannot be loaded is none: the damage is told of whatever is selected.
fn is_of_verification(records: &dyn RecordLog, entry: &RecordEntry) -> bool {
    matches!(records.load(&entry.record), Ok(Some(record)) if record.kind == SandboxKind::Verification)
}

// A record that is not found may be one that cannot be read: then the damage is the answer.
fn first_or_damage(found: Vec<RecordEntry>, damage: Option<StoreError>) -> Result<Option<ContentId>, StoreError> {
    match (found.first(), damage) {
        (Some(entry), _) => Ok(Some(entry.record)),
        (None, Some(damage)) => Err(damage),
        (None, None) => Ok(None),
    }
}

/// The first `most` entries that `is_meant`, newest first, and the first damage on the way.
fn scan(
    records: &dyn RecordLog,
    mut is_meant: impl FnMut(&RecordEntry) -> bool,
    most: usize,
) -> Result<(Vec<RecordEntry>, Option<StoreError>), StoreError> {
    let (mut found, mut damage) = (Vec::new(), None);
    for entry in records.list()? {
        match entry {
            Ok(entry) if is_meant(&entry) => found.push(entry),
            Ok(_) => {}
            Err(error) => damage = damage.or(Some(error)),
        }
        if found.len() == most {
            break;
        }
    }
    Ok((found, damage))
}

fn by_prefix(ports: &Ports<'_>, prefix: &str) -> Result<Option<ContentId>, Failure> {
    let mut seen: Vec<TaskId> = Vec::new();
    let is_meant = |entry: &RecordEntry| {
        let is_meant = entry.task.to_hex().starts_with(prefix) && !seen.contains(&entry.task);
        if is_meant {
            seen.push(entry.task);
        }
        is_meant
    };
    let (found, damage) = scan(ports.records, is_meant, SHOWN + 1)?;
    if found.len() > 1 {
        let message = format!("`{prefix}` could be more than one task");
        return Err(several(ports, message, &found)?.with_hint("type more digits of the id"));
    }
    Ok(first_or_damage(found, damage)?)
}

/// The failure of a name that means any of `found`.
fn several(ports: &Ports<'_>, message: String, found: &[RecordEntry]) -> Result<Failure, StoreError> {
    let now = ports.clock.now();
    let mut lines = Vec::new();
    for entry in found.iter().take(SHOWN) {
        let command = match ports.records.load(&entry.record)? {
            Some(record) => text::command(&record.command),
            None => "(record is gone)".to_owned(),
        };
        lines.push(format!("{}  {}  {command}", entry.task, text::age(entry.committed_at, now)));
    }
    if found.len() > SHOWN {
        lines.push("… and more".to_owned());
    }
    Ok(Failure::new(FailureKind::TaskNotFound, message).because(lines.join("\n")))
}

/// Parses how a Task was named on the command line.
pub(crate) fn parse(typed: &str) -> Result<TaskSelector, Failure> {
    typed.parse().map_err(|error: isobox_domain::task_id::ParseTaskSelectorError| {
        let failure = Failure::new(FailureKind::TaskNotFound, error.to_string());
        let meant = meant(typed).into_iter();
        let failure = meant.fold(failure, |failure, meant| failure.with_hint(format!("did you mean `{meant}`?")));
        failure.with_hint("`isobox list` shows the tasks of a store")
    })
}

/// What was probably meant by a word that names no Task.
fn meant(typed: &str) -> Option<String> {
    let word = typed.trim_start_matches('@').to_lowercase();
    let (name, back) = word.split_at(word.find('~').unwrap_or(word.len()));
    let is_newest = ["latest", "last", "newest", "head"].contains(&name);
    let meant = format!("@latest{back}");
    (is_newest && meant.parse::<TaskSelector>().is_ok()).then_some(meant)
}
