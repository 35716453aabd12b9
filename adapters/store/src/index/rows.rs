//! The records of one lane or pack, from either end.

use super::source::scan_whole;
use super::table_reader::RowReader;
use super::{Pack, Row};
use crate::layout::Layout;
use isobox_domain::listing::Direction;
use std::io;

/// Records of one source, as they were known when this was made.
#[derive(Debug)]
pub(super) struct Rows {
    pack: Pack,
    direction: Direction,
    /// Those that are in memory: the last comes next.
    recent: Vec<Row>,
    table: Option<RowReader>,
    /// Rows of the table, and how many of them were handed out.
    count: u64,
    given: u64,
}

impl Rows {
    /// The rows of a table, and newer ones in memory in the order of [`Row::order`].
    pub(super) fn new(
        pack: Pack,
        (table, count): (Option<RowReader>, u64),
        mut recent: Vec<Row>,
        direction: Direction,
    ) -> Self {
        if direction == Direction::Ascending {
            recent.reverse();
        }
        Self { pack, direction, recent, table, count, given: 0 }
    }

    pub(super) fn next_row(&mut self, layout: &Layout) -> io::Result<Option<Row>> {
        let is_from_memory =
            self.direction == Direction::Descending || self.given == self.count || self.table.is_none();
        if is_from_memory && let Some(row) = self.recent.pop() {
            return Ok(Some(row));
        }
        let Some(table) = self.table.as_mut().filter(|_| self.given < self.count) else { return Ok(None) };
        let number = match self.direction {
            Direction::Descending => self.count - self.given - 1,
            Direction::Ascending => self.given,
        };
        match table.row(number) {
            Err(error) if error.kind() == io::ErrorKind::InvalidData => {
                self.read_from_pack(layout)?;
                Ok(self.recent.pop())
            }
            row => {
                self.given += 1;
                row.map(Some)
            }
        }
    }

    /// Goes on without the table, which is damaged.
    fn read_from_pack(&mut self, layout: &Layout) -> io::Result<()> {
        self.table = None;
        let mut rows = scan_whole(layout, self.pack)?.into_rows();
        rows.truncate(usize::try_from(self.count).unwrap_or(usize::MAX));
        let given = rows.len().min(usize::try_from(self.given).unwrap_or(usize::MAX));
        match self.direction {
            Direction::Descending => rows.truncate(rows.len() - given),
            Direction::Ascending => {
                rows.drain(..given);
                rows.reverse();
            }
        }
        self.recent.extend(rows);
        Ok(())
    }
}
