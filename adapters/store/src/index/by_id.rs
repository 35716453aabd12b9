//! The entries of all lanes and packs in the order of what they name, without holding them all: copies of the same follow one another.

use super::contents::{Found, location};
use super::source::scan_whole;
use super::table_reader::EntryReader;
use super::{Location, Pack};
use crate::layout::Layout;
use isobox_domain::content::ContentId;
use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::io;

/// An entry: what it names, where it stands, how it was found.
pub(super) type Listed = (ContentId, u64, Found);

/// Entries of one source in order.
#[derive(Debug)]
pub(super) struct Stream {
    pub(super) pack: Pack,
    /// Whether entries that no COMMIT of their own pack follows are committed.
    pub(super) is_named: bool,
    pub(super) entries: Entries,
    pub(super) next: u64,
    pub(super) count: u64,
}

/// Where a stream's entries are.
#[derive(Debug)]
pub(super) enum Entries {
    Table(EntryReader),
    Memory(Vec<Listed>),
}

impl Stream {
    fn next_entry(&mut self, layout: &Layout) -> io::Result<Option<Listed>> {
        while self.next < self.count {
            let entry = self.entry(layout)?;
            self.next += 1;
            if let Some(entry) = entry.filter(|(_, _, found)| self.is_named || !found.is_loose) {
                return Ok(Some(entry));
            }
        }
        Ok(None)
    }

    fn entry(&mut self, layout: &Layout) -> io::Result<Option<Listed>> {
        let table = match &mut self.entries {
            Entries::Memory(entries) => return Ok(entries.get(self.next as usize).copied()),
            Entries::Table(table) => table.entry(self.next),
        };
        match table {
            Err(error) if error.kind() == io::ErrorKind::InvalidData => {
                self.entries = Entries::Memory(scan_whole(layout, self.pack)?.listed());
                self.entry(layout)
            }
            entry => entry.map(Some),
        }
    }
}

/// A merge of streams.
#[derive(Debug)]
pub(crate) struct ById {
    streams: Vec<Stream>,
    /// How the next entry of every stream was found.
    next: Vec<Option<Found>>,
    /// One for every stream that has a next entry; `None` before the first is asked for.
    heads: Option<BinaryHeap<Reverse<Head>>>,
}

/// What an entry names and where it stands, and the stream.
type Head = (ContentId, u64, usize);

impl ById {
    pub(super) fn new(streams: Vec<Stream>) -> Self {
        Self { next: vec![None; streams.len()], streams, heads: None }
    }

    /// The next entry.
    pub(crate) fn next_entry(&mut self, layout: &Layout) -> io::Result<Option<(ContentId, Location)>> {
        if self.heads.is_none() {
            self.heads = Some(BinaryHeap::new());
            (0..self.streams.len()).try_for_each(|stream| self.advance(stream, layout))?;
        }
        while let Some(Reverse((id, offset, stream))) = self.heads.as_mut().and_then(BinaryHeap::pop) {
            let (pack, found) = (self.streams[stream].pack, self.next[stream]);
            self.advance(stream, layout)?;
            if let Some(found) = found {
                return Ok(Some((id, location(pack, offset, found))));
            }
        }
        Ok(None)
    }

    fn advance(&mut self, stream: usize, layout: &Layout) -> io::Result<()> {
        let next = self.streams[stream].next_entry(layout)?;
        self.next[stream] = next.map(|(_, _, found)| found);
        if let (Some((id, offset, _)), Some(heads)) = (next, &mut self.heads) {
            heads.push(Reverse((id, offset, stream)));
        }
        Ok(())
    }
}
