//! The published schema accepts what is read as a policy, and nothing else.

use super::{FileKind, parse_written, policy_schema};
use isobox_domain::policy::Requirement;
use proptest::prelude::*;
use serde_json::{Map, Value, json};

/// Whether `found` is as `schema` says. The keywords are those that the schema uses.
fn is_as(schema: &Value, found: &Value) -> bool {
    let Some(keywords) = schema.as_object() else { return schema == &json!(true) };
    keywords.iter().all(|(keyword, value)| match keyword.as_str() {
        "$schema" | "title" | "description" | "default" | "then" => true,
        "type" => is_of_type(found, value.as_str().expect("a type")),
        "const" => found == value,
        "enum" => value.as_array().expect("values").contains(found),
        "oneOf" => value.as_array().expect("schemas").iter().filter(|one| is_as(one, found)).count() == 1,
        "if" => !is_as(value, found) || is_as(&schema["then"], found),
        "required" => found.as_object().is_none_or(|found| {
            value.as_array().expect("names").iter().all(|name| found.contains_key(name.as_str().expect("a name")))
        }),
        "properties" => {
            let has = |found: &Map<String, Value>| {
                value
                    .as_object()
                    .expect("schemas")
                    .iter()
                    .all(|(name, one)| found.get(name).is_none_or(|found| is_as(one, found)))
            };
            found.as_object().is_none_or(has)
        }
        "additionalProperties" => {
            assert_eq!(value, &json!(false));
            found.as_object().is_none_or(|found| found.keys().all(|name| !schema["properties"][name].is_null()))
        }
        "items" => found.as_array().is_none_or(|items| items.iter().all(|item| is_as(value, item))),
        "uniqueItems" => {
            found.as_array().is_none_or(|items| items.iter().enumerate().all(|(at, item)| !items[..at].contains(item)))
        }
        "minLength" => {
            found.as_str().is_none_or(|text| text.chars().count() as u64 >= value.as_u64().expect("a number"))
        }
        "minimum" => found.as_f64().is_none_or(|number| number >= value.as_f64().expect("a number")),
        "maximum" => found.as_f64().is_none_or(|number| number <= value.as_f64().expect("a number")),
        "pattern" => found.as_str().is_none_or(|text| {
            let is_path = |text: &str| text.starts_with('/') || text.starts_with("~/");
            match value.as_str().expect("a pattern") {
                "^(/|~/)" => is_path(text),
                "^(/|~(/|$))" => is_path(text) || text == "~",
                "^\\./([^/.][^/]*/)*[^/.][^/]*\\.ya?ml$" => text.strip_prefix("./").is_some_and(|path| {
                    let (folder, name) =
                        path.rsplit_once('/').map_or((None, path), |(folder, name)| (Some(folder), name));
                    let is_name = |name: &str| !name.is_empty() && !name.starts_with('.');
                    folder.is_none_or(|folder| folder.split('/').all(is_name))
                        && is_name(name)
                        && [".yaml", ".yml"].iter().any(|end| name.ends_with(end))
                }),
                "\\S" => text.chars().any(|c| !c.is_whitespace()),
                "^[^/]" => !text.is_empty() && !text.starts_with('/'),
                "^[^\\[\\]{}\\\\!]+$" => !text.is_empty() && !text.contains(['[', ']', '{', '}', '\\', '!']),
                "^(path|local_integration)=(/|~/)|^host_binary=([^/]+$|/|~/)|^credential_ref=.|^env_var=[^=]+$" => {
                    match text.split_once('=') {
                        Some(("path" | "local_integration", value)) => is_path(value),
                        Some(("host_binary", value)) => is_path(value) || (!value.is_empty() && !value.contains('/')),
                        Some(("credential_ref", value)) => !value.is_empty(),
                        Some(("env_var", value)) => !value.is_empty() && !value.contains('='),
                        _ => false,
                    }
                }
                "^(([0-9]+(d|h|m|s|ms))+|unlimited)$" => is_amount(text, &["d", "h", "m", "s", "ms"]),
                "^(([0-9]+(PiB|TiB|GiB|MiB|KiB|B))+|unlimited)$" => {
                    is_amount(text, &["PiB", "TiB", "GiB", "MiB", "KiB", "B"])
                }
                other => panic!("the pattern {other} is not known to this test"),
            }
        }),
        other => panic!("the keyword {other} is not known to this test"),
    })
}

/// Whether `text` is numbers with units, or sets no limit.
fn is_amount(text: &str, units: &[&str]) -> bool {
    let mut rest = text;
    while let Some(after) = rest.strip_prefix(|c: char| c.is_ascii_digit()) {
        let after = after.trim_start_matches(|c: char| c.is_ascii_digit());
        let ends = after.find(|c: char| c.is_ascii_digit()).unwrap_or(after.len());
        if !units.contains(&&after[..ends]) {
            return false;
        }
        rest = &after[ends..];
    }
    text == "unlimited" || (rest.is_empty() && !text.is_empty())
}

fn is_of_type(found: &Value, name: &str) -> bool {
    match name {
        "object" => found.is_object(),
        "array" => found.is_array(),
        "string" => found.is_string(),
        "boolean" => found.is_boolean(),
        "integer" => found.is_i64() || found.is_u64(),
        "number" => found.is_number(),
        other => panic!("the type {other} is not known to this test"),
    }
}

/// Values of every kind: every one that the schema names anywhere, and what is near to them.
fn any_value() -> impl Strategy<Value = Value> {
    let mut words = Vec::new();
    named(&serde_json::from_str(policy_schema()).expect("JSON"), &mut words);
    let texts = [
        "",
        "x",
        "all",
        "unlimited",
        "/opt",
        "~/.rustup",
        "opt",
        "true",
        "64",
        "null",
        "crates.io:443",
        "path=/opt",
        "path=opt",
        "env_var=A",
        "env_var=A=1",
        "host_binary=a/b",
        "a[b]",
        "**/*.pem",
        "90s",
        "1h30m",
        "64MiB",
        "64MB",
        "1.5",
    ];
    words.extend(texts.map(Value::from));
    words.extend([json!(null), json!(true), json!(false), json!(0), json!(1), json!(-1), json!(4_294_967_295_u64)]);
    words.extend([json!(4_294_967_296_u64), json!(1.5), json!({}), json!({ "default": "deny" })]);
    words.extend([
        json!({ "path": "/opt" }),
        json!({ "path": "~/x", "capture": true }),
        json!({ "path": "/opt", "keep": 1 }),
    ]);
    let one = prop::sample::select(words);
    prop_oneof![3 => one.clone(), 1 => prop::collection::vec(one, 0..3).prop_map(Value::from)]
}

/// Values that a schema names.
fn named(schema: &Value, words: &mut Vec<Value>) {
    match schema {
        Value::Object(keywords) => {
            words.extend(keywords.get("const").cloned());
            words.extend(keywords.get("enum").and_then(Value::as_array).cloned().unwrap_or_default());
            keywords.values().for_each(|value| named(value, words));
        }
        Value::Array(values) => values.iter().for_each(|value| named(value, words)),
        _ => {}
    }
}

#[test]
fn whatever_can_be_required_is_in_the_schema() {
    let schema: Value = serde_json::from_str(policy_schema()).expect("JSON");
    let names: Vec<Value> = Requirement::all().map(|requirement| requirement.name().into()).collect();
    assert_eq!(schema["properties"]["require"]["items"]["enum"], Value::from(names));
}

/// A document: mostly as it should be, with some keys that have any value.
fn any_document() -> impl Strategy<Value = Value> {
    let schema: Value = serde_json::from_str(policy_schema()).expect("JSON");
    let mut keys = vec![vec!["nonsense".to_owned()], vec!["network".to_owned(), "nonsense".to_owned()]];
    for (name, one) in schema["properties"].as_object().expect("properties") {
        let inner =
            one["properties"].as_object().map(|inner| inner.keys().cloned().collect::<Vec<_>>()).unwrap_or_default();
        keys.push(vec![name.clone()]);
        keys.extend(inner.into_iter().map(|key| vec![name.clone(), key]));
    }
    let kind = prop::sample::select(vec!["ProjectPolicy", "UserPolicy"]);
    let changes = prop::collection::vec((prop::sample::select(keys), any_value()), 0..3);
    (kind, changes).prop_map(|(kind, changes)| {
        let mut document = json!({ "api_version": "isobox.dev/v1alpha1", "kind": kind });
        for (path, value) in changes {
            match path.as_slice() {
                [key] => document[key] = value,
                [section, key] if document[section].is_null() => document[section] = json!({ key: value }),
                [section, key] if document[section].is_object() => document[section][key] = value,
                _ => {}
            }
        }
        document
    })
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(4096))]

    #[test]
    fn the_schema_and_the_reader_accept_the_same_documents(document in any_document()) {
        let schema: Value = serde_json::from_str(policy_schema()).expect("JSON");
        let kind = if document["kind"] == "UserPolicy" { FileKind::User } else { FileKind::Project };
        // What is JSON is YAML.
        let read = parse_written(document.to_string().as_bytes(), kind);
        let problems = read.as_ref().err().map(|problems| problems.iter().map(ToString::to_string).collect::<Vec<_>>());
        prop_assert_eq!(read.is_ok(), is_as(&schema, &document), "{}: {:?}", document, problems);
    }
}

#[test]
fn what_can_be_extended_is_what_the_schema_says() {
    let schema: Value = serde_json::from_str(policy_schema()).expect("JSON");
    for text in [
        "none",
        "strict",
        "strct",
        "./base.yaml",
        "./a/b.yml",
        "./../a.yaml",
        "./.yaml",
        "./a",
        "/a.yaml",
        "./a//b.yaml",
    ] {
        let document =
            json!({ "api_version": "isobox.dev/v1alpha1", "kind": FileKind::Project.name(), "extends": text });
        let read = parse_written(document.to_string().as_bytes(), FileKind::Project);
        assert_eq!(is_as(&schema, &document), read.is_ok(), "{text}");
    }
}
