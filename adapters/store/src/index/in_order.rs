//! The records of all lanes and packs in one order, by the time of their commit, without holding them all.

use super::rows::Rows;
use super::{Mark, Row};
use crate::layout::Layout;
use isobox_domain::listing::Direction;
use std::collections::BinaryHeap;
use std::io;

/// A merge of sources, each ordered in itself.
#[derive(Debug)]
pub(crate) struct InOrder {
    direction: Direction,
    sources: Vec<Rows>,
    /// The next row of every source.
    next: Vec<Option<Row>>,
    /// One for every source that has a next row; `None` before the first is asked for.
    heads: Option<BinaryHeap<Head>>,
    last: Option<Row>,
    /// The source of the last row.
    last_source: usize,
    /// What went wrong behind a row that was still to be handed out.
    failures: Vec<io::Error>,
    /// What was there when it began.
    began: Mark,
    /// Where another one came to that this goes on from.
    resumed: Option<Resumed>,
}

/// How far another one came.
#[derive(Clone, Copy, Debug)]
struct Resumed {
    /// Its last row.
    behind: Option<Row>,
}

/// The order of a source's next row, and which source it is. The greatest comes first.
type Head = ((u64, u64, u8), usize);

impl InOrder {
    pub(super) fn new(sources: Vec<Rows>, direction: Direction, began: Mark) -> Self {
        let next = vec![None; sources.len()];
        let (heads, last, last_source) = (None, None, 0);
        Self { direction, next, sources, heads, last, last_source, failures: Vec::new(), began, resumed: None }
    }

    /// What this has not handed out yet, of `sources` in which the same stands by now.
    pub(super) fn resumed(&self, sources: Vec<Rows>) -> Self {
        let behind = self.last.or(self.resumed.and_then(|resumed| resumed.behind));
        Self { resumed: Some(Resumed { behind }), ..Self::new(sources, self.direction, self.began.clone()) }
    }

    /// The order of the rows.
    pub(super) fn direction(&self) -> Direction {
        self.direction
    }

    /// The next row. A source that cannot be read any further is an error once, and costs no other.
    pub(crate) fn next_row(&mut self, layout: &Layout) -> io::Result<Option<Row>> {
        if self.heads.is_none() {
            self.heads = Some(BinaryHeap::with_capacity(self.sources.len()));
            (0..self.sources.len()).for_each(|source| self.advance(source, layout));
        }
        if let Some(failure) = self.failures.pop() {
            return Err(failure);
        }
        while let Some((_, source)) = self.heads.as_mut().and_then(BinaryHeap::pop) {
            let row = self.next[source];
            self.advance(source, layout);
            // A pack whose entries were moved to another one is met twice until it is removed.
            if row != self.last && row.is_none_or(|row| self.is_wanted(&row)) {
                (self.last, self.last_source) = (row, source);
                return Ok(row);
            }
        }
        self.failures.pop().map_or(Ok(None), Err)
    }

    /// Which source the last row came from, of those that it began with.
    pub(crate) fn last_source(&self) -> Option<usize> {
        self.resumed.is_none().then_some(self.last_source)
    }

    /// Whether a row was there when this began, and was not handed out before it was resumed.
    fn is_wanted(&self, row: &Row) -> bool {
        let Some(Resumed { behind }) = self.resumed else { return true };
        let comes_behind = behind.is_none_or(|last| rank(row, self.direction) < rank(&last, self.direction));
        comes_behind && !self.began.is_before(row)
    }

    fn advance(&mut self, source: usize, layout: &Layout) {
        match self.sources[source].next_row(layout) {
            Ok(row) => self.next[source] = row,
            Err(error) => {
                self.next[source] = None;
                self.failures.push(error);
            }
        }
        if let (Some(row), Some(heads)) = (self.next[source], &mut self.heads) {
            heads.push((rank(&row, self.direction), source));
        }
    }
}

fn rank(row: &Row, direction: Direction) -> (u64, u64, u8) {
    let (time, sequence, lane) = row.order();
    match direction {
        Direction::Descending => (time.unix_ms(), sequence, lane),
        Direction::Ascending => (u64::MAX - time.unix_ms(), u64::MAX - sequence, u8::MAX - lane),
    }
}
