//! Comparing every leaf with the COMMIT that it tells of.

use super::commits::{all_lanes, leaf_of};
use super::lanes::LaneCommits;
use super::require;
use super::tree::Tree;
use crate::lane_tail::CommitEntry;
use crate::store::{FsTaskStore, Shared};
use isobox_domain::log::{LeafKind, LogLeaf, TreeHead};
use isobox_domain::task_id::TaskId;
use isobox_domain::verification::{Affected, Defect, DefectKind, Verification};
use isobox_ports::{Advance, Compared, RecordLog, StoreError, StoreErrorKind, TellAdvance};
use std::io;

pub(super) fn compare(store: &FsTaskStore, head: &TreeHead, tell: TellAdvance<'_>) -> Result<Compared, StoreError> {
    for _ in 0..MOST_LOOKS {
        match try_compare(store, head, tell) {
            // A pack went while it was being read: what was in it is somewhere else now.
            Err(error) if has_vanished(&error) => {}
            compared => return compared,
        }
    }
    try_compare(store, head, tell)
}

/// So often it is tried anew because a pack went.
const MOST_LOOKS: usize = 8;

fn has_vanished(error: &StoreError) -> bool {
    error.source.downcast_ref::<io::Error>().is_some_and(|error| error.kind() == io::ErrorKind::NotFound)
}

fn try_compare(store: &FsTaskStore, head: &TreeHead, tell: TellAdvance<'_>) -> Result<Compared, StoreError> {
    let log = require(&store.shared)?;
    let mut found = Compared { is_whole: true, ..Compared::default() };
    match Tree::open(&log, *head) {
        Ok(tree) => {
            let mut comparison = Comparison::new(&store.shared)?;
            comparison.run(&tree, &mut found, tell)?;
            name_subjects(store, &comparison.events, &mut found.defects)?;
        }
        Err(error) => take_damage(&mut found, error)?,
    }
    Ok(found)
}

/// A leaf says of which Task an event is, and not of which record: all attempts are named.
fn name_subjects(store: &FsTaskStore, events: &[(TaskId, usize)], defects: &mut [Defect]) -> Result<(), StoreError> {
    if events.is_empty() {
        return Ok(());
    }
    for entry in store.list()? {
        // What is damaged in a listing is told by whoever verifies.
        let Ok(entry) = entry else { continue };
        let who = Affected { task: entry.task, attempt: entry.attempt, record: entry.record };
        let about = events.iter().filter(|(task, _)| *task == entry.task);
        about.for_each(|(_, defect)| defects[*defect].touch(who));
    }
    Ok(())
}

/// So many bundles that cannot be read are enough: a checkpoint that nobody vouches for may speak of more than can be counted.
const MOST_DAMAGED: u64 = 10_000;

/// A comparison in the order of the log.
struct Comparison<'a> {
    lanes: Vec<LaneCommits<'a>>,
    /// The next COMMIT of every lane that no leaf was found for yet.
    ahead: Vec<Option<CommitEntry>>,
    /// The Tasks of events that are not as they were logged, and which defect tells of each.
    events: Vec<(TaskId, usize)>,
}

impl<'a> Comparison<'a> {
    fn new(shared: &'a Shared) -> Result<Self, StoreError> {
        let lanes = all_lanes(&shared.layout)?;
        Ok(Self { ahead: lanes.iter().map(|_| None).collect(), events: Vec::new(), lanes })
    }

    fn run(&mut self, tree: &Tree<'_>, found: &mut Compared, tell: TellAdvance<'_>) -> Result<(), StoreError> {
        let mut damaged = 0;
        for bundle in 0..tree.bundles() {
            match tree.bundle(bundle) {
                Ok(leaves) => leaves.iter().try_for_each(|leaf| self.leaf(leaf, found))?,
                Err(error) => {
                    take_damage(found, error)?;
                    damaged += 1;
                }
            }
            if damaged == MOST_DAMAGED {
                break;
            }
            tell(Advance { done_bytes: bundle + 1, all_bytes: tree.bundles() });
        }
        Ok(())
    }

    fn leaf(&mut self, leaf: &LogLeaf, found: &mut Compared) -> Result<(), StoreError> {
        found.leaves += 1;
        let there = self.commit(leaf)?;
        let (lane, sequence) = (leaf.lane, leaf.sequence);
        let reason = match there {
            // What was lost may have been found again.
            _ if leaf.kind == LeafKind::Lost => return Ok(()),
            Some(there) if there == *leaf => return Ok(()),
            Some(_) => format!("COMMIT {sequence} of lane {lane} is not the one that was logged"),
            None => format!("COMMIT {sequence} of lane {lane} was logged, and is missing"),
        };
        let who = Affected { task: leaf.task, attempt: leaf.attempt, record: leaf.record };
        let touched = if leaf.kind == LeafKind::Record { vec![who] } else { Vec::new() };
        let is_told = found.defects.len() < Verification::TOLD;
        add(found, Defect::new(DefectKind::History { reason }, touched));
        if is_told && leaf.kind == LeafKind::Event {
            self.events.push((leaf.task, found.defects.len() - 1));
        }
        Ok(())
    }

    /// What the COMMIT in the place of `leaf` says.
    fn commit(&mut self, leaf: &LogLeaf) -> Result<Option<LogLeaf>, StoreError> {
        let at = usize::from(leaf.lane);
        if self.ahead[at].as_ref().is_none_or(|ahead| ahead.commit.sequence < leaf.sequence) {
            self.lanes[at].pass(leaf.sequence - 1);
            self.ahead[at] = self.lanes[at].next()?;
        }
        match &self.ahead[at] {
            Some(ahead) if ahead.commit.sequence == leaf.sequence => {
                Ok(self.ahead[at].take().map(|found| leaf_of(&found)))
            }
            Some(_) | None => Ok(None),
        }
    }
}

fn take_damage(found: &mut Compared, error: StoreError) -> Result<(), StoreError> {
    if error.kind != StoreErrorKind::Damaged {
        return Err(error);
    }
    found.is_whole = false;
    let (file, reason) = (error.subject, error.source.to_string());
    add(found, Defect::new(DefectKind::Damaged { file, offset: 0, reason, object: None }, Vec::new()));
    Ok(())
}

fn add(found: &mut Compared, defect: Defect) {
    if found.defects.last() == Some(&defect) {
        return;
    }
    if found.defects.len() < Verification::TOLD {
        found.defects.push(defect);
    } else {
        found.untold += 1;
    }
}
