//! Finishes what killed starts left: their attempts become records, their Workspaces go.

use crate::failure::{Failure, FailureKind, one_line};
use crate::use_case::attempt::{self, Progress, Tell};
use crate::use_case::disposal::{self, Launched, dispose, retain};
use crate::use_case::view;
use isobox_domain::import::is_draft;
use isobox_domain::policy::ViewLimit;
use isobox_domain::record::{TaskRecord, WorkspaceFate};
use isobox_domain::v1::is_imported;
use isobox_ports::{
    Attempt, Attempts, Cause, Clock, HeldMemory, ObjectStore, PrivateCopies, Publishing, RecordLog, Role, StoreError,
    StoreErrorKind, Views, Workspaces,
};

/// What a recovery touches.
#[derive(Clone, Copy)]
pub(crate) struct Ports<'a> {
    pub(crate) workspaces: &'a dyn Workspaces,
    pub(crate) held: &'a dyn HeldMemory,
    pub(crate) copies: &'a dyn PrivateCopies,
    pub(crate) attempts: &'a dyn Attempts,
    pub(crate) records: &'a dyn RecordLog,
    pub(crate) objects: &'a dyn ObjectStore,
    pub(crate) views: &'a dyn Views,
    pub(crate) clock: &'a dyn Clock,
}

/// Finishes every abandoned attempt. What cannot be finished now is told as a warning and left for the next start.
pub(crate) fn recover(ports: &Ports<'_>, views: ViewLimit, tell: Tell<'_>) {
    let abandoned = match ports.attempts.abandoned() {
        Ok(abandoned) => abandoned,
        Err(error) => return warn(tell, "interrupted tasks were not looked for", &Failure::from(error)),
    };
    for attempt in abandoned {
        let task = attempt.draft().task;
        if let Err(failure) = finish(ports, attempt, views, tell) {
            warn(tell, &format!("what {task} left is not finished yet"), &failure);
        }
    }
}

fn warn(tell: Tell<'_>, what: &str, failure: &Failure) {
    tell(Progress::Warning(&format!("{what}: {}", one_line(failure))));
}

/// Note: whoever holds the attempt only records what is left of it.
pub(crate) const RECOVERY: &str = "recovery";

fn finish(ports: &Ports<'_>, mut attempt: Box<dyn Attempt>, views: ViewLimit, tell: Tell<'_>) -> Result<(), Failure> {
    // A store that cannot note it can perhaps still record what is left, or forget it.
    attempt.note(RECOVERY, b"").ok();
    // What an import was killed over is still there, to be imported again.
    if is_imported(attempt.draft()) || is_draft(attempt.draft()) {
        return Ok(attempt.discard()?);
    }
    let record = match attempt.publishing() {
        Some(Publishing::Done(record)) => ports.records.load(&record)?,
        Some(Publishing::Undone) => None,
        // A power cut can have taken what was noted last.
        None => published(ports.records, attempt.draft())?,
    };
    let Some(record) = record else {
        return record_interruption(ports, attempt, views, tell);
    };
    let place = attempt.noted(disposal::PLACE)?;
    dispose((ports.workspaces, ports.copies), attempt, &record, place.as_deref())
}

/// The record of an attempt, if there is one.
fn published(records: &dyn RecordLog, draft: &TaskRecord) -> Result<Option<TaskRecord>, StoreError> {
    let entries = records.list()?;
    let is_it = |entry: &isobox_domain::record::RecordEntry| entry.task == draft.task && entry.attempt == draft.attempt;
    // A damaged entry is no proof of a record. Two that attempted a Task once more at the same time got one number.
    for entry in entries.filter_map(Result::ok).filter(is_it) {
        let record = match records.load(&entry.record) {
            Err(error) if error.kind == StoreErrorKind::Damaged => continue,
            loaded => loaded?,
        };
        if let Some(record) = record.filter(|record| record.salt == draft.salt) {
            return Ok(Some(record));
        }
    }
    Ok(None)
}

fn record_interruption(
    ports: &Ports<'_>,
    mut attempt: Box<dyn Attempt>,
    views: ViewLimit,
    tell: Tell<'_>,
) -> Result<(), Failure> {
    let mut record = attempt.draft().clone();
    let place = attempt.noted(disposal::PLACE)?;
    let launched = Launched::noted(&*attempt)?;
    // It may have to be waited for, and is then left for a later start.
    let found =
        launched.as_ref().map(|launched| ports.held.find(&launched.mount)).transpose().map_err(unfound)?.flatten();
    record.ended_at = ports.clock.now();
    record.started_at = launched.as_ref().map(|launched| launched.started_at);
    record.artifacts.stdout = attempt.salvage(Role::Stdout)?.filter(|output| output.length > 0);
    record.artifacts.stderr = attempt.salvage(Role::Stderr)?.filter(|output| output.length > 0);
    if record.artifacts.stdout.is_some() || record.artifacts.stderr.is_some() {
        record.artifacts.timeline = attempt.salvage(Role::Timeline)?;
    }
    let captured = match (&place, &launched) {
        (Some(place), Some(launched)) => attempt::take_in_snapshot(ports.workspaces, &*attempt, &mut record, place)
            .and_then(|()| {
                let mount = found.as_ref().map_or(&launched.mount, |found| &found.mount);
                attempt::capture(ports.workspaces, &*attempt, &mut record, place, mount)
            }),
        _ => Ok(()),
    };
    // Left as it is, for a later start to take up.
    let captured = match captured {
        Err(failure) if failure.is_passing() => return Err(failure),
        captured => captured,
    };
    let is_launched = launched.is_some();
    settle_fate(ports, &mut record, place.as_deref(), launched, captured);
    if is_launched && let Err(failure) = attempt::capture_copies(ports.copies, &mut *attempt, &mut record) {
        record.warnings.push(one_line(&failure));
    }
    let (digest, attempt) = ports.records.publish_keeping(attempt, &record)?;
    tell(Progress::Warning(&format!("{} was interrupted; its record now has what was left of it", record.task)));
    dispose((ports.workspaces, ports.copies), attempt, &record, place.as_deref())?;
    view::write(ports.views, ports.objects, &record, &digest, &[], views)
}

fn unfound(cause: Cause) -> Failure {
    Failure::new(FailureKind::General, "find what was written in memory").because(cause)
}

/// Decides what becomes of the Workspace: it is kept if it could not be captured.
fn settle_fate(
    ports: &Ports<'_>,
    record: &mut TaskRecord,
    place: Option<&[u8]>,
    launched: Option<Launched>,
    captured: Result<(), Failure>,
) {
    record.workspace = if launched.is_some() { WorkspaceFate::Disposed } else { WorkspaceFate::NeverCreated };
    if let (Some(place), Some(launched), Err(failure)) = (place, launched, captured) {
        record.warnings.push(format!("what the workload left was not captured: {}", one_line(&failure)));
        retain(ports.workspaces, record, place, &launched.mount);
    }
}
