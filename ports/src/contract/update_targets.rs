//! What every implementation of [`UpdateTargets`] keeps.

use crate::UpdateTargets;
use libtest_mimic::{Failed, Trial};

/// A machine without an `isobox` on PATH.
pub trait UpdateTargetsFixture {
    /// The implementation under test.
    fn targets(&self) -> &dyn UpdateTargets;

    /// Puts a program called `isobox` behind all others on PATH; its host path. Started, it would change the machine.
    fn put(&self) -> Vec<u8>;

    /// Puts a link there that leads to a program; its own host path.
    fn put_link(&self, to: &[u8]) -> Vec<u8>;

    /// Everything that lies on the machine.
    fn state(&self) -> Vec<String>;
}

type Case = fn(&dyn UpdateTargetsFixture) -> Result<(), Failed>;

const CASES: &[(&str, Case)] = &[
    ("without_one_on_path_there_is_none", none_without_one),
    ("the_first_one_is_found_and_the_others_are_told", first_is_found),
    ("a_link_is_resolved", link_is_resolved),
    ("looking_changes_and_starts_nothing", nothing_is_changed),
];

/// The suite, as tests of `name`. `fixture` is called once a case.
pub fn cases<F: UpdateTargetsFixture + 'static>(name: &str, fixture: fn() -> F) -> Vec<Trial> {
    let trial = |&(case, check): &(&str, Case)| {
        Trial::test(format!("{name}::update_targets::{case}"), move || check(&fixture()))
    };
    CASES.iter().map(trial).collect()
}

fn none_without_one(fixture: &dyn UpdateTargetsFixture) -> Result<(), Failed> {
    assert_eq!(fixture.targets().find()?, None);
    Ok(())
}

fn first_is_found(fixture: &dyn UpdateTargetsFixture) -> Result<(), Failed> {
    let (first, second) = (fixture.put(), fixture.put());
    let found = fixture.targets().find()?.ok_or("it is on PATH")?;
    assert_eq!((&found.on_path, &found.file), (&first, &first));
    let others: Vec<_> = found.others.into_iter().map(|other| other.host_path.into_bytes()).collect();
    assert_eq!(others, [second]);
    Ok(())
}

fn link_is_resolved(fixture: &dyn UpdateTargetsFixture) -> Result<(), Failed> {
    let outside = b"outside".to_vec();
    let link = fixture.put_link(&outside);
    let found = fixture.targets().find()?.ok_or("it is on PATH")?;
    assert_eq!(found.on_path, link);
    assert!(found.file.ends_with(&outside), "{found:?}");
    Ok(())
}

fn nothing_is_changed(fixture: &dyn UpdateTargetsFixture) -> Result<(), Failed> {
    fixture.put();
    fixture.put_link(b"outside");
    let before = fixture.state();
    fixture.targets().find()?;
    assert_eq!(fixture.state(), before);
    Ok(())
}
