//! What every implementation of [`ExportFiles`] keeps.

use crate::{ExportError, ExportFiles, Replacing};
use libtest_mimic::{Failed, Trial};
use std::io::Write;

/// What lies where a file is exported to.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Found {
    /// Nothing.
    Nothing,
    /// A file with this content and these permission bits.
    File(Vec<u8>, u32),
    /// A link to a file with this content.
    Link(Vec<u8>),
    /// A directory.
    Directory,
}

/// A place for one file, in a directory of its own.
pub trait ExportFilesFixture {
    /// The implementation under test.
    fn place(&self) -> &dyn ExportFiles;

    /// Puts something there, in place of nothing.
    fn put(&self, what: &Found);

    /// What is there.
    fn found(&self) -> Found;

    /// How many names there are in the directory.
    fn names(&self) -> usize;
}

type Case = fn(&dyn ExportFilesFixture) -> Result<(), Failed>;

const CASES: &[(&str, Case)] = &[
    ("a_file_is_there_whole_and_private_or_not_at_all", whole_or_not_at_all),
    ("what_is_there_stays_unless_a_file_is_to_be_replaced", what_is_there_stays),
    ("what_came_meanwhile_stays", what_came_meanwhile_stays),
    ("a_directory_makes_way_for_nothing", a_directory_stays),
];

/// The suite, as tests of `name`. `fixture` is called once a place.
pub fn cases<F: ExportFilesFixture + 'static>(name: &str, fixture: fn() -> F) -> Vec<Trial> {
    let trial =
        |&(case, check): &(&str, Case)| Trial::test(format!("{name}::export_files::{case}"), move || check(&fixture()));
    let mut trials: Vec<Trial> = CASES.iter().map(trial).collect();
    for (what, found) in there() {
        let case = format!("{name}::export_files::{what}_is_kept_until_it_is_to_be_replaced");
        trials.push(Trial::test(case, move || kept(&fixture(), &found)));
    }
    trials
}

fn there() -> [(&'static str, Found); 3] {
    let content = b"mine".to_vec();
    [
        ("a_file", Found::File(content.clone(), 0o644)),
        ("a_link", Found::Link(content)),
        ("a_directory", Found::Directory),
    ]
}

fn export(fixture: &dyn ExportFilesFixture, replacing: Replacing) -> Result<(), ExportError> {
    let mut file = fixture.place().begin(replacing)?;
    file.write_all(b"exported").expect("write");
    file.finish()
}

fn exported() -> Found {
    Found::File(b"exported".to_vec(), 0o600)
}

fn whole_or_not_at_all(fixture: &dyn ExportFilesFixture) -> Result<(), Failed> {
    let mut dropped = fixture.place().begin(Replacing::Nothing)?;
    dropped.write_all(b"half")?;
    assert_eq!(fixture.found(), Found::Nothing);
    drop(dropped);
    assert_eq!(fixture.names(), 0, "something is left of what was not finished");
    export(fixture, Replacing::Nothing)?;
    assert_eq!((fixture.found(), fixture.names()), (exported(), 1));
    Ok(())
}

fn kept(fixture: &dyn ExportFilesFixture, what: &Found) -> Result<(), Failed> {
    fixture.put(what);
    assert!(matches!(export(fixture, Replacing::Nothing), Err(ExportError::Exists { .. })));
    assert_eq!(&fixture.found(), what);
    if *what != Found::Directory {
        export(fixture, Replacing::File)?;
        assert_eq!(fixture.found(), exported());
    }
    Ok(())
}

fn what_is_there_stays(fixture: &dyn ExportFilesFixture) -> Result<(), Failed> {
    export(fixture, Replacing::Nothing)?;
    assert!(matches!(export(fixture, Replacing::Nothing), Err(ExportError::Exists { .. })));
    export(fixture, Replacing::File)?;
    assert_eq!((fixture.found(), fixture.names()), (exported(), 1));
    Ok(())
}

fn what_came_meanwhile_stays(fixture: &dyn ExportFilesFixture) -> Result<(), Failed> {
    let begun = fixture.place().begin(Replacing::Nothing)?;
    let mine = Found::File(b"mine".to_vec(), 0o644);
    fixture.put(&mine);
    assert!(matches!(begun.finish(), Err(ExportError::Exists { .. })));
    assert_eq!((fixture.found(), fixture.names()), (mine, 1));
    Ok(())
}

fn a_directory_stays(fixture: &dyn ExportFilesFixture) -> Result<(), Failed> {
    fixture.put(&Found::Directory);
    assert!(export(fixture, Replacing::File).is_err());
    assert_eq!(fixture.found(), Found::Directory);
    Ok(())
}
