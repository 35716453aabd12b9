//! Making a timeline while output comes, in constant memory.

use super::OutputStream;
use super::bytes::{Entry, Next};

/// Pieces of one stream that come within so many milliseconds belong to one run.
pub const MERGED_MS: u64 = 10;
/// Entries that are made in one second. After them, what comes in the rest of it has the order of the streams no more: at
/// most two further entries tell of it.
pub const MOST_A_SECOND: u32 = 1000;
/// Entries of a timeline. What comes after them is in none.
pub const MOST_ENTRIES: u32 = 1 << 19;

/// Makes the entries of a timeline from the pieces that come.
///
/// An entry is made when a run begins, before its length is known: so what was written of the output has its time although
/// whoever wrote it was killed.
#[derive(Debug, Default)]
pub struct Recorder {
    /// The time of the last entry, in milliseconds after the start.
    entry_ms: u64,
    /// The time of the last piece. A clock that went back does not change it.
    piece_ms: u64,
    open: Option<Open>,
    /// What came of the other stream in a second that has all its entries.
    crowd: Option<Open>,
    second: u64,
    made_in_second: u32,
    made: u32,
    is_full: bool,
}

/// A run that goes on.
#[derive(Clone, Copy, Debug)]
struct Open {
    stream: OutputStream,
    began_ms: u64,
    length: u64,
}

impl Recorder {
    /// Tells of `length` bytes of `stream` that came `at_ms` milliseconds after the start. What is to be written of it, before
    /// the piece itself, goes to `out`: often nothing.
    pub fn piece(&mut self, stream: OutputStream, length: u64, at_ms: u64, out: &mut Vec<u8>) {
        if self.is_full || length == 0 {
            return;
        }
        self.piece_ms = self.piece_ms.max(at_ms);
        if self.piece_ms / 1000 != self.second {
            self.end_crowd(out);
            (self.second, self.made_in_second) = (self.piece_ms / 1000, 0);
        }
        let (now_ms, is_spent) = (self.piece_ms, self.made_in_second >= MOST_A_SECOND);
        match (&mut self.open, &mut self.crowd) {
            (Some(run), _) if run.stream == stream && (is_spent || now_ms - run.began_ms < MERGED_MS) => {
                run.length += length;
            }
            (Some(_), Some(crowd)) => crowd.length += length,
            (Some(_), None) if is_spent => self.crowd = Some(Open { stream, began_ms: now_ms, length }),
            _ => self.begin(Open { stream, began_ms: now_ms, length }, out),
        }
    }

    /// Ends the timeline: what is to be written of it goes to `out`.
    pub fn finish(mut self, out: &mut Vec<u8>) {
        if !self.is_full {
            self.end_crowd(out);
            self.entry(self.piece_ms, Next::Nothing, out);
        }
    }

    fn end_crowd(&mut self, out: &mut Vec<u8>) {
        if let Some(crowd) = self.crowd.take() {
            self.begin(crowd, out);
        }
    }

    fn begin(&mut self, run: Open, out: &mut Vec<u8>) {
        if self.made >= MOST_ENTRIES - 1 {
            self.entry(run.began_ms, Next::Nothing, out);
            self.is_full = true;
            return;
        }
        self.entry(run.began_ms, Next::Run(run.stream), out);
        self.open = Some(run);
    }

    fn entry(&mut self, at_ms: u64, next: Next, out: &mut Vec<u8>) {
        let ended = self.open.take();
        let mut length = ended.map_or(0, |run| run.length);
        // A run that is longer than an entry can say is several, of the same time.
        while let (Some(run), true) = (ended, length > Entry::MOST_BYTES.into()) {
            self.push(self.entry_ms, Entry::MOST_BYTES, Next::Run(run.stream), out);
            length -= u64::from(Entry::MOST_BYTES);
        }
        self.push(at_ms, u32::try_from(length).unwrap_or(Entry::MOST_BYTES), next, out);
    }

    fn push(&mut self, at_ms: u64, length: u32, next: Next, out: &mut Vec<u8>) {
        let after_ms = u32::try_from(at_ms.saturating_sub(self.entry_ms)).unwrap_or(u32::MAX);
        self.entry_ms += u64::from(after_ms);
        self.made += 1;
        self.made_in_second += 1;
        out.extend_from_slice(&Entry { after_ms, length, next }.encode());
    }
}
