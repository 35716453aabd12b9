//! The report of a Task Result, in every format. What came from a workload is made harmless for each of them.

pub(crate) mod json;
pub(crate) mod markdown;
pub(crate) mod sarif;
pub(crate) mod text;

use crate::failure::Failure;
use crate::use_case::ranked_report::{Ports, RankedReport};
use crate::use_case::report::EachLine;
use crate::use_case::select::Selected;
use isobox_domain::report::PromotionReport;

/// A report, and where its lines are read from.
#[derive(Clone, Copy)]
pub(crate) struct Told<'a> {
    pub(crate) ports: Ports<'a>,
    pub(crate) selected: &'a Selected,
    pub(crate) report: &'a RankedReport<'a>,
}

impl Told<'_> {
    const fn totals(&self) -> &PromotionReport {
        self.report.totals()
    }

    fn each_flagged(&self, each: EachLine<'_>) -> Result<(), Failure> {
        self.report.each_flagged(&self.ports, &self.selected.record, each)
    }

    /// How many lines have nothing to look at.
    fn unflagged(&self) -> u64 {
        let summary = self.totals().summary();
        summary.changed() + summary.not_captured - self.totals().flagged()
    }
}
