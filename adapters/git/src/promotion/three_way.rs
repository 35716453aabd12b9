//! Merging a Change Set into what HEAD holds by now: path by path, as `git merge-tree` does it without looking for renames.
//!
//! Nothing is written to the repository: contents that hold both changes lie in a file of no name.

mod clashes;
mod decision;
mod sides;
mod spool;
mod texts;

use super::trouble::{while_doing, while_doing_to};
use crate::oid;
use clashes::Outcomes;
use decision::{Decision, Entry, decide};
use isobox_domain::change::{After, Before, Change, ChangeLine, ChangeSetRef, Mode};
use isobox_domain::content::ContentId;
use isobox_domain::escape::Escaped;
use isobox_domain::promotion::OnConflict;
use isobox_ports::{ApplyError, ChangeLines, Content, MergeRequest, MergeTally, Merged, ObjectStore, StoreError};
use sides::{Ours, Sides};
use spool::Spool;
use std::collections::BTreeMap;
use std::io;
use texts::{Texts, Whole};

/// How many conflicts are listed.
const SHOWN: usize = 10;

/// Merges `changes` into the commit `head`.
pub(super) fn merge<'o>(
    git: &gix::Repository,
    head: gix::ObjectId,
    changes: ChangeLines<'_>,
    objects: &'o dyn ObjectStore,
    request: &MergeRequest<'_>,
) -> Result<ThreeWay<'o>, ApplyError> {
    let changes = collected(changes)?;
    let mut merger = Merger {
        sides: Sides::open(git, head, oid::to_gix(request.base), &changes, objects)?,
        request,
        merged: ThreeWay { objects, spool: Spool::default(), changes: Vec::new(), tally: MergeTally::default() },
        outcomes: Outcomes::default(),
        conflicts: BTreeMap::new(),
    };
    for change in &changes {
        merger.meet(change).map_err(while_doing_to("merge", change.path.as_bytes()))?;
    }
    merger.finish()
}

fn collected(changes: ChangeLines<'_>) -> Result<Vec<Change>, ApplyError> {
    let mut all = Vec::new();
    for line in changes {
        let line = line.map_err(|source| ApplyError::Io { operation: "read the change set".into(), source })?;
        if let ChangeLine::Change(change) = line {
            all.push(change);
        }
    }
    Ok(all)
}

/// A Change Set against HEAD.
pub(super) struct ThreeWay<'o> {
    objects: &'o dyn ObjectStore,
    spool: Spool,
    changes: Vec<Change>,
    tally: MergeTally,
}

struct Merger<'a, 'o> {
    sides: Sides<'a>,
    request: &'a MergeRequest<'a>,
    merged: ThreeWay<'o>,
    outcomes: Outcomes,
    /// By path, with why.
    conflicts: BTreeMap<Vec<u8>, &'static str>,
}

impl<'o> Merger<'_, 'o> {
    fn meet(&mut self, change: &Change) -> io::Result<()> {
        let base = change.before.as_ref().map(|before| Entry { mode: before.mode, id: oid::to_gix(&before.oid) });
        let path = change.path.as_bytes();
        let ours = match self.sides.ours(&change.path)? {
            Ours::Entry(entry) => Some(entry),
            Ours::Nothing => None,
            Ours::Directory => {
                self.outcomes.add_over_directory(path);
                None
            }
        };
        self.outcomes.add(path, change.after.is_some());
        if change.concerns_submodule() {
            self.conflict(change, "it lies in a submodule, or is one");
            return Ok(());
        }
        if let Some(why) = self.sides.staged_otherwise(&change.path, ours) {
            self.conflict(change, why);
            return Ok(());
        }
        if ours == base {
            self.merged.tally.untouched += 1;
            self.merged.changes.push(change.clone());
            return Ok(());
        }
        self.merge(change, base, ours)
    }

    /// Merges what both changed.
    fn merge(&mut self, change: &Change, base: Option<Entry>, ours: Option<Entry>) -> io::Result<()> {
        let theirs = match &change.after {
            Some(after) => Some(Entry { mode: after.mode, id: self.sides.name_of(&change.path, after)? }),
            None => None,
        };
        match decide(base, ours, theirs) {
            Decision::Present => self.merged.tally.present += 1,
            Decision::Conflict(why) => self.conflict(change, why),
            Decision::Mode(mode) => {
                let after = change.after.clone().map(|after| After { mode, ..after });
                self.merged.tally.merged += 1;
                self.take(change, ours, after);
            }
            Decision::ModeOfOurs(mode) => self.take_ours(change, ours, mode)?,
            Decision::Texts { mode, has_base } => {
                let base = base.filter(|_| has_base);
                match self.sides.whole(&change.path, base, ours, change.after.as_ref())? {
                    Ok(whole) => self.merge_texts(change, ours, mode, &whole)?,
                    Err(why) => self.conflict(change, why),
                }
            }
        }
        Ok(())
    }

    fn take(&mut self, change: &Change, ours: Option<Entry>, after: Option<After>) {
        let before = ours.map(|ours| Before { mode: ours.mode, oid: oid::from_gix(&ours.id), content: None });
        self.merged.changes.push(Change {
            path: change.path.clone(),
            before,
            after,
            renamed_from: None,
            submodule: None,
        });
    }

    /// The content is that of HEAD, the executable bit that of the Task.
    fn take_ours(&mut self, change: &Change, ours: Option<Entry>, mode: Mode) -> io::Result<()> {
        let Some(entry) = ours else { return Ok(()) };
        if self.sides.is_too_long(entry)? {
            self.conflict(
                change,
                "the task changed its executable bit and the repository its content, longer than 4 MiB",
            );
            return Ok(());
        }
        let bytes = self.sides.checked_out(&change.path, entry)?;
        let content = self.merged.spool.add(&bytes)?;
        self.merged.tally.merged += 1;
        self.take(change, ours, Some(After { mode, content, binary: texts::is_binary(&bytes) }));
        Ok(())
    }

    fn merge_texts(&mut self, change: &Change, ours: Option<Entry>, mode: Mode, whole: &Whole) -> io::Result<()> {
        let driver = self.sides.driver(&change.path)?;
        let merged = match Texts::merge(whole, &driver, self.request.label) {
            Ok(merged) => merged,
            Err(why) => {
                self.conflict(change, why);
                return Ok(());
            }
        };
        if merged.has_conflicts {
            if self.request.on_conflict == OnConflict::Refuse {
                self.conflict(change, "both changed the same lines");
                return Ok(());
            }
            self.merged.tally.marked.push(change.path.to_string());
        } else {
            self.merged.tally.merged += 1;
        }
        let bytes = self.sides.convert(&change.path, mode, merged.bytes)?;
        let content = self.merged.spool.add(&bytes)?;
        self.take(change, ours, Some(After { mode, content, binary: false }));
        Ok(())
    }

    fn conflict(&mut self, change: &Change, why: &'static str) {
        self.outcomes.add(change.path.as_bytes(), true);
        self.conflicts.insert(change.path.as_bytes().to_vec(), why);
    }

    /// The merge, unless something is in conflict.
    fn finish(mut self) -> Result<ThreeWay<'o>, ApplyError> {
        for path in self
            .outcomes
            .clashes(self.sides.head())
            .map_err(while_doing("look for files in the place of directories"))?
        {
            self.conflicts.entry(path).or_insert("a file and a directory would be in its place");
        }
        if self.conflicts.is_empty() {
            return Ok(self.merged);
        }
        let told = |(path, why): (&Vec<u8>, &&str)| format!("{}: {why}", Escaped(path));
        Err(ApplyError::Conflicts {
            first: self.conflicts.iter().take(SHOWN).map(told).collect(),
            count: self.conflicts.len() as u64,
        })
    }
}

impl Merged for ThreeWay<'_> {
    fn lines(&self) -> ChangeLines<'_> {
        Box::new(self.changes.iter().cloned().map(|change| Ok(ChangeLine::Change(change))))
    }

    fn tally(&self) -> &MergeTally {
        &self.tally
    }
}

impl ObjectStore for ThreeWay<'_> {
    fn open(&self, id: &ContentId) -> Result<Option<Content>, StoreError> {
        match self.spool.open(id) {
            Some(content) => content.map(Some),
            None => self.objects.open(id),
        }
    }

    fn changes(&self, _: &ChangeSetRef) -> Result<ChangeLines<'_>, StoreError> {
        Ok(self.lines())
    }
}
