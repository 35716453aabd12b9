//! Why something is allowed or not.

use crate::output::policy_origin::Origins;
use crate::use_case::effective_policy::PolicyValue;
use crate::use_case::explain::Answer;
use serde_json::{Value, json};
use std::io::{self, Write};

/// For people: the answer, the rule and where it stands, and what enforces it here.
pub(crate) fn text(out: &mut dyn Write, answer: &Answer, values: &[PolicyValue], origins: &Origins) -> io::Result<()> {
    writeln!(out, "{}: {}", if answer.is_allowed { "yes" } else { "no" }, answer.why)?;
    match rule(answer, values) {
        Some(value) => writeln!(out, "  `{}` is {} ({})", value.key, value.value, origins.place(value))?,
        None => writeln!(out, "  no policy says otherwise")?,
    }
    writeln!(out, "  {}", origins.held(answer.subject))
}

/// For programs: a document of schema `isobox.policy-explanation/v1`.
pub(crate) fn document(answer: &Answer, values: &[PolicyValue], origins: &Origins) -> Value {
    let rule = rule(answer, values)
        .map(|value| json!({ "key": value.key, "value": value.value, "place": origins.fields(value) }));
    json!({
        "schema": "isobox.policy-explanation/v1",
        "allowed": answer.is_allowed,
        "why": answer.why,
        "rule": rule,
        "enforcement": origins.held_document(answer.subject),
    })
}

fn rule<'a>(answer: &Answer, values: &'a [PolicyValue]) -> Option<&'a PolicyValue> {
    values.iter().find(|value| Some(value.key) == answer.key)
}
