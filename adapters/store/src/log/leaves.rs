//! The leaves of a tree whose files may be damaged: from bundles that are whole, else from the lanes.

use super::LastLeaves;
use super::commits::{MOST_LOST, all_lanes, leaf_of, passed};
use super::lanes::LaneCommits;
use super::place::LogDir;
use super::tree::{read_bundle, read_tile};
use crate::error::damaged;
use crate::lane_tail::CommitEntry;
use crate::layout::Layout;
use isobox_domain::log::{LeafKind, LogLeaf, TreeHash};
use isobox_ports::{StoreError, StoreErrorKind};
use isobox_store_format::limits::LANES;
use isobox_store_format::log::{Tile, encode_leaf, leaf_hash};

/// Leaves, bundle by bundle. None is sure before the root that they lead to is.
pub(super) struct Salvage<'a> {
    log: &'a LogDir,
    size: u64,
    lanes: Vec<LaneCommits<'a>>,
    ahead: Vec<Option<CommitEntry>>,
    last: LastLeaves,
}

impl<'a> Salvage<'a> {
    /// Of a tree of `size` leaves.
    pub(super) fn new(layout: &'a Layout, log: &'a LogDir, size: u64) -> Result<Self, StoreError> {
        let lanes = all_lanes(layout)?;
        let ahead = lanes.iter().map(|_| None).collect();
        Ok(Self { log, size, lanes, ahead, last: LastLeaves::default() })
    }

    /// The leaves of a bundle. Bundles are asked for in their order.
    pub(super) fn bundle(&mut self, index: u64) -> Result<Vec<LogLeaf>, StoreError> {
        let Some(tile) = Tile::of_tree(0, index, self.size) else { return Ok(Vec::new()) };
        let hashes = undamaged(read_tile(self.log, tile))?;
        let given = undamaged(read_bundle(self.log, tile))?;
        let mut leaves = Vec::new();
        // At most the width of a tile.
        for at in 0..tile.width as usize {
            let given = given.as_ref().map(|leaves| leaves[at]);
            let leaf = self.leaf(given, hashes.as_ref().map(|hashes| hashes[at]))?;
            self.last[usize::from(leaf.lane)] = Some(leaf);
            leaves.push(leaf);
        }
        Ok(leaves)
    }

    /// The next leaf, by what stands in its bundle and the hash that stands in its tile. Either may be damaged.
    fn leaf(&mut self, given: Option<LogLeaf>, hash: Option<TreeHash>) -> Result<LogLeaf, StoreError> {
        let has_hash = |leaf: &LogLeaf| hash.is_some_and(|hash| leaf_hash(&encode_leaf(leaf)) == hash);
        if let Some(given) = given.filter(has_hash) {
            return Ok(given);
        }
        let mut candidates = Vec::new();
        for lane in 0..LANES {
            candidates.extend(self.candidate(lane)?);
        }
        if let Some(leaf) = candidates.iter().find(|leaf| has_hash(leaf)) {
            return Ok(*leaf);
        }
        // No hash to go by: what is given, if its lane has the same or nothing there, else the next one in the order of the log.
        let has_no_other = |given: &LogLeaf| {
            let other = candidates.iter().find(|leaf| leaf.lane == given.lane);
            let is_next = given.sequence == passed(&self.last, given.lane) + 1;
            is_next && other.is_none_or(|other| other == given || other.kind == LeafKind::Lost)
        };
        let least = || candidates.iter().min_by_key(|leaf| (leaf.time, leaf.lane)).copied();
        let missing = || damaged("rebuild", self.log.shown(""), "the lanes hold fewer COMMITs than were logged");
        given.filter(has_no_other).or_else(least).ok_or_else(missing)
    }

    fn candidate(&mut self, lane: u8) -> Result<Option<LogLeaf>, StoreError> {
        let (at, expected) = (usize::from(lane), passed(&self.last, lane) + 1);
        if self.ahead[at].as_ref().is_none_or(|ahead| ahead.commit.sequence < expected) {
            self.lanes[at].pass(expected - 1);
            self.ahead[at] = self.lanes[at].next()?;
        }
        Ok(self.ahead[at].as_ref().and_then(|ahead| match ahead.commit.sequence - expected {
            0 => Some(leaf_of(ahead)),
            1..=MOST_LOST => Some(LogLeaf::lost(lane, expected, ahead.commit.time)),
            _ => None,
        }))
    }
}

/// `None` in place of damage.
fn undamaged<T>(read: Result<T, StoreError>) -> Result<Option<T>, StoreError> {
    match read {
        Ok(read) => Ok(Some(read)),
        Err(error) if error.kind == StoreErrorKind::Damaged => Ok(None),
        Err(error) => Err(error),
    }
}
