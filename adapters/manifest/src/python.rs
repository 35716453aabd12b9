//! `requirements.txt` and `pyproject.toml`.

use crate::note;
use isobox_domain::report::Dependencies;
use toml::{Table, Value};

/// What a file of requirements names. Options, such as another index, are of the group `option`.
pub(crate) fn requirements(text: &str) -> Dependencies {
    let mut found = Dependencies::new();
    let text = text.replace("\\\r\n", " ").replace("\\\n", " ");
    for line in text.lines() {
        let line = uncommented(line).trim();
        if line.starts_with('-') {
            let (name, value) = line.split_once([' ', '=']).unwrap_or((line, ""));
            note(&mut found, "option", name, value.trim());
        } else if !line.is_empty() {
            // What a package must be made of tells nothing to people.
            let asked = line.find(" --hash").map_or(line, |at| &line[..at]);
            requirement(&mut found, "", asked);
        }
    }
    found
}

/// What a `pyproject.toml` names, in the tables of the standard and of Poetry.
pub(crate) fn project(text: &str) -> Option<Dependencies> {
    let table: Table = text.parse().ok()?;
    let of = |names: &[&str]| names.iter().try_fold(&table, |table, name| table.get(*name)?.as_table());
    let mut found = Dependencies::new();
    let project = of(&["project"]);
    list(&mut found, "", project.and_then(|project| project.get("dependencies")));
    list(&mut found, "build-system", of(&["build-system"]).and_then(|system| system.get("requires")));
    for groups in [of(&["project", "optional-dependencies"]), of(&["dependency-groups"])] {
        groups.into_iter().flatten().for_each(|(group, names)| list(&mut found, group, Some(names)));
    }
    let poetry = of(&["tool", "poetry"]);
    for (key, group) in [("dependencies", ""), ("dev-dependencies", "dev")] {
        versions(&mut found, group, poetry.and_then(|poetry| poetry.get(key)));
    }
    for (group, table) in of(&["tool", "poetry", "group"]).into_iter().flatten() {
        versions(&mut found, group, table.get("dependencies"));
    }
    Some(found)
}

fn list(found: &mut Dependencies, group: &str, list: Option<&Value>) {
    let list = list.and_then(Value::as_array).into_iter().flatten();
    list.for_each(|value| match value.as_str() {
        Some(text) => requirement(found, group, text),
        None => note(found, group, &value.to_string(), ""),
    });
}

fn versions(found: &mut Dependencies, group: &str, table: Option<&Value>) {
    let table = table.and_then(Value::as_table).into_iter().flatten();
    table.for_each(|(name, value)| {
        note(found, group, name, &value.as_str().map_or_else(|| value.to_string(), str::to_owned));
    });
}

/// A requirement such as `name[extra]>=1; marker` or `name @ URL`; its name as package indexes compare it.
fn requirement(found: &mut Dependencies, group: &str, text: &str) {
    let is_of_name = |c: char| c.is_ascii_alphanumeric() || matches!(c, '-' | '_' | '.');
    let end = text.find(|c| !is_of_name(c)).unwrap_or(text.len());
    // A path or an URL has no name.
    match end == 0 || text[end..].starts_with(['+', ':', '/']) {
        true => note(found, group, text, ""),
        false => note(found, group, &normalized(&text[..end]), text[end..].trim()),
    }
}

fn normalized(name: &str) -> String {
    let words = name.split(['-', '_', '.']).filter(|word| !word.is_empty());
    words.collect::<Vec<_>>().join("-").to_ascii_lowercase()
}

/// A comment begins a line, or follows white space: `#egg=name` is a part of an URL.
fn uncommented(line: &str) -> &str {
    let is_comment = |&(at, _): &(usize, char)| at == 0 || line[..at].ends_with(char::is_whitespace);
    line.char_indices().filter(|(_, c)| *c == '#').find(is_comment).map_or(line, |(at, _)| &line[..at])
}
