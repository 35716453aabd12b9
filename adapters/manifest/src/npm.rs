//! `package.json` and `package-lock.json`.

use crate::note;
use isobox_domain::report::Dependencies;
use serde_json::{Map, Value};

/// The tables that name dependencies, and what they are called here.
const TABLES: [(&str, &str); 6] = [
    ("dependencies", ""),
    ("devDependencies", "devDependencies"),
    ("peerDependencies", "peerDependencies"),
    ("optionalDependencies", "optionalDependencies"),
    ("overrides", "overrides"),
    ("resolutions", "resolutions"),
];
/// The registry whose packages go without saying.
const REGISTRY: &str = "https://registry.npmjs.org/";
const DIRECTORY: &str = "node_modules/";

/// What a `package.json` names.
pub(crate) fn manifest(text: &str) -> Option<Dependencies> {
    let document: Map<String, Value> = serde_json::from_str(text).ok()?;
    let mut found = Dependencies::new();
    for (table, group) in TABLES {
        let table = document.get(table).and_then(Value::as_object);
        table.into_iter().flatten().for_each(|(name, value)| note(&mut found, group, name, &asked(value)));
    }
    Some(found)
}

/// What a lock file holds: the versions of a package, with where it is from unless that is the registry of npm.
pub(crate) fn lock(text: &str) -> Option<Dependencies> {
    let document: Map<String, Value> = serde_json::from_str(text).ok()?;
    let mut found = Dependencies::new();
    match document.get("packages").and_then(Value::as_object) {
        Some(packages) => packages.iter().for_each(|(place, package)| {
            if let Some((_, name)) = place.rsplit_once(DIRECTORY) {
                note_locked(&mut found, name, package);
            }
        }),
        None => nested(&mut found, &document),
    }
    Some(found)
}

/// The form of npm 6 and before, in which a package holds those that it alone uses.
fn nested(found: &mut Dependencies, holder: &Map<String, Value>) {
    for (name, package) in holder.get("dependencies").and_then(Value::as_object).into_iter().flatten() {
        note_locked(found, name, package);
        package.as_object().into_iter().for_each(|package| nested(found, package));
    }
}

fn note_locked(found: &mut Dependencies, name: &str, package: &Value) {
    let of = |key| package.get(key).and_then(Value::as_str);
    let elsewhere = of("resolved").filter(|url| !url.starts_with(REGISTRY));
    let script = (package.get("hasInstallScript") == Some(&Value::Bool(true))).then_some("with an install script");
    let words: Vec<&str> = of("version").into_iter().chain(elsewhere).chain(script).collect();
    note(found, "", name, &words.join(" "));
}

/// A requirement; one that is a table of others as it is written.
fn asked(value: &Value) -> String {
    value.as_str().map_or_else(|| value.to_string(), str::to_owned)
}
