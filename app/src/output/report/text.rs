//! The report for a person, escaped for a terminal.

use super::Told;
use crate::failure::Failure;
use crate::output::stdout::unwritten;
use crate::output::{changes, text};
use isobox_domain::report::level_of;
use std::io::Write;

/// Writes the totals, and below them every path that deserves a look.
pub(crate) fn write(out: &mut dyn Write, told: &Told<'_>) -> Result<(), Failure> {
    changes::report_totals(out, told.totals()).map_err(unwritten)?;
    let mut current = None;
    told.each_flagged(&mut |line, findings| {
        let level = level_of(findings);
        if let Some(level) = level.filter(|_| level != current) {
            writeln!(out, "{}:", level.name()).map_err(unwritten)?;
        }
        current = level;
        changes::reported(out, line, findings).map_err(unwritten)
    })?;
    match told.unflagged() {
        0 => Ok(()),
        others => writeln!(out, "{} with nothing to look at", text::counted(others, "other path")).map_err(unwritten),
    }
}
