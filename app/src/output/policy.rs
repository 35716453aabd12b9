//! The keys and values of a policy.

use super::columns::wrapped;
use super::policy_origin::Origins;
use crate::use_case::effective_policy::{Origin, PolicyValue};
use isobox_domain::content::ContentId;
use isobox_domain::finding::Finding;
use isobox_ports::{PolicyError, PolicyFile};
use serde_json::{Value, json};
use std::io::{self, Write};

/// Whether a project's policy file is trusted.
#[derive(Clone, Copy, Debug)]
pub(crate) struct FileTrust {
    /// BLAKE3 of the file's bytes.
    pub(crate) digest: ContentId,
    /// Whether this user trusts it.
    pub(crate) is_trusted: bool,
}

/// The column in which values begin.
const VALUES: usize = 44;

/// For people: key, origin, and the value last, since a list may be long.
pub(crate) fn table(
    out: &mut dyn Write,
    values: &[PolicyValue],
    origins: Option<&Origins>,
    columns: Option<usize>,
) -> io::Result<()> {
    for value in values {
        writeln!(out, "{:<35}{:<9}{}", value.key, name(value.origin), wrapped(&value.value, VALUES, columns))?;
        for line in origins.map(|origins| [origins.place(value), origins.enforcement(value.key)]).into_iter().flatten()
        {
            writeln!(out, "    {}", wrapped(&line, 4, columns))?;
        }
    }
    Ok(())
}

/// For programs: a document of schema `isobox.policy/v1`.
pub(crate) fn document(values: &[PolicyValue], origins: Option<&Origins>, trust: Option<FileTrust>) -> Value {
    let told: Vec<Value> = values
        .iter()
        .map(|value| {
            let mut told = json!({ "key": value.key, "value": value.value, "origin": name(value.origin) });
            if let Some(origins) = origins {
                told["place"] = origins.fields(value);
            }
            told
        })
        .collect();
    json!({
        "schema": "isobox.policy/v1",
        "digest": trust.map(|trust| trust.digest.to_string()),
        "trusted": trust.map(|trust| trust.is_trusted),
        "values": told,
    })
}

/// A policy file: where it lies, whose it is, and what was read of it.
pub(crate) type Checked = (String, &'static str, Result<Option<PolicyFile>, PolicyError>);

/// For programs: a document of schema `isobox.policy-check/v1`.
///
/// `findings` are about files that are all valid.
pub(crate) fn checked(files: &[Checked], findings: &[Finding]) -> Value {
    let told = |(path, of, read): &Checked| {
        let mistakes = read.as_ref().err().map(PolicyError::mistakes).unwrap_or_default();
        let mistakes = mistakes.iter().map(|mistake| json!({ "reason": mistake.reason, "hint": mistake.hint }));
        json!({ "path": path, "of": of, "valid": read.is_ok(), "mistakes": mistakes.collect::<Vec<_>>() })
    };
    let is_valid = files.iter().all(|(_, _, read)| read.is_ok());
    json!({
        "schema": "isobox.policy-check/v1",
        "valid": is_valid,
        "files": files.iter().map(told).collect::<Vec<_>>(),
        "findings": findings.iter().map(super::doctor::value).collect::<Vec<_>>(),
    })
}

const fn name(origin: Origin) -> &'static str {
    match origin {
        Origin::Project => "project",
        Origin::User => "user",
        Origin::Default => "default",
    }
}
