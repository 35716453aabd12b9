//! Where COMMITs stand in files of entries: found by going through a file, or backwards from the end of a lane.

use super::lanes::Run;
use crate::index::Pack;
use crate::lane_tail::entry_ending_at;
use crate::layout::Layout;
use crate::pack_scan::{PackScan, Step};
use std::cell::RefCell;
use std::collections::VecDeque;
use std::fs::File;
use std::io;
use std::rc::Rc;

/// So many files that were gone through are remembered: lanes go through the same ones at about the same time.
const REMEMBERED: usize = 4;

/// Where a COMMIT ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Place {
    pub(super) lane: u8,
    pub(super) sequence: u64,
    /// A file of entries is shorter than 4 GiB.
    pub(super) end: u32,
}

/// What was found in files.
#[derive(Debug)]
pub(super) struct Places<'a> {
    layout: &'a Layout,
    recent: RefCell<VecDeque<(Pack, Rc<Vec<Place>>)>>,
}

impl<'a> Places<'a> {
    pub(super) fn new(layout: &'a Layout) -> Self {
        Self { layout, recent: RefCell::default() }
    }

    /// Every COMMIT in a file, by lane and number.
    pub(super) fn in_file(&self, pack: Pack, file: &File, length: u64) -> io::Result<Rc<Vec<Place>>> {
        let known = self.recent.borrow().iter().find(|(known, _)| *known == pack).map(|(_, places)| Rc::clone(places));
        if let Some(known) = known {
            return Ok(known);
        }
        let mut scan = PackScan::new(self.layout.format.store, pack, file, 0, length);
        let mut places = Vec::new();
        while let Some(step) = scan.find_next()? {
            if let Step::Commit { commit, end, .. } = step {
                places.extend(place(commit.lane, commit.sequence, end));
            }
        }
        places.sort_unstable();
        let places = Rc::new(places);
        let mut recent = self.recent.borrow_mut();
        if recent.len() == REMEMBERED {
            recent.pop_front();
        }
        recent.push_back((pack, Rc::clone(&places)));
        Ok(places)
    }

    /// The file of a run, and where the COMMITs in it stand.
    pub(super) fn open(&self, run: &Run) -> io::Result<(Rc<File>, Rc<Vec<Place>>)> {
        let file = match &run.file {
            Some(file) => Rc::clone(file),
            None => Rc::new(run.pack.open(self.layout)?),
        };
        let places = match &run.places {
            Some(places) => Rc::clone(places),
            None => self.in_file(run.pack, &file, run.length)?,
        };
        Ok((file, places))
    }

    /// The COMMITs at the end of a lane with a number over `passed`, from the last one back by what each says of the length
    /// of its put; `None` where that leads astray. Only in a lane does a put stand right before its COMMIT for sure.
    pub(super) fn at_end_of_lane(
        &self,
        lane: u8,
        file: &File,
        length: u64,
        passed: u64,
    ) -> io::Result<Option<Vec<Place>>> {
        let (mut places, mut end) = (Vec::new(), length);
        while end > 0 {
            let Some(found) = entry_ending_at(file, self.layout.format.store, end)? else { return Ok(None) };
            if found.commit.lane != lane {
                return Ok(None);
            }
            if found.commit.sequence <= passed {
                break;
            }
            places.extend(place(lane, found.commit.sequence, end));
            let Some(before) = found.offset.checked_sub(found.commit.span) else { return Ok(None) };
            end = before;
        }
        places.sort_unstable();
        Ok(Some(places))
    }
}

fn place(lane: u8, sequence: u64, end: u64) -> Option<Place> {
    Some(Place { lane, sequence, end: u32::try_from(end).ok()? })
}
