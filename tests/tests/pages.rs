//! Pages that are made from what `isobox` prints: the reference of the policy's keys, and the topics of its help.

use isobox_tests::{Project, User, assert_snapshot};
use serde_json::Value;

/// The properties of an object of the schema, in the order of the schema.
fn properties(schema: &Value) -> impl Iterator<Item = (&String, &Value)> {
    schema["properties"].as_object().expect("properties").iter()
}

fn literal(value: &Value) -> String {
    match value {
        Value::String(text) => format!("`{text}`"),
        other => format!("`{other}`"),
    }
}

/// Which values a schema admits, in words.
fn values(schema: &Value) -> String {
    let listed = |values: &Value| values.as_array().expect("values").iter().map(literal).collect::<Vec<_>>().join(", ");
    if let Some(value) = schema.get("const") {
        return literal(value);
    }
    if let Some(choice) = schema.get("enum") {
        return listed(choice);
    }
    if let Some(either) = schema.get("oneOf") {
        return either.as_array().expect("schemas").iter().map(values).collect::<Vec<_>>().join(" or ");
    }
    match schema["type"].as_str().expect("a type") {
        "boolean" => "`true`, `false`".to_owned(),
        "integer" | "number" => format!("a number from {} to {}", schema["minimum"], schema["maximum"]),
        "array" => format!("a list of {}", values(&schema["items"])),
        "string" if schema.get("pattern").is_some() => {
            format!("text like `{}`", schema["pattern"].as_str().expect("text"))
        }
        "string" => "text".to_owned(),
        "object" => {
            let keys = schema["properties"].as_object().expect("properties").keys();
            format!("a mapping of {}", keys.map(|key| format!("`{key}`")).collect::<Vec<_>>().join(", "))
        }
        other => panic!("the reference has no words for {other}"),
    }
}

fn key(level: &str, name: &str, schema: &Value, is_required: bool) -> String {
    let default = match (schema.get("default"), is_required) {
        (Some(default), _) => format!("- without it: {}\n", literal(default)),
        (None, true) => "- required\n".to_owned(),
        (None, false) => String::new(),
    };
    let description = schema["description"].as_str().expect("a description");
    format!("\n{level} `{name}`\n\n{description}\n\n- values: {}\n{default}", values(schema))
}

fn reference(schema: &Value) -> String {
    let required = schema["required"].as_array().expect("names");
    let mut text = format!(
        "<!-- Made from the schema of policies; SNAPSHOTS=overwrite makes it anew. -->\n# Policy reference\n\n{}\n\n\
         `isobox policy schema` prints the schema that this page is made from. What enforces a key, and how a policy is \
         read, is in [the policy file](policy.md).\n",
        schema["description"].as_str().expect("a description")
    );
    for (name, below) in properties(schema) {
        if below.get("properties").is_none() {
            text.push_str(&key("##", name, below, required.iter().any(|required| required == name.as_str())));
            continue;
        }
        text.push_str(&format!("\n## `{name}`\n\n{}\n", below["description"].as_str().expect("a description")));
        for (inner, schema) in properties(below) {
            text.push_str(&key("###", &format!("{name}.{inner}"), schema, false));
        }
    }
    text
}

#[test]
fn the_reference_of_the_policy_says_what_its_schema_says() {
    let project = Project::bare(User::Current);
    let printed = project.isobox(&["policy", "schema"]);
    assert_eq!(printed.code, 0, "{printed:?}");
    let schema = serde_json::from_str(&printed.stdout).expect("a schema is JSON");
    assert_snapshot("docs/policy-reference.md", &reference(&schema));
}

#[test]
fn the_page_of_topics_says_what_the_help_says() {
    let project = Project::bare(User::Current);
    let topics = [
        ("ids", "Naming a task"),
        ("formats", "Formats"),
        ("environment", "Environment"),
        ("policy", "The policy in short"),
    ];
    let mut page =
        "<!-- Made from the help; SNAPSHOTS=overwrite makes it anew. -->\n# Names, formats, environment\n".to_owned();
    for (topic, title) in topics {
        let printed = project.isobox(&["help", topic]);
        assert_eq!(printed.code, 0, "{printed:?}");
        page.push_str(&format!("\n## {title}\n\n`isobox help {topic}` says:\n\n```text\n{}```\n", printed.stdout));
    }
    assert_snapshot("docs/topics.md", &page);
}
