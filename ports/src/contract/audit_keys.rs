//! What every implementation of [`AuditKeys`] keeps.

use crate::{AuditKeys, KeyKept};
use libtest_mimic::{Failed, Trial};

/// A place for keys, empty at first.
pub trait AuditKeysFixture {
    /// The keys under test.
    fn keys(&self) -> &dyn AuditKeys;

    /// The same keys, as a later process opens them.
    fn later(&self) -> Box<dyn AuditKeys>;
}

type Case = fn(&dyn AuditKeysFixture) -> Result<(), Failed>;

const CASES: &[(&str, Case)] = &[
    ("a_key_that_was_kept_is_never_replaced", kept_once),
    ("keys_and_checkpoints_of_different_logs_are_told_apart", told_apart),
    ("the_newest_checkpoint_is_the_one_that_was_kept_last", newest_is_last),
    ("what_was_kept_is_there_for_later_processes", kept_for_later),
    ("no_two_seeds_are_alike", seeds_differ),
];

/// The suite, as tests of `name`. `fixture` is called once a case.
pub fn cases<F: AuditKeysFixture + 'static>(name: &str, fixture: fn() -> F) -> Vec<Trial> {
    let trial =
        |&(case, check): &(&str, Case)| Trial::test(format!("{name}::audit_keys::{case}"), move || check(&fixture()));
    CASES.iter().map(trial).collect()
}

fn kept_once(fixture: &dyn AuditKeysFixture) -> Result<(), Failed> {
    let keys = fixture.keys();
    assert_eq!(keys.load("01")?, None);
    assert_eq!((keys.keep("01", "one")?, keys.keep("01", "another")?), (KeyKept::Now, KeyKept::Before));
    assert_eq!(keys.load("01")?.as_deref(), Some("one"));
    Ok(())
}

fn told_apart(fixture: &dyn AuditKeysFixture) -> Result<(), Failed> {
    let keys = fixture.keys();
    keys.keep("02", "two")?;
    keys.keep("01", "one")?;
    keys.keep_newest("01", b"note")?;
    assert_eq!((keys.load("02")?.as_deref(), keys.newest("02")?), (Some("two"), None));
    assert_eq!(keys.logs()?, ["01", "02"]);
    Ok(())
}

fn newest_is_last(fixture: &dyn AuditKeysFixture) -> Result<(), Failed> {
    let keys = fixture.keys();
    for note in [&b"a longer note"[..], b"note"] {
        keys.keep_newest("01", note)?;
        assert_eq!(keys.newest("01")?.as_deref(), Some(note));
    }
    Ok(())
}

fn kept_for_later(fixture: &dyn AuditKeysFixture) -> Result<(), Failed> {
    fixture.keys().keep("01", "one")?;
    fixture.keys().keep_newest("01", b"note")?;
    let later = fixture.later();
    assert_eq!((later.load("01")?.as_deref(), later.newest("01")?.as_deref()), (Some("one"), Some(&b"note"[..])));
    Ok(())
}

fn seeds_differ(fixture: &dyn AuditKeysFixture) -> Result<(), Failed> {
    assert_ne!(fixture.keys().seed(), fixture.keys().seed());
    Ok(())
}
