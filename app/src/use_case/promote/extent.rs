//! Which lines of a Change Set a Promotion brings across, and in which state it expects the working tree before.

use super::pieces::Pieces;
use crate::failure::{Failure, FailureKind};
use isobox_domain::change::{Change, ChangeLine, ChangeSetRef};
use isobox_domain::escape::Escaped;
use isobox_domain::promotion::{Chosen, Extent, PromotionPlan, PromotionRefusal};
use isobox_domain::repo_path::RepoPath;
use isobox_ports::{Cause, ChangeLines, ObjectStore};
use std::collections::BTreeSet;
use std::iter::Peekable;

/// The lines of `change_set` that are brought across, as they are.
pub(super) fn chosen_lines<'a>(
    objects: &'a dyn ObjectStore,
    plan: &'a PromotionPlan,
    pieces: &'a Pieces,
) -> Result<ChangeLines<'a>, Failure> {
    let lines = objects.changes(&plan.change_set)?;
    Ok(Box::new(lines.filter_map(move |line| match line {
        Ok(ChangeLine::Change(change)) if plan.chosen.admits(&change.path) => {
            Some(Ok(ChangeLine::Change(pieces.across(change))))
        }
        // What was not captured belongs to the whole result alone.
        Ok(_) => None,
        Err(error) => Some(Err(error)),
    })))
}

/// How much of `change_set` is brought across; a refusal where that is nothing, or where a name stands for nothing.
pub(super) fn extent(
    objects: &dyn ObjectStore,
    change_set: &ChangeSetRef,
    chosen: &Chosen,
) -> Result<Result<Extent, PromotionRefusal>, Failure> {
    let mut extent = Extent::default();
    let selection = &chosen.selection;
    let mut unmatched: BTreeSet<&[u8]> =
        selection.only.iter().chain(&selection.except).map(RepoPath::as_bytes).collect();
    for line in objects.changes(change_set)? {
        let ChangeLine::Change(change) = line.map_err(unreadable)? else { continue };
        for name in change.path.and_its_directories() {
            unmatched.remove(name);
        }
        let (path, is_chosen) = (&change.path, chosen.admits(&change.path));
        let is_whole = is_chosen && selection.hunks_of(path).is_none();
        extent.paths += u64::from(is_chosen);
        extent.left += u64::from(!is_whole && !chosen.was_brought(path));
    }
    Ok(match (unmatched.first(), extent.paths) {
        (Some(name), _) => Err(PromotionRefusal::NotChanged { path: Escaped(name).to_string() }),
        (None, 0) => Err(PromotionRefusal::NothingChosen),
        (None, _) => Ok(extent),
    })
}

/// The working tree against the pinned commit as it is expected before a Promotion: the Dirty Source Snapshot that the
/// Task started from, and on it what earlier Promotions brought. `None`: as the commit is.
pub(super) fn expected_state<'a>(
    objects: &'a dyn ObjectStore,
    snapshot: Option<&ChangeSetRef>,
    change_set: &ChangeSetRef,
    (chosen, pieces): (&'a Chosen, &'a Pieces),
) -> Result<Option<ChangeLines<'a>>, Failure> {
    let snapshot = snapshot.map(|snapshot| objects.changes(snapshot)).transpose()?;
    if chosen.earlier.is_empty() {
        return Ok(snapshot);
    }
    let brought = objects.changes(change_set)?.filter_map(|line| match line {
        Ok(ChangeLine::Change(change)) if chosen.was_brought_into_files(&change.path) => {
            Some(Ok(ChangeLine::Change(change)))
        }
        Ok(ChangeLine::Change(change)) => pieces.in_place(change).map(|change| Ok(ChangeLine::Change(change))),
        Ok(ChangeLine::NotCaptured(_)) => None,
        Err(error) => Some(Err(error)),
    });
    let snapshot: ChangeLines<'a> = snapshot.unwrap_or_else(|| Box::new(std::iter::empty()));
    Ok(Some(Box::new(Overlay { below: snapshot.peekable(), above: brought.peekable() })))
}

/// What both make of the commit together: `before`, and what is brought across made on it. What comes to nothing is no line.
pub(super) fn on<'a>(before: Option<ChangeLines<'a>>, across: ChangeLines<'a>) -> ChangeLines<'a> {
    let Some(before) = before else { return across };
    let both = Overlay { below: before.peekable(), above: across.peekable() };
    Box::new(both.filter(|line| !matches!(line, Ok(ChangeLine::Change(change)) if comes_to_nothing(change))))
}

fn comes_to_nothing(change: &Change) -> bool {
    match (&change.before, &change.after) {
        (Some(before), Some(after)) => before.mode == after.mode && before.content == Some(after.content),
        (before, after) => before.is_none() && after.is_none(),
    }
}

/// Two Change Sets, the second made on the first, as one. Where both have a path, what was before the first is before both.
struct Overlay<A: Iterator, B: Iterator> {
    below: Peekable<A>,
    above: Peekable<B>,
}

type Line = Result<ChangeLine, Cause>;

impl<A: Iterator<Item = Line>, B: Iterator<Item = Line>> Iterator for Overlay<A, B> {
    type Item = Line;

    fn next(&mut self) -> Option<Line> {
        let (Some(Ok(below)), Some(Ok(above))) = (self.below.peek(), self.above.peek()) else {
            return self.below.next().or_else(|| self.above.next());
        };
        match below.path().cmp(above.path()) {
            std::cmp::Ordering::Less => self.below.next(),
            std::cmp::Ordering::Greater => self.above.next(),
            std::cmp::Ordering::Equal => Some(joined(self.below.next()?, self.above.next()?)),
        }
    }
}

fn joined(below: Line, above: Line) -> Line {
    match (below?, above?) {
        (ChangeLine::Change(below), ChangeLine::Change(above)) => {
            Ok(ChangeLine::Change(Change { before: below.before, ..above }))
        }
        (_, above) => Ok(above),
    }
}

fn unreadable(cause: Cause) -> Failure {
    Failure::new(FailureKind::Store, "read the change set of the task").because(cause)
}
