//! Doctor Findings, for people and for programs.

use super::columns::wrapped;
use isobox_domain::finding::{Finding, Severity, Subject};
use serde_json::{Value, json};
use std::io::{self, Write};

/// The columns in which what was found begins, and what follows from it.
const FOUND: usize = 34;
const DETAILS: usize = 18;

/// For people: a line a finding, and below it whatever a person has to know or do. Lines are broken at `columns`, if there
/// are any.
pub(crate) fn text(out: &mut dyn Write, findings: &[Finding], columns: Option<usize>) -> io::Result<()> {
    for subject in [Subject::Machine, Subject::Project] {
        let about: Vec<_> = findings.iter().filter(|finding| finding.subject == subject).collect();
        if about.is_empty() {
            continue;
        }
        writeln!(out, "{}", subject.name())?;
        about.into_iter().try_for_each(|finding| one(out, finding, columns))?;
        writeln!(out)?;
    }
    let [ok, warning, error] = counts(findings);
    writeln!(out, "{ok} ok, {warning} warning, {error} error")
}

/// For people: the findings that are not `ok`, without the rest.
pub(crate) fn remarkable(out: &mut dyn Write, findings: &[Finding], columns: Option<usize>) -> io::Result<()> {
    let mut told = findings.iter().filter(|finding| finding.severity != Severity::Ok);
    told.try_for_each(|finding| one(out, finding, columns))
}

fn one(out: &mut dyn Write, finding: &Finding, columns: Option<usize>) -> io::Result<()> {
    let severity = finding.severity.name();
    writeln!(out, "  {severity:<7}  {:<21}  {}", finding.check, below(&finding.found, FOUND, columns))?;
    let details = [
        ("tried", (finding.severity != Severity::Ok).then_some(finding.tried)),
        ("so", finding.consequence.as_deref()),
        ("fix", finding.fix.as_deref()),
    ];
    for (label, detail) in details {
        if let Some(detail) = detail {
            writeln!(out, "           {label:<5}  {}", below(detail, DETAILS, columns))?;
        }
    }
    Ok(())
}

/// Lines of `text`, set below the first one, which begins in column `indent`.
fn below(text: &str, indent: usize, columns: Option<usize>) -> String {
    let lines: Vec<String> = text.lines().map(|line| wrapped(line, indent, columns)).collect();
    lines.join(&format!("\n{:indent$}", ""))
}

/// For programs: a document of schema `isobox.doctor/v1`.
pub(crate) fn document(findings: &[Finding]) -> Value {
    let [ok, warning, error] = counts(findings);
    let told: Vec<Value> = findings.iter().map(value).collect();
    json!({
        "schema": "isobox.doctor/v1",
        "counts": { "ok": ok, "warning": warning, "error": error },
        "findings": told,
    })
}

/// For programs: one finding.
pub(crate) fn value(finding: &Finding) -> Value {
    json!({
        "check": finding.check,
        "subject": finding.subject.name(),
        "severity": finding.severity.name(),
        "tried": finding.tried,
        "found": finding.found,
        "consequence": finding.consequence,
        "fix": finding.fix,
    })
}

fn counts(findings: &[Finding]) -> [usize; 3] {
    [Severity::Ok, Severity::Warning, Severity::Error]
        .map(|severity| findings.iter().filter(|finding| finding.severity == severity).count())
}
