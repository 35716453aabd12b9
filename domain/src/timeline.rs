//! The timeline of an attempt's output: in which order the pieces of both streams came, and when.

mod bytes;
mod recorder;

pub use bytes::{ENTRY_BYTES, Entry, HEADER_BYTES, Next, decode_header, encode_header};
pub use recorder::{MERGED_MS, MOST_A_SECOND, MOST_ENTRIES, Recorder};

use crate::timestamp::Timestamp;

/// One of the two streams that a workload writes to.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum OutputStream {
    /// Standard output.
    Stdout,
    /// Standard error.
    Stderr,
}

impl OutputStream {
    /// Both of them.
    pub const BOTH: [Self; 2] = [Self::Stdout, Self::Stderr];

    /// Where it stands in [`BOTH`](Self::BOTH), for a table of what belongs to each.
    pub const fn index(self) -> usize {
        self as usize
    }

    /// The stream that it is not.
    pub const fn other(self) -> Self {
        match self {
            Self::Stdout => Self::Stderr,
            Self::Stderr => Self::Stdout,
        }
    }
}

/// Bytes of one stream that came at one time, behind what came of it before.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Run {
    /// Of which stream.
    pub stream: OutputStream,
    /// When its first byte came.
    pub at: Timestamp,
    /// How many bytes; `None` for all that follow of this stream, or did so far: the timeline was cut off in this run.
    pub length: Option<u64>,
}

/// Reads the entries of a timeline one after the other.
#[derive(Clone, Debug)]
pub struct Runs {
    at_ms: u64,
    open: Option<(OutputStream, u64)>,
    is_over: bool,
}

impl Runs {
    /// Of a timeline that starts at `started_at`: what its header says.
    pub fn new(started_at: Timestamp) -> Self {
        Self { at_ms: started_at.unix_ms(), open: None, is_over: false }
    }

    /// Takes the next entry: the run that it ends, if there is one. `None` for an entry that no timeline has here.
    pub fn push(&mut self, entry: Entry) -> Option<Option<Run>> {
        let is_wrong = self.is_over || (self.open.is_none() && entry.length > 0);
        if is_wrong {
            return None;
        }
        let ended = self.open.take().map(|(stream, at)| run(stream, at, Some(entry.length.into())));
        self.at_ms = self.at_ms.saturating_add(entry.after_ms.into());
        match entry.next {
            Next::Run(stream) => self.open = Some((stream, self.at_ms)),
            Next::Nothing => self.is_over = true,
        }
        Some(ended)
    }

    /// The run that no entry has ended yet.
    pub fn open(&self) -> Option<Run> {
        self.open.map(|(stream, at)| run(stream, at, None))
    }
}

fn run(stream: OutputStream, at_ms: u64, length: Option<u64>) -> Run {
    Run { stream, at: Timestamp::nearest(at_ms), length }
}

#[cfg(test)]
mod tests;
