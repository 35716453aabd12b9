//! The Promotion Report as a part of a record's document.

use crate::failure::Failure;
use crate::output::changes;
use crate::output::record_json::{self, bytes};
use crate::output::renamed::Renames;
use crate::output::stdout::unwritten;
use crate::use_case::report::report;
use crate::use_case::select::Selected;
use isobox_domain::change::{Change, ChangeLine, Mode};
use isobox_domain::record::TaskRecord;
use isobox_domain::report::{DependencyChange, Finding, PromotionReport, RiskLevel, level_of};
use isobox_ports::ObjectStore;
use serde_json::{Map, Value, json};
use std::io::Write;

/// Lines that a document holds: it is one value in memory. `isobox diff --stat` and `promote` show every line.
const MOST_LINES: usize = 1000;

/// Writes a document of schema `isobox.diff/v1`: every line of the report, as it comes.
pub(crate) fn stream(
    out: &mut dyn Write,
    objects: &dyn ObjectStore,
    selected: &Selected,
    renames: &Renames,
) -> Result<(), Failure> {
    let Selected { digest, record } = selected;
    let (task, digest) = (record.task, digest.to_string());
    write!(out, "{{\"schema\":\"isobox.diff/v1\",\"id\":\"{task}\",\"record\":\"{digest}\",\"files\":[")
        .map_err(unwritten)?;
    let mut comma = "";
    report(objects, record, &mut |line, findings| {
        write!(out, "{comma}\n{}", described(line, findings)).map_err(unwritten)?;
        comma = ",";
        Ok(())
    })?;
    let totals = record.artifacts.change_set.map_or(Value::Null, |set| record_json::changes(&set));
    write!(out, "\n],\"changes\":{totals},\"renames\":[").map_err(unwritten)?;
    let mut comma = "";
    for (from, to, similarity) in renames.each() {
        let rename = json!({ "from": bytes(from), "to": bytes(to), "similarity": similarity });
        write!(out, "{comma}\n{rename}").map_err(unwritten)?;
        comma = ",";
    }
    writeln!(out, "\n]}}").and_then(|()| out.flush()).map_err(unwritten)
}

/// The report of `record`: totals of every category, and its first [`MOST_LINES`] lines.
pub(crate) fn document(objects: &dyn ObjectStore, record: &TaskRecord) -> Result<Value, Failure> {
    let mut lines: Vec<Value> = Vec::new();
    let mut left_out = 0u64;
    let totals = report(objects, record, &mut |line, findings| {
        match lines.len() < MOST_LINES {
            true => lines.push(described(line, findings)),
            false => left_out += 1,
        }
        Ok(())
    })?;
    Ok(json!({
        "changed_files": totals.summary().changed(),
        "flagged_files": totals.flagged(),
        "levels": levels(&totals),
        "categories": categories(&totals),
        "files": lines,
        "files_left_out": left_out,
    }))
}

pub(crate) fn levels(totals: &PromotionReport) -> Map<String, Value> {
    totals.levels().into_iter().map(|(level, count)| (level.name().to_owned(), count.into())).collect()
}

pub(crate) fn categories(totals: &PromotionReport) -> Map<String, Value> {
    totals.categories().map(|(category, count)| (category.name().to_owned(), count.into())).collect()
}

pub(crate) fn described(line: &ChangeLine, findings: &[Finding]) -> Value {
    let level = level_of(findings).map(RiskLevel::name);
    let findings: Vec<Value> = findings.iter().map(found).collect();
    match line {
        ChangeLine::Change(change) => changed(change, level, findings),
        ChangeLine::NotCaptured(left_out) => json!({
            "path": bytes(&left_out.workspace_path),
            "change": "not_captured",
            "reason": changes::reason(left_out),
            "level": level,
            "findings": findings,
        }),
    }
}

fn found(finding: &Finding) -> Value {
    let mut found = json!({ "category": finding.category.name(), "level": finding.level.name(), "note": finding.note });
    if let Some(line) = finding.line {
        found["line"] = line.into();
    }
    if let Some(dependencies) = &finding.dependencies {
        found["dependencies"] = dependencies.known().iter().map(dependency).collect();
    }
    found
}

fn dependency(DependencyChange { key, before, after }: &DependencyChange) -> Value {
    json!({ "name": key.name, "group": key.group, "before": before, "after": after })
}

fn changed(change: &Change, level: Option<&str>, findings: Vec<Value>) -> Value {
    let after = change.after.as_ref();
    json!({
        "path": bytes(change.path.as_bytes()),
        "change": changes::kind(change.kind()),
        "mode_before": change.before.as_ref().map(|before| mode(before.mode)),
        "mode_after": after.map(|after| mode(after.mode)),
        "length": after.map(|after| after.content.length),
        "digest": after.map(|after| after.content.id.to_string()),
        "renamed_from": change.renamed_from.as_ref().map(|from| bytes(from.as_bytes())),
        "level": level,
        "findings": findings,
    })
}

const fn mode(mode: Mode) -> &'static str {
    match mode {
        Mode::File => "file",
        Mode::Executable => "executable",
        Mode::Symlink => "symlink",
        Mode::Submodule => "submodule",
    }
}
