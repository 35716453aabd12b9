//! What every implementation of [`Installation`] keeps.

use crate::{Installation, UpdateError};
use isobox_domain::release::{Platform, ReleaseFile, Sha256, Version};
use isobox_domain::update_target::UpdateTarget;
use libtest_mimic::{Failed, Trial};
use std::cell::RefCell;

/// A program of version 1.0.0, alone in its directory.
pub trait InstallationFixture {
    /// The implementation under test.
    fn installation(&self) -> &dyn Installation;

    /// The program.
    fn target(&self) -> UpdateTarget;

    /// The bytes of `release`, with a program in it that says that it is `version`.
    fn packed(&self, release: &ReleaseFile, version: &Version) -> Vec<u8>;

    /// What lies in the directory, sorted.
    fn names(&self) -> Vec<String>;
}

type Case = fn(&dyn InstallationFixture) -> Result<(), Failed>;

const CASES: &[(&str, Case)] = &[
    ("a_program_says_what_it_is", says_what_it_is),
    ("a_release_takes_the_place_and_the_one_before_is_kept", takes_the_place),
    ("going_back_twice_is_going_forth", back_and_forth),
    ("without_one_before_there_is_nothing_to_go_back_to", nothing_kept),
    ("a_fetch_that_fails_leaves_everything_as_it_was", failed_fetch_changes_nothing),
    ("another_version_than_it_should_be_never_gets_there", other_version_is_refused),
    ("what_is_no_program_never_gets_there", no_program_is_refused),
    ("while_it_is_replaced_the_program_is_whole_and_nobody_else_replaces_it", one_at_a_time),
];

/// The suite, as tests of `name`. `fixture` is called once a case.
pub fn cases<F: InstallationFixture + 'static>(name: &str, fixture: fn() -> F) -> Vec<Trial> {
    let trial =
        |&(case, check): &(&str, Case)| Trial::test(format!("{name}::installation::{case}"), move || check(&fixture()));
    CASES.iter().map(trial).collect()
}

fn release(version: &Version) -> ReleaseFile {
    let (platform, sha256) = (Platform::X86_64, Sha256([0; 32]));
    ReleaseFile { version: version.clone(), platform, bytes: 1, sha256, name: "isobox.tar.gz".to_owned() }
}

fn old() -> Version {
    Version::new(1, 0, 0)
}

fn new() -> Version {
    Version::new(1, 1, 0)
}

fn installed(fixture: &dyn InstallationFixture) -> Result<Version, Failed> {
    Ok(fixture.installation().identify(&fixture.target())?.version)
}

/// Replaces the program by the release `new`, whose bytes are `content`.
fn replace(fixture: &dyn InstallationFixture, content: &[u8]) -> Result<String, UpdateError> {
    let fetch = |into: &mut dyn std::io::Write| {
        into.write_all(content).expect("there is room");
        Ok(())
    };
    fixture.installation().replace(&fixture.target(), &release(&new()), &fetch)
}

fn says_what_it_is(fixture: &dyn InstallationFixture) -> Result<(), Failed> {
    assert_eq!(installed(fixture)?, old());
    Ok(())
}

fn takes_the_place(fixture: &dyn InstallationFixture) -> Result<(), Failed> {
    let kept = replace(fixture, &fixture.packed(&release(&new()), &new()))?;
    assert_eq!(installed(fixture)?, new());
    let [program, before] = &fixture.names()[..] else { return Err("two programs are there".into()) };
    assert!(kept.ends_with(before.as_str()) && fixture.target().file.ends_with(program.as_bytes()), "{kept}");
    Ok(())
}

fn back_and_forth(fixture: &dyn InstallationFixture) -> Result<(), Failed> {
    replace(fixture, &fixture.packed(&release(&new()), &new()))?;
    for expected in [old(), new(), old()] {
        assert_eq!(fixture.installation().roll_back(&fixture.target())?, expected);
        assert_eq!(installed(fixture)?, expected);
    }
    assert_eq!(fixture.names().len(), 2);
    Ok(())
}

fn nothing_kept(fixture: &dyn InstallationFixture) -> Result<(), Failed> {
    let back = fixture.installation().roll_back(&fixture.target());
    assert!(matches!(back, Err(UpdateError::NothingKept { .. })), "{back:?}");
    unchanged(fixture)
}

fn unchanged(fixture: &dyn InstallationFixture) -> Result<(), Failed> {
    assert_eq!((installed(fixture)?, fixture.names().len()), (old(), 1));
    Ok(())
}

fn failed_fetch_changes_nothing(fixture: &dyn InstallationFixture) -> Result<(), Failed> {
    let content = fixture.packed(&release(&new()), &new());
    let fetch = |into: &mut dyn std::io::Write| {
        into.write_all(&content).expect("there is room");
        Err(UpdateError::Untrusted { what: "it".to_owned(), problem: "is another one".to_owned() })
    };
    let replaced = fixture.installation().replace(&fixture.target(), &release(&new()), &fetch);
    assert!(matches!(replaced, Err(UpdateError::Untrusted { .. })), "{replaced:?}");
    unchanged(fixture)
}

fn other_version_is_refused(fixture: &dyn InstallationFixture) -> Result<(), Failed> {
    let replaced = replace(fixture, &fixture.packed(&release(&new()), &Version::new(9, 9, 9)));
    assert!(matches!(replaced, Err(UpdateError::Unusable { .. })), "{replaced:?}");
    unchanged(fixture)
}

fn no_program_is_refused(fixture: &dyn InstallationFixture) -> Result<(), Failed> {
    let whole = fixture.packed(&release(&new()), &new());
    for content in [&b""[..], b"something else", &whole[..whole.len() / 2]] {
        assert!(replace(fixture, content).is_err());
        unchanged(fixture)?;
    }
    Ok(())
}

fn one_at_a_time(fixture: &dyn InstallationFixture) -> Result<(), Failed> {
    let content = fixture.packed(&release(&new()), &new());
    let seen = RefCell::new(None);
    let fetch = |into: &mut dyn std::io::Write| {
        let second = replace(fixture, &content);
        let version = installed(fixture).ok();
        seen.replace(Some((matches!(second, Err(UpdateError::Contended { .. })), version)));
        into.write_all(&content).expect("there is room");
        Ok(())
    };
    fixture.installation().replace(&fixture.target(), &release(&new()), &fetch)?;
    assert_eq!(seen.into_inner(), Some((true, Some(old()))));
    assert_eq!(installed(fixture)?, new());
    Ok(())
}
