//! What every implementation of [`PrivateCopies`] keeps.

use crate::fake::RecordingSink;
use crate::{Access, Exposed, Place, PrivateCopies, Shown};
use libtest_mimic::{Failed, Trial};
use std::path::{Path, PathBuf};

/// A host with something to copy, for one case.
pub trait PrivateCopiesFixture {
    /// The implementation under test.
    fn copies(&self) -> &dyn PrivateCopies;

    /// What a later process would use.
    fn later(&self) -> Box<dyn PrivateCopies>;

    /// Something of the host that can be shown.
    fn something(&self) -> PathBuf;

    /// Everything about that, as comparable text.
    fn state(&self) -> Vec<String>;

    /// How much there is of copies.
    fn remains(&self) -> usize;
}

type Case = fn(&dyn PrivateCopiesFixture) -> Result<(), Failed>;

const CASES: &[(&str, Case)] = &[
    ("nothing_is_made_before_it_is_asked_for", nothing_is_made_before),
    ("each_attempt_has_a_place_of_its_own", each_has_its_own),
    ("what_may_be_changed_is_shown_as_a_copy_at_the_same_place", a_copy_is_shown),
    ("what_may_only_be_read_is_shown_itself", what_is_read_is_itself),
    ("of_a_copy_that_nobody_changed_nothing_is_captured", unchanged_is_no_change),
    ("what_was_copied_is_as_it_was", the_source_is_untouched),
    ("a_later_process_captures_and_disposes", a_later_process_goes_on),
    ("disposing_leaves_nothing_and_may_be_done_twice", disposing_twice_is_fine),
];

/// The suite, as tests of `name`. `fixture` is called once a case.
pub fn cases<F: PrivateCopiesFixture + 'static>(name: &str, fixture: fn() -> F) -> Vec<Trial> {
    let trial = |&(case, check): &(&str, Case)| {
        Trial::test(format!("{name}::private_copies::{case}"), move || check(&fixture()))
    };
    CASES.iter().map(trial).collect()
}

fn shown(source: &Path, access: Access) -> Exposed {
    let shown = Shown { source: source.to_owned(), places: vec![Place::At("/inside".into())], access };
    Exposed { shown: vec![shown], ..Exposed::default() }
}

/// The state of copies that were made of the fixture's something, and what is shown then.
fn made(fixture: &dyn PrivateCopiesFixture, access: Access) -> Result<(Vec<u8>, Exposed), Failed> {
    let state = fixture.copies().reserve()?;
    let mut exposed = shown(&fixture.something(), access);
    fixture.copies().make(&state, &mut exposed)?;
    Ok((state, exposed))
}

fn nothing_is_made_before(fixture: &dyn PrivateCopiesFixture) -> Result<(), Failed> {
    let state = fixture.copies().reserve()?;
    assert_eq!(fixture.remains(), 0);
    fixture.copies().dispose(&state)?;
    assert_eq!(fixture.remains(), 0);
    Ok(())
}

fn each_has_its_own(fixture: &dyn PrivateCopiesFixture) -> Result<(), Failed> {
    let ((one, first), (other, second)) = (made(fixture, Access::ReadWrite)?, made(fixture, Access::ReadWrite)?);
    assert_ne!((&one, &first.shown[0].source), (&other, &second.shown[0].source));
    let both = fixture.remains();
    fixture.copies().dispose(&one)?;
    assert!(0 < fixture.remains() && fixture.remains() < both);
    fixture.copies().dispose(&other)?;
    assert_eq!(fixture.remains(), 0);
    Ok(())
}

fn a_copy_is_shown(fixture: &dyn PrivateCopiesFixture) -> Result<(), Failed> {
    for access in [Access::ReadWrite, Access::Captured] {
        let (state, exposed) = made(fixture, access)?;
        let [Shown { source, places, access: shown }] = exposed.shown.as_slice() else { panic!("{exposed:?}") };
        assert_ne!(*source, fixture.something());
        assert_eq!((places.as_slice(), *shown), (&[Place::At("/inside".into())][..], access));
        assert!(!fixture.copies().shown(&state).is_empty());
    }
    Ok(())
}

fn what_is_read_is_itself(fixture: &dyn PrivateCopiesFixture) -> Result<(), Failed> {
    let (_, exposed) = made(fixture, Access::ReadOnly)?;
    assert_eq!(exposed, shown(&fixture.something(), Access::ReadOnly));
    Ok(())
}

fn unchanged_is_no_change(fixture: &dyn PrivateCopiesFixture) -> Result<(), Failed> {
    for access in [Access::ReadOnly, Access::ReadWrite, Access::Captured] {
        let (state, _) = made(fixture, access)?;
        let mut sink = RecordingSink::default();
        fixture.copies().capture(&state, &mut sink)?;
        assert_eq!(sink.lines, []);
    }
    Ok(())
}

fn the_source_is_untouched(fixture: &dyn PrivateCopiesFixture) -> Result<(), Failed> {
    let before = fixture.state();
    let (state, _) = made(fixture, Access::Captured)?;
    fixture.copies().capture(&state, &mut RecordingSink::default())?;
    fixture.copies().dispose(&state)?;
    assert_eq!(fixture.state(), before);
    Ok(())
}

fn a_later_process_goes_on(fixture: &dyn PrivateCopiesFixture) -> Result<(), Failed> {
    let (state, _) = made(fixture, Access::Captured)?;
    let later = fixture.later();
    assert_eq!(later.shown(&state), fixture.copies().shown(&state));
    later.capture(&state, &mut RecordingSink::default())?;
    later.dispose(&state)?;
    assert_eq!(fixture.remains(), 0);
    Ok(())
}

fn disposing_twice_is_fine(fixture: &dyn PrivateCopiesFixture) -> Result<(), Failed> {
    let (state, _) = made(fixture, Access::Captured)?;
    for _ in 0..2 {
        fixture.copies().dispose(&state)?;
        assert_eq!(fixture.remains(), 0);
    }
    Ok(())
}
