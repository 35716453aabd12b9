//! Compares what several Tasks made of the same base, path by path.
//!
//! The Change Sets are in the order of their paths, so that they are read side by side.

use crate::failure::{Failure, FailureKind};
use crate::use_case::diff;
use crate::use_case::ranked_report::RankedReport;
use isobox_domain::change::{ChangeKind, ChangeLine};
use isobox_domain::promotion::Selection;
use isobox_domain::record::TaskRecord;
use isobox_domain::report::{Finding, is_test};
use isobox_ports::{ChangeLines, ObjectStore};
use std::iter::Peekable;

/// A Task that is compared: its record, where its content is, and what deserves a look in it.
#[derive(Clone, Copy)]
pub(crate) struct Side<'a> {
    pub(crate) objects: &'a dyn ObjectStore,
    pub(crate) record: &'a TaskRecord,
    pub(crate) report: &'a RankedReport<'a>,
}

/// What one Task made of a path.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Made {
    pub(crate) line: ChangeLine,
    pub(crate) findings: Vec<Finding>,
}

/// A path, with what each Task made of it; `None` where it is as in the base.
pub(crate) struct Row {
    pub(crate) path: Vec<u8>,
    pub(crate) made: Vec<Option<Made>>,
}

/// What is asked of a path.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Detail {
    /// What each Task made of it.
    Results,
    /// And what deserves a look in that.
    Findings,
}

/// How the results at a path relate.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Relation {
    /// Every Task has the same there.
    Same,
    /// Every Task changed it, and they differ.
    Differs,
    /// Not every Task changed it.
    Partly,
}

/// How many paths relate in each way.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Tally {
    pub(crate) same: u64,
    pub(crate) differing: u64,
    pub(crate) partly: u64,
}

/// Files that are tests, by what became of them.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Tests {
    pub(crate) added: u64,
    pub(crate) changed: u64,
    pub(crate) deleted: u64,
}

impl Row {
    /// How the results relate. Each side has the same base, so that what it is after says all.
    pub(crate) fn relation(&self) -> Relation {
        if self.made.iter().any(Option::is_none) {
            return Relation::Partly;
        }
        let mut made = self.made.iter().flatten();
        let first = made.next();
        match made.all(|other| first.is_some_and(|first| has_same_result(&first.line, &other.line))) {
            true => Relation::Same,
            false => Relation::Differs,
        }
    }

    /// Whether every Task has `finding` here.
    pub(crate) fn is_shared(&self, finding: &Finding) -> bool {
        let has = |made: &Made| made.findings.iter().any(|found| found.category == finding.category);
        self.made.iter().all(|made| made.as_ref().is_some_and(has))
    }
}

fn has_same_result(one: &ChangeLine, other: &ChangeLine) -> bool {
    match (one, other) {
        (ChangeLine::Change(one), ChangeLine::Change(other)) => one.after == other.after,
        (ChangeLine::NotCaptured(one), ChangeLine::NotCaptured(other)) => one == other,
        _ => false,
    }
}

impl Tally {
    /// Counts one more path.
    pub(crate) fn count(&mut self, relation: Relation) {
        *match relation {
            Relation::Same => &mut self.same,
            Relation::Differs => &mut self.differing,
            Relation::Partly => &mut self.partly,
        } += 1;
    }
}

impl Tests {
    /// Counts a path, if it is one of tests.
    pub(crate) fn count(&mut self, line: &ChangeLine) {
        let ChangeLine::Change(change) = line else { return };
        if is_test(&change.path) {
            *match change.kind() {
                ChangeKind::Added => &mut self.added,
                ChangeKind::Deleted => &mut self.deleted,
                ChangeKind::Modified | ChangeKind::TypeChanged => &mut self.changed,
            } += 1;
        }
    }
}

/// Refuses records that do not start from the same: the same commit, with the same of what was not committed.
pub(crate) fn same_base(records: &[&TaskRecord]) -> Result<(), Failure> {
    let Some((first, others)) = records.split_first() else { return Ok(()) };
    for other in others {
        let (one, two) = (&first.source, &other.source);
        let told = |why: String, hint: &str| {
            let message = format!("cannot compare {} with {}: {why}", first.task, other.task);
            Err(Failure::new(FailureKind::General, message).with_hint(hint))
        };
        let rerun = "`isobox rerun --current TASK` attempts one of them from the commit that is checked out now";
        match (one.root_commit, two.root_commit) {
            (Some(root), Some(other)) if root != other => {
                return told("they are of different repositories".into(), "name tasks of one repository");
            }
            _ if one.commit != two.commit => {
                let why = format!("one started from {}, the other from {}", one.commit.short(), two.commit.short());
                return told(why, rerun);
            }
            _ => {}
        }
        if first.artifacts.source_snapshot.map(|set| set.id) != other.artifacts.source_snapshot.map(|set| set.id) {
            return told("they started from other uncommitted changes".into(), rerun);
        }
    }
    Ok(())
}

/// The lines of one side, and where the next one stands.
struct Lines<'a> {
    side: Side<'a>,
    lines: Peekable<ChangeLines<'a>>,
    place: usize,
}

impl<'a> Lines<'a> {
    fn open(side: Side<'a>) -> Result<Self, Failure> {
        let lines: ChangeLines<'a> = match &side.record.artifacts.change_set {
            Some(change_set) => side.objects.changes(change_set)?,
            None => Box::new(std::iter::empty()),
        };
        Ok(Self { side, lines: lines.peekable(), place: 0 })
    }

    /// The path of the next line; a failure to read it is told when it is taken.
    fn next_path(&mut self) -> Option<Vec<u8>> {
        self.lines.peek().map(|line| line.as_ref().map_or_else(|_| Vec::new(), |line| path_of(line).to_vec()))
    }

    /// Takes the next line if it is of `path`, and as `is_change` says; with its place.
    fn take(&mut self, path: &[u8], is_change: bool) -> Result<Option<(usize, ChangeLine)>, Failure> {
        let is_meant = |line: &Result<ChangeLine, _>| {
            line.as_ref()
                .map_or(true, |line| path_of(line) == path && matches!(line, ChangeLine::Change(_)) == is_change)
        };
        let Some(line) = self.lines.next_if(is_meant) else { return Ok(None) };
        let line = line.map_err(|cause| diff::unreadable(self.side.record, cause))?;
        self.place += 1;
        Ok(Some((self.place - 1, line)))
    }

    fn made(&self, (place, line): (usize, ChangeLine), detail: Detail) -> Result<Made, Failure> {
        let findings = match detail {
            Detail::Findings => self.side.report.findings_of(self.side.objects, place, &line)?,
            Detail::Results => Vec::new(),
        };
        Ok(Made { line, findings })
    }
}

fn path_of(line: &ChangeLine) -> &[u8] {
    match line {
        ChangeLine::Change(change) => change.path.as_bytes(),
        ChangeLine::NotCaptured(left_out) => &left_out.workspace_path,
    }
}

/// Hands every path that one of `sides` changed, and `selection` admits, to `each`, in the order of the paths, until that fails.
pub(crate) fn each_row(
    sides: &[Side<'_>],
    selection: &Selection,
    detail: Detail,
    each: &mut dyn FnMut(&Row) -> Result<(), Failure>,
) -> Result<(), Failure> {
    let mut all = sides.iter().map(|side| Lines::open(*side)).collect::<Result<Vec<_>, _>>()?;
    while let Some(path) = all.iter_mut().filter_map(Lines::next_path).min() {
        // Something can be captured in part: then both a change and what was left out are told.
        for is_change in [true, false, true] {
            let taken = all.iter_mut().map(|lines| lines.take(&path, is_change)).collect::<Result<Vec<_>, _>>()?;
            if !taken.iter().flatten().any(|(_, line)| diff::is_at(selection, line)) {
                continue;
            }
            let made =
                taken.into_iter().zip(&all).map(|(line, lines)| line.map(|line| lines.made(line, detail)).transpose());
            each(&Row { path: path.clone(), made: made.collect::<Result<Vec<_>, _>>()? })?;
        }
    }
    Ok(())
}
