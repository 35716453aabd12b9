//! Which records a lane has behind what is known of it: its COMMITs are met from its end, and nothing else is read.

use crate::lane_tail::entry_ending_at;
use isobox_domain::content::ContentId;
use isobox_store_format::format_file::StoreId;
use std::collections::HashSet;
use std::fs::File;
use std::io;

/// So many records of a lane are noted at most: with more, it is gone through.
const MOST: usize = 4096;

/// The records of a stretch of a lane.
#[derive(Clone, Debug, Default)]
pub(super) struct Noted {
    /// Where the stretch ends, which starts where what is known ends.
    end: u64,
    records: HashSet<ContentId>,
}

impl Noted {
    /// Whether a COMMIT of the record `id` stands there.
    pub(super) fn has(&self, id: &ContentId) -> bool {
        self.records.contains(id)
    }

    /// Whether the stretch ends there.
    pub(super) fn is_up_to(&self, end: u64) -> bool {
        self.end == end
    }

    /// Notes what the lane has from `known` to `end`. `false` if that is not just puts, one after the other, or too many.
    pub(super) fn extend(&mut self, file: &File, store: StoreId, known: u64, end: u64) -> io::Result<bool> {
        let start = self.end.max(known);
        let mut at = end;
        while at > start {
            let Some(found) = entry_ending_at(file, store, at)? else { return Ok(false) };
            let before = found.offset.checked_sub(found.commit.span).filter(|before| *before >= start);
            let Some(before) = before else { return Ok(false) };
            self.records.insert(found.commit.record.id);
            if self.records.len() > MOST {
                return Ok(false);
            }
            at = before;
        }
        self.end = end;
        Ok(at == start)
    }
}
