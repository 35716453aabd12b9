//! The COMMITs of one lane in their order, whatever packs they stand in: compaction puts those of many lanes into one.

use super::places::{Place, Places};
use crate::error::failed;
use crate::index::Pack;
use crate::lane_tail::{CommitEntry, entry_ending_at};
use crate::layout::Layout;
use isobox_ports::StoreError;
use std::collections::VecDeque;
use std::fs::File;
use std::rc::Rc;

/// COMMITs of one lane in one file.
#[derive(Clone, Debug)]
pub(super) struct Run {
    pub(super) pack: Pack,
    /// Of a lane, which may be sealed meanwhile.
    pub(super) file: Option<Rc<File>>,
    /// How much of the file is looked at.
    pub(super) length: u64,
    /// The least number of a COMMIT in it.
    pub(super) first: u64,
    /// Where they stand, if that is known already.
    pub(super) places: Option<Rc<Vec<Place>>>,
}

/// A run that is gone through.
#[derive(Debug)]
struct OpenRun {
    pack: Pack,
    file: Rc<File>,
    places: Rc<Vec<Place>>,
    /// Which of the places is next.
    at: usize,
}

/// The COMMITs of a lane, from one on.
#[derive(Debug)]
pub(super) struct LaneCommits<'a> {
    layout: &'a Layout,
    scans: Rc<Places<'a>>,
    lane: u8,
    /// The number of the last COMMIT that was handed over, or passed over.
    passed: u64,
    /// Those that begin later, in the order in which they do.
    waiting: VecDeque<Run>,
    open: Vec<OpenRun>,
}

impl<'a> LaneCommits<'a> {
    /// Those with a number over `passed`.
    pub(super) fn new(layout: &'a Layout, scans: Rc<Places<'a>>, lane: u8, passed: u64, mut runs: Vec<Run>) -> Self {
        runs.sort_by_key(|run| run.first);
        Self { layout, scans, lane, passed, waiting: runs.into(), open: Vec::new() }
    }

    /// The next COMMIT with a number over all before.
    pub(super) fn next(&mut self) -> Result<Option<CommitEntry>, StoreError> {
        loop {
            let Some((at, sequence)) = self.least()? else { return Ok(None) };
            let run = &mut self.open[at];
            let end = u64::from(run.places[run.at].end);
            run.at += 1;
            let found = entry_ending_at(&run.file, self.layout.format.store, end);
            let found = found.map_err(failed("read", &run.pack.shown(self.layout)))?;
            if let Some(found) = found
                && (found.commit.lane, found.commit.sequence) == (self.lane, sequence)
            {
                self.passed = sequence;
                return Ok(Some(found));
            }
        }
    }

    /// Goes on to numbers over `passed`.
    pub(super) fn pass(&mut self, passed: u64) {
        self.passed = self.passed.max(passed);
    }

    /// The run with the least number over those that were passed, and that number.
    fn least(&mut self) -> Result<Option<(usize, u64)>, StoreError> {
        loop {
            let (lane, passed) = (self.lane, self.passed);
            // What was met before is met again where a lane was sealed, or a pack compacted, meanwhile.
            self.open.retain_mut(|run| {
                let rest = &run.places[run.at..];
                run.at += rest.partition_point(|place| (place.lane, place.sequence) <= (lane, passed));
                run.places.get(run.at).is_some_and(|place| place.lane == lane)
            });
            let numbered = self.open.iter().map(|run| run.places[run.at].sequence).enumerate();
            let least = numbered.min_by_key(|(_, sequence)| *sequence);
            let is_first = |run: &Run| least.is_none_or(|(_, sequence)| run.first <= sequence);
            let Some(run) = self.waiting.pop_front_if(|run| is_first(run)) else { return Ok(least) };
            let subject = run.pack.shown(self.layout);
            let opened = self.scans.open(&run).map_err(failed("read", &subject))?;
            self.open.push(OpenRun { pack: run.pack, file: opened.0, places: opened.1, at: 0 });
        }
    }
}
