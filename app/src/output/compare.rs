//! Tasks of the same base side by side.

pub(crate) mod json;
pub(crate) mod text;

use crate::failure::Failure;
use crate::output::line_count::LineCount;
use crate::use_case::compare::{Detail, Row, Side, Tally, Tests, each_row};
use isobox_domain::content::ContentId;
use isobox_domain::promotion::Selection;

/// What is told.
pub(crate) struct Compared<'a> {
    pub(crate) sides: Vec<Side<'a>>,
    /// The digests of their records.
    pub(crate) digests: Vec<ContentId>,
    /// Lines of each patch as a whole, whatever was chosen.
    pub(crate) lines: Vec<LineCount>,
    pub(crate) selection: &'a Selection,
}

impl Compared<'_> {
    fn each_row(&self, each: &mut dyn FnMut(&Row) -> Result<(), Failure>) -> Result<(), Failure> {
        each_row(&self.sides, self.selection, Detail::Findings, each)
    }

    /// How many paths relate in which way, and the tests of each Task.
    fn totals(&self) -> Result<(Tally, Vec<Tests>), Failure> {
        let (mut tally, mut tests) = (Tally::default(), vec![Tests::default(); self.sides.len()]);
        each_row(&self.sides, self.selection, Detail::Results, &mut |row| {
            tally.count(row.relation());
            for (tests, made) in tests.iter_mut().zip(&row.made) {
                made.iter().for_each(|made| tests.count(&made.line));
            }
            Ok(())
        })?;
        Ok((tally, tests))
    }
}
