//! The report in SARIF 2.1.0: every finding is a result, every category a rule.

use super::Told;
use crate::failure::Failure;
use crate::output::stdout::unwritten;
use isobox_domain::change::ChangeLine;
use isobox_domain::report::{Finding, RiskCategory, RiskLevel};
use serde_json::{Value, json};
use std::io::Write;

const HEAD: &str =
    "{\"$schema\":\"https://json.schemastore.org/sarif-2.1.0.json\",\"version\":\"2.1.0\",\"runs\":[{\"tool\":";

/// Writes a log of one run, result by result.
pub(crate) fn write(out: &mut dyn Write, told: &Told<'_>) -> Result<(), Failure> {
    write!(out, "{HEAD}{},\"results\":[", tool()).map_err(unwritten)?;
    let mut comma = "";
    told.each_flagged(&mut |line, findings| {
        for finding in findings {
            write!(out, "{comma}\n{}", result(line, finding)).map_err(unwritten)?;
            comma = ",";
        }
        Ok(())
    })?;
    writeln!(out, "\n]}}]}}").map_err(unwritten)
}

fn tool() -> Value {
    let rules: Vec<Value> = RiskCategory::ALL.into_iter().map(rule).collect();
    json!({ "driver": { "name": "isobox", "version": env!("CARGO_PKG_VERSION"), "rules": rules } })
}

fn rule(category: RiskCategory) -> Value {
    json!({
        "id": category.name(),
        "shortDescription": { "text": message(category.meaning()) },
        "defaultConfiguration": { "level": level(category.level()) },
    })
}

fn result(line: &ChangeLine, finding: &Finding) -> Value {
    let path = match line {
        ChangeLine::Change(change) => change.path.as_bytes(),
        ChangeLine::NotCaptured(left_out) => left_out.workspace_path.as_slice(),
    };
    let note = finding.note.as_ref().map(|note| format!(": {note}")).unwrap_or_default();
    json!({
        "ruleId": finding.category.name(),
        "level": level(finding.level),
        "message": { "text": message(&format!("{}{note}", finding.category.meaning())) },
        "locations": [{ "physicalLocation": {
            "artifactLocation": { "uri": uri(path), "uriBaseId": "%SRCROOT%" },
            // Services that show results want a place: of a whole file it is the first line.
            "region": { "startLine": finding.line.unwrap_or(1) },
        } }],
    })
}

const fn level(level: RiskLevel) -> &'static str {
    match level {
        RiskLevel::High => "error",
        RiskLevel::Medium => "warning",
        RiskLevel::Low => "note",
    }
}

/// Text in which nothing is a link or a placeholder; see SARIF 2.1.0, sections 3.11.5 and 3.11.6.
fn message(text: &str) -> String {
    let mut plain = String::with_capacity(text.len());
    for c in text.chars() {
        match c {
            '[' | ']' | '\\' => plain.extend(['\\', c]),
            '{' | '}' => plain.extend([c, c]),
            _ => plain.push(c),
        }
    }
    plain
}

/// A path as a relative reference; see RFC 3986, section 2.3.
fn uri(path: &[u8]) -> String {
    let mut uri = String::with_capacity(path.len());
    for &byte in path {
        match byte {
            b'a'..=b'z' | b'A'..=b'Z' | b'0'..=b'9' | b'-' | b'.' | b'_' | b'~' | b'/' => uri.push(char::from(byte)),
            _ => uri.push_str(&format!("%{byte:02X}")),
        }
    }
    uri
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn paths_are_encoded_and_messages_have_no_links() {
        assert_eq!(uri(b"a b/%41:\xff\xc3\xa4"), "a%20b/%2541%3A%FF%C3%A4");
        assert_eq!(message("to [x](http://y) {0} \\n"), "to \\[x\\](http://y) {{0}} \\\\n");
    }
}
