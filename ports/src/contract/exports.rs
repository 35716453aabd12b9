//! What every implementation of [`Exports`] keeps.

use crate::{ExportError, Exports};
use isobox_domain::repo_path::RepoPath;
use libtest_mimic::{Failed, Trial};
use std::collections::BTreeMap;

/// An empty place to export to.
pub trait ExportsFixture {
    /// The implementation under test.
    fn exports(&self) -> &dyn Exports;

    /// Puts an empty directory called `name` there.
    fn put_directory(&self, name: &str);

    /// Puts a link called `name` there that leads nowhere.
    fn put_link(&self, name: &str);

    /// The names of everything that is there.
    fn names(&self) -> Vec<String>;

    /// What an exported directory has, by paths below it, itself as the empty path: permission bits, and content of files.
    fn exported(&self, name: &str) -> BTreeMap<String, (u32, Option<Vec<u8>>)>;
}

type Case = fn(&dyn ExportsFixture) -> Result<(), Failed>;

const CASES: &[(&str, Case)] = &[
    ("a_directory_is_there_whole_or_not_at_all", whole_or_not_at_all),
    ("only_their_owner_can_read_what_was_exported", modes_are_private),
    ("what_is_there_is_not_replaced", nothing_is_replaced),
];

/// The suite, as tests of `name`. `fixture` is called once a case.
pub fn cases<F: ExportsFixture + 'static>(name: &str, fixture: fn() -> F) -> Vec<Trial> {
    let trial =
        |&(case, check): &(&str, Case)| Trial::test(format!("{name}::exports::{case}"), move || check(&fixture()));
    CASES.iter().map(trial).collect()
}

fn export(fixture: &dyn ExportsFixture, name: &str) -> Result<(), Failed> {
    let mut export = fixture.exports().begin(name)?;
    export.write(&RepoPath::parse("record.json")?, &mut &b"{}"[..])?;
    export.write(&RepoPath::parse("artifacts/stdout.txt")?, &mut &b"out"[..])?;
    assert!(!fixture.names().contains(&name.to_owned()), "it is seen before it is whole");
    Ok(export.finish()?)
}

fn whole_or_not_at_all(fixture: &dyn ExportsFixture) -> Result<(), Failed> {
    export(fixture, "one")?;
    let found = fixture.exported("one");
    let contents: Vec<_> =
        found.iter().filter_map(|(path, (_, content))| Some((path.as_str(), content.as_deref()?))).collect();
    assert_eq!(contents, [("artifacts/stdout.txt", &b"out"[..]), ("record.json", b"{}")]);
    let mut dropped = fixture.exports().begin("two")?;
    dropped.write(&RepoPath::parse("record.json")?, &mut &b"{}"[..])?;
    drop(dropped);
    assert_eq!(fixture.names(), ["one"], "something is left of what was not finished");
    Ok(())
}

fn modes_are_private(fixture: &dyn ExportsFixture) -> Result<(), Failed> {
    export(fixture, "one")?;
    for (path, (mode, content)) in fixture.exported("one") {
        assert_eq!(mode, if content.is_some() { 0o600 } else { 0o700 }, "{path}");
    }
    Ok(())
}

fn nothing_is_replaced(fixture: &dyn ExportsFixture) -> Result<(), Failed> {
    fixture.put_link("link");
    assert!(matches!(fixture.exports().begin("link"), Err(ExportError::Exists { .. })));
    let late = fixture.exports().begin("late")?;
    fixture.put_directory("late");
    assert!(matches!(late.finish(), Err(ExportError::Exists { .. })));
    let mut names = fixture.names();
    names.sort();
    assert_eq!(names, ["late", "link"]);
    Ok(())
}
