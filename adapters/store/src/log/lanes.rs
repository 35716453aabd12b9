//! The COMMITs of one lane, one after the other, across the packs that it was sealed into.

use crate::error::failed;
use crate::index::Pack;
use crate::lane_tail::{CommitEntry, entry_ending_at};
use crate::layout::Layout;
use crate::pack_scan::{PackScan, Step};
use isobox_ports::StoreError;
use std::collections::VecDeque;
use std::fs::File;
use std::io;
use std::rc::Rc;

/// COMMITs of one lane in one file.
#[derive(Debug)]
pub(super) struct Run {
    pub(super) pack: Pack,
    /// Of a lane, which may be sealed meanwhile.
    pub(super) file: Option<Rc<File>>,
    /// How much of the file is looked at.
    pub(super) length: u64,
    /// The number of the last COMMIT.
    pub(super) last: u64,
}

/// The COMMITs of a lane, from one on.
#[derive(Debug)]
pub(super) struct LaneCommits<'a> {
    layout: &'a Layout,
    lane: u8,
    /// The number of the last COMMIT that was handed over, or passed over.
    passed: u64,
    runs: VecDeque<Run>,
    /// The run that is gone through, and where its COMMITs end, the next one last.
    open: Option<(Rc<File>, Pack, Vec<u64>)>,
}

impl<'a> LaneCommits<'a> {
    /// Those with a number over `passed`.
    pub(super) fn new(layout: &'a Layout, lane: u8, passed: u64, mut runs: Vec<Run>) -> Self {
        runs.retain(|run| run.last > passed);
        runs.sort_by_key(|run| run.last);
        Self { layout, lane, passed, runs: runs.into(), open: None }
    }

    /// The next COMMIT with a number over all before.
    pub(super) fn next(&mut self) -> Result<Option<CommitEntry>, StoreError> {
        loop {
            let Some((file, pack, ends)) = &mut self.open else {
                let Some(run) = self.runs.pop_front() else { return Ok(None) };
                let subject = run.pack.shown(self.layout);
                let opened = self.load(run).map_err(failed("read", &subject))?;
                self.open = Some(opened);
                continue;
            };
            let Some(end) = ends.pop() else {
                self.open = None;
                continue;
            };
            let found = entry_ending_at(file, self.layout.format.store, end);
            let found = found.map_err(failed("read", &pack.shown(self.layout)))?;
            // A lane that was sealed while it was listed is met twice.
            if let Some(found) = found
                && found.commit.lane == self.lane
                && found.commit.sequence > self.passed
            {
                self.passed = found.commit.sequence;
                return Ok(Some(found));
            }
        }
    }

    /// Goes on to numbers over `passed`.
    pub(super) fn pass(&mut self, passed: u64) {
        self.passed = self.passed.max(passed);
    }

    fn load(&self, run: Run) -> io::Result<(Rc<File>, Pack, Vec<u64>)> {
        let file = match run.file {
            Some(file) => file,
            None => Rc::new(run.pack.open(self.layout)?),
        };
        let ends = match self.ends_backwards(&file, run.length)? {
            Some(ends) => ends,
            None => ends_by_scan(self.layout, run.pack, &file, run.length, self.lane)?,
        };
        Ok((file, run.pack, ends))
    }

    /// Where COMMITs end, from the last one back by what each says of its own length; `None` where that leads astray.
    fn ends_backwards(&self, file: &File, length: u64) -> io::Result<Option<Vec<u64>>> {
        let (mut ends, mut end) = (Vec::new(), length);
        while end > 0 {
            let Some(found) = entry_ending_at(file, self.layout.format.store, end)? else { return Ok(None) };
            if found.commit.lane != self.lane {
                return Ok(None);
            }
            if found.commit.sequence <= self.passed {
                break;
            }
            ends.push(end);
            let Some(before) = found.offset.checked_sub(found.commit.span) else { return Ok(None) };
            end = before;
        }
        Ok(Some(ends))
    }
}

/// Where the COMMITs of a lane end, the first one last, by going through the whole file.
fn ends_by_scan(layout: &Layout, pack: Pack, file: &File, length: u64, lane: u8) -> io::Result<Vec<u64>> {
    let mut scan = PackScan::new(layout.format.store, pack, file, 0, length);
    let mut ends = Vec::new();
    while let Some(step) = scan.find_next()? {
        if let Step::Commit { commit, end, .. } = step
            && commit.lane == lane
        {
            ends.push((commit.sequence, end));
        }
    }
    ends.sort_unstable();
    Ok(ends.into_iter().rev().map(|(_, end)| end).collect())
}

/// The lanes of which a file has COMMITs, each with the last number there.
pub(super) fn lanes_of(layout: &Layout, pack: Pack, file: &File, length: u64) -> io::Result<Vec<(u8, u64)>> {
    if length == 0 {
        return Ok(Vec::new());
    }
    // A lane is sealed into packs of its own.
    if let Some(found) = entry_ending_at(file, layout.format.store, length)? {
        return Ok(vec![(found.commit.lane, found.commit.sequence)]);
    }
    let mut scan = PackScan::new(layout.format.store, pack, file, 0, length);
    let mut last: Vec<(u8, u64)> = Vec::new();
    while let Some(step) = scan.find_next()? {
        let Step::Commit { commit, .. } = step else { continue };
        match last.iter_mut().find(|(lane, _)| *lane == commit.lane) {
            Some((_, sequence)) => *sequence = commit.sequence.max(*sequence),
            None => last.push((commit.lane, commit.sequence)),
        }
    }
    Ok(last)
}
