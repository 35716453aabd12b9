//! The report as a JSON document.

use super::Told;
use crate::failure::Failure;
use crate::output::report_json::{categories, described, levels};
use crate::output::stdout::unwritten;
use serde_json::json;
use std::io::Write;

/// Writes a document of schema `isobox.report/v1`, line by line: the totals, then every path, by level.
pub(crate) fn write(out: &mut dyn Write, told: &Told<'_>) -> Result<(), Failure> {
    let (totals, record) = (told.totals(), &told.selected.record);
    let summary = totals.summary();
    let head = json!({
        "schema": "isobox.report/v1",
        "id": record.task.to_string(),
        "record": told.selected.digest.to_string(),
        "changed_files": totals.summary().changed(),
        "flagged_files": totals.flagged(),
        "levels": levels(totals),
        "categories": categories(totals),
        "changes": {
            "added": summary.added,
            "modified": summary.modified,
            "deleted": summary.deleted,
            "not_captured": summary.not_captured,
        },
    })
    .to_string();
    write!(out, "{},\"files\":[", head.strip_suffix("}").unwrap_or(&head)).map_err(unwritten)?;
    let mut comma = "";
    told.report.each(&told.ports, record, &mut |line, findings| {
        write!(out, "{comma}\n{}", described(line, findings)).map_err(unwritten)?;
        comma = ",";
        Ok(())
    })?;
    writeln!(out, "\n]}}").map_err(unwritten)
}
