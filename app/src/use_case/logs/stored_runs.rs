//! The runs of a timeline, read one after the other.

use isobox_domain::timeline::{ENTRY_BYTES, Entry, Run, Runs, decode_header};
use isobox_ports::Content;
use std::io::{self, BufReader, Read};

/// Reads runs until the timeline ends, or until it has what no timeline has: its rest says nothing then.
pub(super) struct StoredRuns {
    content: BufReader<Content>,
    /// `None` once it is at its end.
    runs: Option<Runs>,
}

impl StoredRuns {
    /// Reads the beginning of a timeline.
    pub(super) fn new(content: Content) -> io::Result<Self> {
        let mut content = BufReader::new(content);
        let runs = read(&mut content)?.and_then(decode_header).map(Runs::new);
        Ok(Self { content, runs })
    }

    /// The next run. The last one of a timeline that was cut off has no length.
    pub(super) fn next(&mut self) -> Option<Run> {
        loop {
            let runs = self.runs.as_mut()?;
            // What cannot be read of it must not hide the output itself, which then has no times from here on.
            let Ok(Some(bytes)) = read::<ENTRY_BYTES>(&mut self.content) else {
                return self.runs.take().and_then(|runs| runs.open());
            };
            match Entry::decode(bytes).and_then(|entry| runs.push(entry)) {
                Some(None) => {}
                Some(Some(run)) => return Some(run),
                None => self.runs = None,
            }
        }
    }
}

/// The next `N` bytes, if there are as many.
fn read<const N: usize>(content: &mut impl Read) -> io::Result<Option<[u8; N]>> {
    let mut bytes = [0; N];
    match content.read_exact(&mut bytes) {
        Ok(()) => Ok(Some(bytes)),
        Err(error) if error.kind() == io::ErrorKind::UnexpectedEof => Ok(None),
        Err(error) => Err(error),
    }
}
