//! The COMMITs of all lanes: those of each lane, and all that are not logged yet in the order of the log.

use super::LastLeaves;
use super::lanes::{LaneCommits, Run};
use super::places::{Place, Places};
use crate::dir::is_no_file;
use crate::error::{damaged, failed};
use crate::index::{self, Pack, readable};
use crate::lane_tail::{CommitEntry, entry_ending_at};
use crate::layout::Layout;
use crate::locks::{Sharing, lane_lock, lock};
use crate::store::Shared;
use isobox_domain::content::ContentId;
use isobox_domain::log::{LeafKind, LogLeaf};
use isobox_domain::timestamp::Timestamp;
use isobox_ports::{Gaps, LaneGap, StoreError};
use isobox_store_format::commit::Committed;
use isobox_store_format::limits::LANES;
use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::fs::File;
use std::io;
use std::rc::Rc;

/// Most COMMITs in a row that are logged as lost: a sequence that is further away was made up.
pub(super) const MOST_LOST: u64 = 1 << 16;

/// Every COMMIT that there is, by lane.
pub(super) fn all_lanes(layout: &Layout) -> Result<Vec<LaneCommits<'_>>, StoreError> {
    let mut found = Found::new(layout);
    // Lanes come first: one that is sealed in between is then found among the packs at the latest.
    for (lane, file) in index::open_lanes(layout)? {
        let Some(file) = file else { continue };
        let pack = Pack::Lane(lane);
        let length = file.metadata().map(|found| readable(found.len())).map_err(failed("read", &pack.shown(layout)))?;
        found.add(pack, Rc::new(file), length)?;
    }
    for pack in index::list_packs(layout)? {
        found.add_sealed(Pack::Sealed(pack), |_| Ok(()))?;
    }
    Ok(found.lanes(&LastLeaves::default()))
}

/// The COMMITs of every lane behind the `last` ones. All of them are durable, and no writer can take one back.
fn lanes_behind<'a>(shared: &'a Shared, last: &LastLeaves) -> Result<Vec<LaneCommits<'a>>, StoreError> {
    let layout = &shared.layout;
    let mut found = Found::new(layout);
    for (lane, file) in index::open_lanes(layout)? {
        let Some(file) = file else { continue };
        let (pack, subject) = (Pack::Lane(lane), Pack::Lane(lane).shown(layout));
        let length = settled_length(layout, lane, &file, passed(last, lane))?;
        let places = found.scans.at_end_of_lane(lane, &file, length, passed(last, lane));
        match places.map_err(failed("read", &subject))? {
            Some(places) => found.add_places(pack, Some(Rc::new(file)), length, Rc::new(places)),
            None => found.add(pack, Rc::new(file), length)?,
        }
    }
    let packs = shared.fresh_index()?.packs_behind(|lane| passed(last, lane));
    for pack in packs {
        found.add_sealed(pack, File::sync_data)?;
    }
    for dir in [&*layout.packs, &layout.lanes] {
        dir.sync().map_err(failed("flush", &dir.shown("")))?;
    }
    Ok(found.lanes(last))
}

/// What was found in which files.
struct Found<'a> {
    layout: &'a Layout,
    scans: Rc<Places<'a>>,
    runs: Vec<Vec<Run>>,
}

impl<'a> Found<'a> {
    fn new(layout: &'a Layout) -> Self {
        Self { layout, scans: Rc::new(Places::new(layout)), runs: (0..LANES).map(|_| Vec::new()).collect() }
    }

    fn add(&mut self, pack: Pack, file: Rc<File>, length: u64) -> Result<(), StoreError> {
        let places = self.scans.in_file(pack, &file, length).map_err(failed("read", &pack.shown(self.layout)))?;
        let kept = matches!(pack, Pack::Lane(_)).then_some(file);
        self.add_runs(pack, kept, length, &places, None);
        Ok(())
    }

    fn add_sealed(&mut self, pack: Pack, settle: impl Fn(&File) -> io::Result<()>) -> Result<(), StoreError> {
        let opened = pack.open(self.layout).and_then(|file| {
            settle(&file)?;
            Ok((readable(file.metadata()?.len()), file))
        });
        match opened {
            Ok((length, file)) => self.add(pack, Rc::new(file), length),
            // What is in its place is told by whoever verifies.
            Err(error) if is_no_file(&error) => Ok(()),
            Err(error) => Err(failed("open", &pack.shown(self.layout))(error)),
        }
    }

    fn add_places(&mut self, pack: Pack, file: Option<Rc<File>>, length: u64, places: Rc<Vec<Place>>) {
        self.add_runs(pack, file, length, &places, Some(Rc::clone(&places)));
    }

    /// Adds a run for every lane of which there are `places`.
    fn add_runs(
        &mut self,
        pack: Pack,
        file: Option<Rc<File>>,
        length: u64,
        places: &[Place],
        kept: Option<Rc<Vec<Place>>>,
    ) {
        for of_lane in places.chunk_by(|one, next| one.lane == next.lane) {
            let Place { lane, sequence: first, .. } = of_lane[0];
            let run = Run { pack, file: file.clone(), length, first, places: kept.clone() };
            self.runs[usize::from(lane)].push(run);
        }
    }

    fn lanes(self, last: &LastLeaves) -> Vec<LaneCommits<'a>> {
        let Self { layout, scans, runs } = self;
        let numbered = (0..LANES).zip(runs);
        let lane = |(lane, runs)| LaneCommits::new(layout, Rc::clone(&scans), lane, passed(last, lane), runs);
        numbered.map(lane).collect()
    }
}

/// The number of the last COMMIT of a lane that is logged.
pub(super) fn passed(last: &LastLeaves, lane: u8) -> u64 {
    last[usize::from(lane)].map_or(0, |leaf| leaf.sequence)
}

/// How long a lane is, of which all is durable. With its lock held no writer is about to take back what its flush did not reach.
fn settled_length(layout: &Layout, lane: u8, file: &File, passed: u64) -> Result<u64, StoreError> {
    let subject = Pack::Lane(lane).shown(layout);
    let length = || file.metadata().map(|found| readable(found.len()));
    let is_logged = || -> io::Result<bool> {
        let last = entry_ending_at(file, layout.format.store, length()?)?;
        Ok(last.is_some_and(|last| last.commit.sequence <= passed))
    };
    if is_logged().map_err(failed("read", &subject))? {
        return length().map_err(failed("read", &subject));
    }
    let _lane = lock(layout.locks()?, &lane_lock(lane), Sharing::Exclusive)?;
    file.sync_data().and_then(|()| length()).map_err(failed("flush", &subject))
}

/// The leaf of a COMMIT.
pub(super) fn leaf_of(found: &CommitEntry) -> LogLeaf {
    let commit = &found.commit;
    let (kind, attempt) = match commit.committed {
        Committed::Record => (LeafKind::Record, commit.attempt),
        Committed::Event { .. } | Committed::Pruned { .. } => (LeafKind::Event, 0),
    };
    LogLeaf {
        kind,
        lane: commit.lane,
        sequence: commit.sequence,
        task: commit.task,
        attempt,
        record: commit.record.id,
        commit: found.id,
        time: commit.time,
    }
}

/// Leaves for what is not logged yet: always the one with the least time, lane and sequence among the next ones of all lanes.
pub(super) struct NextLeaves<'a> {
    layout: &'a Layout,
    lanes: Vec<LaneCommits<'a>>,
    /// The last leaf of every lane.
    last: LastLeaves,
    /// The next COMMIT of every lane, perhaps behind some that are missing.
    next: Vec<Option<CommitEntry>>,
    /// One for every lane with a next leaf.
    heads: BinaryHeap<Reverse<(Timestamp, u8)>>,
    on_gap: Gaps,
    gaps: Vec<LaneGap>,
}

impl<'a> NextLeaves<'a> {
    /// Those behind `last`.
    pub(super) fn new(shared: &'a Shared, last: LastLeaves, on_gap: Gaps) -> Result<Self, StoreError> {
        let (layout, lanes) = (&shared.layout, lanes_behind(shared, &last)?);
        let next = lanes.iter().map(|_| None).collect();
        let mut leaves = Self { layout, lanes, last, next, heads: BinaryHeap::new(), on_gap, gaps: Vec::new() };
        (0..LANES).try_for_each(|lane| leaves.advance(lane))?;
        Ok(leaves)
    }

    /// Where lanes could not be gone through to their ends.
    pub(super) fn gaps(&self) -> &[LaneGap] {
        &self.gaps
    }

    /// The next leaf.
    pub(super) fn next(&mut self) -> Result<Option<LogLeaf>, StoreError> {
        let Some(Reverse((_, lane))) = self.heads.pop() else { return Ok(None) };
        let at = usize::from(lane);
        let expected = passed(&self.last, lane) + 1;
        let Some(found) = self.next[at].take() else { return Ok(None) };
        let leaf = if found.commit.sequence > expected {
            let lost = LogLeaf::lost(lane, expected, found.commit.time);
            self.heads.push(Reverse((found.commit.time, lane)));
            self.next[at] = Some(found);
            lost
        } else {
            leaf_of(&found)
        };
        self.last[at] = Some(leaf);
        if leaf.kind != LeafKind::Lost {
            self.advance(lane)?;
        }
        Ok(Some(leaf))
    }

    fn advance(&mut self, lane: u8) -> Result<(), StoreError> {
        let at = usize::from(lane);
        let Some(found) = self.lanes[at].next()? else { return Ok(()) };
        let (expected, sequence) = (passed(&self.last, lane) + 1, found.commit.sequence);
        if sequence == expected {
            self.require_chain(&found)?;
        } else if self.on_gap == Gaps::Stop || sequence - expected > MOST_LOST {
            self.gaps.push(LaneGap { lane, first: expected, last: sequence - 1 });
            return Ok(());
        }
        self.heads.push(Reverse((found.commit.time, lane)));
        self.next[at] = Some(found);
        Ok(())
    }

    fn require_chain(&self, found: &CommitEntry) -> Result<(), StoreError> {
        let lane = found.commit.lane;
        let known: Option<ContentId> = match self.last[usize::from(lane)] {
            Some(leaf) if leaf.kind == LeafKind::Lost => return Ok(()),
            last => last.map(|leaf| leaf.commit),
        };
        if found.commit.previous == known {
            return Ok(());
        }
        let reason = format!("COMMIT {} does not follow the one that is in the log before it", found.commit.sequence);
        Err(damaged("log", format!("lane {lane} of {}", self.layout.root.shown("")), reason))
    }
}
