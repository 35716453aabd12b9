//! Takes the last Promotion into a repository back, and records that.

use crate::failure::{Failure, FailureKind};
use crate::use_case::settle::{self, Ports, Receipt};
use isobox_domain::content::ContentId;
use isobox_domain::event::{Destination, Event, EventKind, Promoted, standing_promotions};
use isobox_domain::task_id::TaskId;
use isobox_ports::{ApplyError, Clock, Landing, Promotion, Route};

/// What was taken back.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Undone {
    pub(crate) task: TaskId,
    pub(crate) record: ContentId,
    pub(crate) promoted: Promoted,
    /// Whether its event is on record.
    pub(crate) warning: Option<String>,
}

/// Takes it back, all of it or nothing: its files must be as it left them, and HEAD too.
pub(crate) fn undo(ports: &Ports<'_>, clock: &dyn Clock) -> Result<Undone, Failure> {
    undo_last(ports, clock).map_err(|failure| failure.while_doing("cannot undo the last promotion"))
}

fn undo_last(ports: &Ports<'_>, clock: &dyn Clock) -> Result<Undone, Failure> {
    let mut promotion = ports.repository.begin_promotion()?;
    settle::record_unfinished(&mut *promotion, ports.open_records)?;
    let (receipt, promoted) = last(&mut *promotion)?;
    let records = (ports.open_records)(&receipt.records_directory)?;
    let stored = records.events(&receipt.event.subject)?;
    let events: Vec<Event> = stored.iter().map(|stored| stored.event.clone()).collect();
    // A receipt has no say about what came before its event: that may have been written by another process.
    let is_last = |event: &Event| Event { previous: receipt.event.previous, ..event.clone() } == receipt.event;
    if !standing_promotions(&events).last().is_some_and(is_last) {
        return Err(refused("the last promotion into this repository does not stand any more"));
    }
    if !matches!(promoted.destination, Destination::Branch { .. }) {
        check_head(ports, &promoted)?;
    }
    let event = Event {
        task: receipt.event.task,
        subject: receipt.event.subject,
        previous: stored.last().map(|newest| newest.id),
        at: clock.now(),
        kind: EventKind::Undone,
    };
    let note = Receipt { records_directory: receipt.records_directory, event: event.clone() }.encode()?;
    let branch;
    let landing = match &promoted.destination {
        Destination::WorkingTree => Landing::without_commit(&Route::Files),
        Destination::Index => Landing::without_commit(&Route::Index),
        Destination::Commit { made } => {
            Landing { route: &Route::Commit, made: Some(&promoted.commit), head: Some(made) }
        }
        Destination::Branch { name, made } => {
            branch = Route::Branch { name: name.clone(), parent: promoted.commit };
            Landing { route: &branch, made: Some(made), head: None }
        }
    };
    promotion.take_back(landing, &note).map_err(not_taken_back)?;
    if let Err(error) = records.append(&event) {
        let failure =
            Failure::from(error).while_doing("the repository was changed back, but that is not on record yet");
        return Err(failure.with_hint("the next `isobox run`, `tool` or `promote` in this repository records it"));
    }
    let warning = promotion.finish().err().map(|error| crate::failure::one_line(&error));
    Ok(Undone { task: event.task, record: event.subject, promoted, warning })
}

/// What stands in the way of it is measured by what the Promotion left, not by a commit.
fn not_taken_back(error: ApplyError) -> Failure {
    let ApplyError::Conflicts { count, .. } = error else { return error.into() };
    let message = format!("{count} of the promoted paths changed since the promotion; nothing was changed");
    Failure { message, ..error.into() }
        .with_hint("bring back what the promotion left there, then undo; or go on from here with git")
}

fn last(promotion: &mut dyn Promotion) -> Result<(Receipt, Promoted), Failure> {
    let nothing = || {
        refused("there is no promotion into this working tree whose replaced files are kept")
            .with_hint("files of the last promotion alone are kept; go further back with git")
    };
    let receipt = promotion.last()?.and_then(|bytes| Receipt::decode(&bytes)).ok_or_else(nothing)?;
    match receipt.event.kind.clone() {
        EventKind::Promoted(promoted) => Ok((receipt, promoted)),
        _ => Err(nothing()),
    }
}

fn check_head(ports: &Ports<'_>, promoted: &Promoted) -> Result<(), Failure> {
    let source = ports.repository.source()?;
    let expected = match promoted.destination {
        Destination::Commit { made } => made,
        _ => promoted.commit,
    };
    let is_there = source.commit == expected && source.branch == promoted.branch;
    if is_there {
        return Ok(());
    }
    if source.commit == expected {
        let failure = refused("another branch is checked out than the one that was promoted into");
        return Err(failure.with_hint("check that branch out, then undo"));
    }
    let message = format!("HEAD is at {}, and the promotion left it at {}", source.commit.short(), expected.short());
    Err(refused(&message).with_hint("what was committed since is undone with `git revert`"))
}

fn refused(message: &str) -> Failure {
    Failure::new(FailureKind::PromotionRefused, format!("{message}; nothing was changed"))
}
