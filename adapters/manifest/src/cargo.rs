//! `Cargo.toml` and `Cargo.lock`.

use crate::note;
use isobox_domain::report::Dependencies;
use toml::{Table, Value};

/// The tables that name dependencies, and what they are called here.
const TABLES: [(&str, &str); 3] =
    [("dependencies", ""), ("dev-dependencies", "dev-dependencies"), ("build-dependencies", "build-dependencies")];
/// The registry whose packages go without saying.
const CRATES_IO: [&str; 2] =
    ["registry+https://github.com/rust-lang/crates.io-index", "sparse+https://index.crates.io/"];
/// What a dependency says about where it comes from, in the order in which it is told.
const SOURCES: [&str; 7] = ["package", "registry", "git", "branch", "tag", "rev", "path"];

/// What a `Cargo.toml` names: of a package, per target, of a workspace, and what takes the place of another.
pub(crate) fn manifest(text: &str) -> Option<Dependencies> {
    let table: Table = text.parse().ok()?;
    let mut found = Dependencies::new();
    tables(&mut found, &table, "");
    for (target, table) in tables_of(&table, "target") {
        tables(&mut found, table, target);
    }
    if let Some(workspace) = table.get("workspace").and_then(Value::as_table) {
        each(&mut found, workspace.get("dependencies"), "workspace");
    }
    for (source, replaced) in tables_of(&table, "patch") {
        replaced.iter().for_each(|(name, value)| note(&mut found, &format!("patch {source}"), name, &asked(value)));
    }
    each(&mut found, table.get("replace"), "replace");
    Some(found)
}

/// What a `Cargo.lock` holds: the versions of a package, with where it is from unless that is crates.io.
pub(crate) fn lock(text: &str) -> Option<Dependencies> {
    let table: Table = text.parse().ok()?;
    let mut found = Dependencies::new();
    for package in table.get("package").and_then(Value::as_array).into_iter().flatten() {
        let of = |key| package.get(key).and_then(Value::as_str);
        let source = of("source").filter(|source| !CRATES_IO.contains(source));
        let version: Vec<&str> = of("version").into_iter().chain(source).collect();
        note(&mut found, "", of("name")?, &version.join(" "));
    }
    Some(found)
}

fn tables_of<'a>(table: &'a Table, name: &str) -> impl Iterator<Item = (&'a String, &'a Table)> {
    let tables = table.get(name).and_then(Value::as_table).into_iter().flatten();
    tables.filter_map(|(name, value)| Some((name, value.as_table()?)))
}

fn tables(found: &mut Dependencies, table: &Table, target: &str) {
    for (name, group) in TABLES {
        let words = [group, target];
        let group = words.into_iter().filter(|word| !word.is_empty()).collect::<Vec<_>>().join(" ");
        each(found, table.get(name).or_else(|| table.get(&name.replace('-', "_"))), &group);
    }
}

fn each(found: &mut Dependencies, table: Option<&Value>, group: &str) {
    let table = table.and_then(Value::as_table).into_iter().flatten();
    table.for_each(|(name, value)| note(found, group, name, &asked(value)));
}

/// What is asked for: the version, and where it comes from if the manifest says so.
fn asked(value: &Value) -> String {
    let of = |key: &str| value.get(key).and_then(Value::as_str);
    let mut words: Vec<String> = value.as_str().or_else(|| of("version")).map(str::to_owned).into_iter().collect();
    words.extend(SOURCES.into_iter().filter_map(|key| Some(format!("{key} {}", of(key)?))));
    if value.get("workspace").and_then(Value::as_bool) == Some(true) {
        words.push("workspace".to_owned());
    }
    words.join(" ")
}
