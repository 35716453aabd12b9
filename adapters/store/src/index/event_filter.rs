//! Which records a table may have events of: most have none, and a listing asks every table about every record.

use super::table::Table;
use isobox_domain::content::ContentId;
use std::io;

/// Events on a page of a table. A question reads about one page, so after as many questions as there are pages it is worth to
/// go through them all once.
const A_PAGE: u64 = 64;
/// How many bits there are for an event: then one in twenty records is taken for one that has events.
const BITS: usize = 8;
/// Most bits for a table, 16 KiB: with more events, more records are mistaken.
const MOST_BITS: usize = 1 << 17;

/// A set of the subjects of a table's events that may say yes where it should say no, but never the other way.
#[derive(Clone, Debug, Default)]
pub(super) struct EventFilter {
    questions: u64,
    /// A bit a place, eight a byte; empty until it is worth it.
    bits: Vec<u8>,
}

impl EventFilter {
    /// Whether `table` may have events about `subject`.
    pub(super) fn may_have(&mut self, table: &Table, subject: &ContentId) -> io::Result<bool> {
        if self.questions <= table.event_count() / A_PAGE {
            self.questions += 1;
            return Ok(true);
        }
        if self.bits.is_empty() {
            self.fill(table)?;
        }
        Ok(self.places(subject).iter().all(|place| self.bits[place / 8] & 1 << (place % 8) != 0))
    }

    fn fill(&mut self, table: &Table) -> io::Result<()> {
        let bits = (table.event_count() as usize).saturating_mul(BITS).clamp(8, MOST_BITS);
        self.bits = vec![0; bits.div_ceil(8)];
        let filled = table.each_subject(|subject| {
            for place in self.places(subject) {
                self.bits[place / 8] |= 1 << (place % 8);
            }
        });
        if filled.is_err() {
            self.bits.clear();
        }
        filled
    }

    /// Two places of a hash, which is spread as evenly as can be.
    fn places(&self, subject: &ContentId) -> [usize; 2] {
        let bytes = subject.as_bytes();
        [8, 16].map(|from| {
            let word = bytes[from..from + 4].iter().fold(0usize, |word, byte| word << 8 | usize::from(*byte));
            word % (8 * self.bits.len())
        })
    }
}
