//! The records of all lanes and packs in one order, newest first, without holding them all.

use super::Row;
use super::source::Rows;
use crate::layout::Layout;
use isobox_domain::timestamp::Timestamp;
use std::collections::BinaryHeap;
use std::io;

/// A merge of sources, each ordered in itself.
#[derive(Debug)]
pub(crate) struct NewestFirst {
    sources: Vec<Rows>,
    /// The next row of every source.
    next: Vec<Option<Row>>,
    /// One for every source that has a next row; `None` before the first is asked for.
    heads: Option<BinaryHeap<Head>>,
    last: Option<Row>,
}

/// The order of a source's next row, and which source it is.
type Head = ((Timestamp, u64, u8), usize);

impl NewestFirst {
    pub(super) fn new(sources: Vec<Rows>) -> Self {
        Self { next: vec![None; sources.len()], sources, heads: None, last: None }
    }

    /// The next row.
    pub(crate) fn next_row(&mut self, layout: &Layout) -> io::Result<Option<Row>> {
        if self.heads.is_none() {
            self.heads = Some(BinaryHeap::new());
            (0..self.sources.len()).try_for_each(|source| self.advance(source, layout))?;
        }
        while let Some((_, source)) = self.heads.as_mut().and_then(BinaryHeap::pop) {
            let row = self.next[source];
            self.advance(source, layout)?;
            // A lane that is sealed while it is read is met twice.
            if row != self.last {
                self.last = row;
                return Ok(row);
            }
        }
        Ok(None)
    }

    /// The row that was given last.
    pub(crate) fn last(&self) -> Option<Row> {
        self.last
    }

    /// The next row that comes after `last`, of which there may be newer ones since.
    pub(crate) fn next_older(&mut self, layout: &Layout, last: Option<Row>) -> io::Result<Option<Row>> {
        loop {
            match (self.next_row(layout)?, last) {
                (Some(row), Some(last)) if row.order() >= last.order() => {}
                (next, _) => return Ok(next),
            }
        }
    }

    fn advance(&mut self, source: usize, layout: &Layout) -> io::Result<()> {
        self.next[source] = self.sources[source].next_row(layout)?;
        if let (Some(row), Some(heads)) = (self.next[source], &mut self.heads) {
            heads.push((row.order(), source));
        }
        Ok(())
    }
}
