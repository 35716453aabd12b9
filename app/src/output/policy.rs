//! The keys and values of a policy.

use super::columns::wrapped;
use crate::use_case::effective_policy::{Origin, PolicyValue};
use serde_json::{Value, json};
use std::io::{self, Write};

/// The column in which values begin.
const VALUES: usize = 44;

/// For people: key, origin, and the value last, since a list may be long.
pub(crate) fn table(out: &mut dyn Write, values: &[PolicyValue], columns: Option<usize>) -> io::Result<()> {
    for PolicyValue { key, value, origin } in values {
        writeln!(out, "{key:<35}{:<9}{}", name(*origin), wrapped(value, VALUES, columns))?;
    }
    Ok(())
}

/// For programs: a document of schema `isobox.policy/v1`.
pub(crate) fn document(values: &[PolicyValue]) -> Value {
    let told: Vec<Value> = values
        .iter()
        .map(|value| json!({ "key": value.key, "value": value.value, "origin": name(value.origin) }))
        .collect();
    json!({ "schema": "isobox.policy/v1", "values": told })
}

const fn name(origin: Origin) -> &'static str {
    match origin {
        Origin::Project => "project",
        Origin::User => "user",
        Origin::Default => "default",
    }
}
