//! Comparing a document with its published JSON Schema.

use serde_json::Value;
use std::fs;

/// The published schema of that name.
pub(crate) fn schema(name: &str) -> Value {
    let path = isobox_tests::checkout().join("docs/schemas").join(format!("{name}.json"));
    let text = fs::read(&path).unwrap_or_else(|error| panic!("{}: {error}", path.display()));
    serde_json::from_slice(&text).expect("a schema is JSON")
}

/// Asserts that the schema `name` says everything of `found`.
pub(crate) fn assert_described(name: &str, found: &Value) {
    let schema = schema(name);
    let mut faults = Vec::new();
    Checker { root: &schema }.check(&schema, found, "$", &mut faults);
    assert!(faults.is_empty(), "{name}: {faults:#?}\n{found:#}");
}

/// The keywords that the schemas use, and no others. Fields that a schema does not name are faults here, although readers
/// must accept them.
struct Checker<'a> {
    root: &'a Value,
}

impl Checker<'_> {
    fn check(&self, schema: &Value, found: &Value, place: &str, faults: &mut Vec<String>) {
        for (keyword, value) in schema.as_object().expect("a schema is an object") {
            let holds = match keyword.as_str() {
                "$schema" | "$id" | "$defs" | "title" | "description" => true,
                "$ref" => {
                    let pointer = value.as_str().expect("a reference").trim_start_matches('#');
                    self.check(self.root.pointer(pointer).expect("it refers to something"), found, place, faults);
                    true
                }
                "type" => match value {
                    Value::Array(types) => types.iter().any(|name| is_of_type(found, name.as_str().expect("a type"))),
                    name => is_of_type(found, name.as_str().expect("a type")),
                },
                "const" => found == value,
                "enum" => value.as_array().expect("values").contains(found),
                "minimum" => found.as_f64() >= value.as_f64(),
                "maximum" => found.as_f64() <= value.as_f64(),
                "pattern" => found.as_str().is_some_and(|text| matches(value.as_str().expect("a pattern"), text)),
                "anyOf" => value.as_array().expect("schemas").iter().any(|schema| self.is_met(schema, found)),
                "required" => {
                    let names = value.as_array().expect("names").iter();
                    names.into_iter().all(|name| found.get(name.as_str().expect("a name")).is_some())
                }
                "properties" => {
                    for (name, field) in found.as_object().into_iter().flatten() {
                        let place = format!("{place}.{name}");
                        match value.get(name) {
                            Some(schema) => self.check(schema, field, &place, faults),
                            None => faults.push(format!("{place} is not described")),
                        }
                    }
                    true
                }
                "additionalProperties" => {
                    for (name, field) in found.as_object().into_iter().flatten() {
                        self.check(value, field, &format!("{place}.{name}"), faults);
                    }
                    true
                }
                "items" => {
                    for (index, item) in found.as_array().into_iter().flatten().enumerate() {
                        self.check(value, item, &format!("{place}[{index}]"), faults);
                    }
                    true
                }
                other => panic!("this test does not know the keyword {other}"),
            };
            if !holds {
                faults.push(format!("{place} does not meet {keyword} {value}: {found}"));
            }
        }
    }

    fn is_met(&self, schema: &Value, found: &Value) -> bool {
        let mut faults = Vec::new();
        self.check(schema, found, "$", &mut faults);
        faults.is_empty()
    }
}

fn is_of_type(found: &Value, name: &str) -> bool {
    match name {
        "object" => found.is_object(),
        "array" => found.is_array(),
        "string" => found.is_string(),
        "integer" => found.is_u64() || found.is_i64(),
        "number" => found.is_number(),
        "boolean" => found.is_boolean(),
        "null" => found.is_null(),
        other => panic!("this test does not know the type {other}"),
    }
}

/// The patterns of the schemas are few: each is told here in Rust.
fn matches(pattern: &str, text: &str) -> bool {
    let is_hex = |text: &str| text.bytes().all(|byte| matches!(byte, b'0'..=b'9' | b'a'..=b'f'));
    match pattern {
        "^task-[0-9a-f]{16}$" => text.strip_prefix("task-").is_some_and(|hex| hex.len() == 16 && is_hex(hex)),
        "^b3:[0-9a-f]{64}$" => text.strip_prefix("b3:").is_some_and(|hex| hex.len() == 64 && is_hex(hex)),
        "^([0-9a-f]{40}|[0-9a-f]{64})$" => [40, 64].contains(&text.len()) && is_hex(text),
        "^([0-9a-f]{2})*$" => text.len().is_multiple_of(2) && is_hex(text),
        "^[0-9a-f]{64}$" => text.len() == 64 && is_hex(text),
        "^[0-9a-f]{32}$" => text.len() == 32 && is_hex(text),
        "^[0-9]{4}-[0-9]{2}-[0-9]{2}T[0-9:.]+Z$" => {
            let shape: String = text.chars().map(|c| if c.is_ascii_digit() { '0' } else { c }).collect();
            shape.starts_with("0000-00-00T00:00:00") && shape.ends_with('Z')
        }
        other => panic!("this test does not know the pattern {other}"),
    }
}
