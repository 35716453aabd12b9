//! What every implementation of [`PolicyPins`] keeps.

use crate::PolicyPins;
use isobox_domain::content::ContentId;
use isobox_domain::policy::{ProjectPolicy, TrustedPolicies};
use libtest_mimic::{Failed, Trial};
use std::path::Path;

/// A place for pins, empty at first, and ways to spoil it.
pub trait PinsFixture {
    /// The pins under test.
    fn pins(&self) -> &dyn PolicyPins;

    /// The same pins, as a later process opens them.
    fn later(&self) -> Box<dyn PolicyPins + Send>;

    /// Damages what is kept for a project: cuts it off, or puts other bytes in its place.
    fn damage(&self, host_path: &Path, damage: Damage);

    /// Makes what is kept for a project such that others could have written it.
    fn open_up(&self, host_path: &Path);
}

/// What happens to the bytes that are kept.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Damage {
    /// The second half is missing.
    CutOff,
    /// There is nothing.
    Emptied,
    /// There is something else, and a lot of it.
    Overwritten,
}

type Case = fn(&dyn PinsFixture) -> Result<(), Failed>;

const CASES: &[(&str, Case)] = &[
    ("nothing_is_trusted_before_it_was_said", nothing_at_first),
    ("what_was_kept_is_loaded_by_later_processes", kept_is_loaded),
    ("of_several_changes_at_once_none_is_lost", none_is_lost),
    ("projects_are_apart", projects_are_apart),
    ("damage_means_that_nothing_is_trusted_until_it_is_said_again", damage_is_nothing),
    ("what_others_could_have_written_is_not_trusted", foreign_is_nothing),
    ("any_value_and_as_many_digests_as_there_may_be_are_kept", extremes_are_kept),
];

/// The suite, as tests of `name`. `make` gives each an empty place of its own.
pub fn cases<F: PinsFixture + 'static>(name: &str, make: fn() -> F) -> Vec<Trial> {
    let trial =
        |&(case, check): &(&str, Case)| Trial::test(format!("{name}::policy_pins::{case}"), move || check(&make()));
    CASES.iter().map(trial).collect()
}

fn ana() -> &'static Path {
    Path::new("/home/ana/app/.git")
}

fn trusted(number: u8) -> TrustedPolicies {
    TrustedPolicies::default().with(ContentId::new([number; 32]), &ProjectPolicy::default())
}

fn nothing_at_first(fixture: &dyn PinsFixture) -> Result<(), Failed> {
    assert_eq!(fixture.pins().load(ana()), TrustedPolicies::default());
    Ok(())
}

fn kept_is_loaded(fixture: &dyn PinsFixture) -> Result<(), Failed> {
    for number in [1, 2] {
        fixture.pins().keep(ana(), &trusted(number))?;
        assert_eq!(fixture.pins().load(ana()), trusted(number));
        assert_eq!(fixture.later().load(ana()), trusted(number));
    }
    Ok(())
}

fn none_is_lost(fixture: &dyn PinsFixture) -> Result<(), Failed> {
    std::thread::scope(|scope| {
        for number in 1..=8 {
            let pins = fixture.later();
            scope.spawn(move || {
                let policy = ProjectPolicy::default();
                let digest = ContentId::new([number; 32]);
                pins.change(ana(), &mut |trusted| trusted.with(digest, &policy)).map_err(drop)
            });
        }
    });
    assert_eq!(fixture.pins().load(ana()).digests().len(), 8);
    Ok(())
}

fn projects_are_apart(fixture: &dyn PinsFixture) -> Result<(), Failed> {
    fixture.pins().keep(ana(), &trusted(1))?;
    for other in ["/home/ana/app", "/home/ana/app/.git2", "/home/ana/APP/.git"] {
        assert_eq!(fixture.pins().load(Path::new(other)), TrustedPolicies::default(), "{other}");
        fixture.pins().keep(Path::new(other), &trusted(2))?;
    }
    assert_eq!(fixture.pins().load(ana()), trusted(1));
    Ok(())
}

fn damage_is_nothing(fixture: &dyn PinsFixture) -> Result<(), Failed> {
    for damage in [Damage::CutOff, Damage::Emptied, Damage::Overwritten] {
        fixture.pins().keep(ana(), &trusted(1))?;
        fixture.damage(ana(), damage);
        assert_eq!(fixture.pins().load(ana()), TrustedPolicies::default(), "{damage:?}");
        fixture.pins().keep(ana(), &trusted(2))?;
        assert_eq!(fixture.later().load(ana()), trusted(2), "{damage:?}");
    }
    Ok(())
}

fn foreign_is_nothing(fixture: &dyn PinsFixture) -> Result<(), Failed> {
    fixture.pins().keep(ana(), &trusted(1))?;
    fixture.open_up(ana());
    assert_eq!(fixture.pins().load(ana()), TrustedPolicies::default());
    Ok(())
}

fn extremes_are_kept(fixture: &dyn PinsFixture) -> Result<(), Failed> {
    let digests: Vec<ContentId> = (0..TrustedPolicies::MOST).map(|n| ContentId::new([n as u8; 32])).collect();
    let mut policy = ProjectPolicy::default();
    policy.sandbox.read = (0..2000).map(|n| format!("/opt/a tool, \n {n}").into_bytes()).collect();
    let full = TrustedPolicies::new(digests.clone(), Vec::new()).with(digests[3], &policy);
    fixture.pins().keep(ana(), &full)?;
    // What the policy says is for people, and may be left out where it is long; what is trusted is not.
    assert_eq!(fixture.later().load(ana()).digests(), full.digests());
    Ok(())
}
