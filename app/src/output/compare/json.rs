//! Tasks side by side as a JSON document.

use super::Compared;
use crate::failure::Failure;
use crate::output::record_json::bytes;
use crate::output::report_json::{categories, described, levels};
use crate::output::stdout::unwritten;
use crate::use_case::compare::{Relation, Row, Tests};
use serde_json::{Value, json};
use std::io::Write;

/// Writes a document of schema `isobox.compare/v1`, line by line: the Tasks, then every path.
pub(crate) fn write(out: &mut dyn Write, compared: &Compared<'_>) -> Result<(), Failure> {
    let (tally, tests) = compared.totals()?;
    let tasks: Vec<Value> = (0..compared.sides.len()).map(|number| task(compared, number, &tests[number])).collect();
    let commit = compared.sides.first().map(|side| side.record.source.commit.to_string());
    let head = json!({
        "schema": "isobox.compare/v1",
        "commit": commit,
        "tasks": tasks,
        "same": tally.same,
        "different": tally.differing,
        "partial": tally.partly,
    })
    .to_string();
    write!(out, "{},\"files\":[", head.strip_suffix("}").unwrap_or(&head)).map_err(unwritten)?;
    let mut comma = "";
    compared.each_row(&mut |row| {
        write!(out, "{comma}\n{}", file(row)).map_err(unwritten)?;
        comma = ",";
        Ok(())
    })?;
    writeln!(out, "\n]}}").map_err(unwritten)
}

fn task(compared: &Compared<'_>, number: usize, tests: &Tests) -> Value {
    let side = &compared.sides[number];
    let (record, totals, lines) = (side.record, side.report.totals(), compared.lines[number]);
    let summary = totals.summary();
    let limits: Vec<String> = record.exceeded.iter().map(|exceeded| exceeded.limit.to_string()).collect();
    let duration = record.started_at.map(|began| record.ended_at.unix_ms().saturating_sub(began.unix_ms()));
    json!({
        "id": record.task.to_string(),
        "attempt": record.attempt,
        "record": compared.digests[number].to_string(),
        "outcome": record.outcome.name(),
        "exit_code": record.exit.map(|exit| exit.passed_on()),
        "duration_ms": duration,
        "limits_exceeded": limits,
        "changes": {
            "added": summary.added,
            "modified": summary.modified,
            "deleted": summary.deleted,
            "not_captured": summary.not_captured,
        },
        "lines": { "added": lines.added, "removed": lines.removed },
        "test_files": { "added": tests.added, "modified": tests.changed, "deleted": tests.deleted },
        "levels": levels(totals),
        "categories": categories(totals),
    })
}

fn file(row: &Row) -> Value {
    let relation = match row.relation() {
        Relation::Same => "same",
        Relation::Differs => "different",
        Relation::Partly => "partial",
    };
    let results: Vec<Value> = row
        .made
        .iter()
        .map(|made| made.as_ref().map_or(Value::Null, |made| described(&made.line, &made.findings)))
        .collect();
    json!({ "path": bytes(&row.path), "relation": relation, "results": results })
}
