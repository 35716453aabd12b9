//! What every implementation of [`Verifier`] keeps.

use super::sample::{draft, noise, record, rejected};
use super::store::{StoreFixture, staged};
use crate::{Role, Verifier};
use isobox_domain::content::{ContentId, ContentRef};
use isobox_domain::record::{TaskArtifacts, TaskRecord};
use isobox_domain::verification::{Affected, Thoroughness, Verdict, Verification};
use libtest_mimic::{Failed, Trial};

/// An empty Task Store, and what verifies it.
pub trait VerifierFixture: StoreFixture {
    /// The implementation under test.
    fn verifier(&self) -> &dyn Verifier;
}

type Case = fn(&dyn VerifierFixture) -> Result<(), Failed>;

const CASES: &[(&str, Case)] = &[
    ("a_sound_store_is_sound_however_thoroughly_it_is_read", sound_is_sound),
    ("damaged_content_is_found_with_the_records_that_refer_to_it", damage_names_its_records),
    ("a_damaged_record_is_found", damaged_record_is_found),
    ("a_damaged_record_is_named", damaged_record_is_named),
    ("one_defect_does_not_hide_the_next", every_defect_is_told),
    ("a_quick_verification_reads_no_content", quick_reads_nothing),
    ("one_record_is_verified_with_what_it_refers_to_and_nothing_else", one_record),
];

/// The suite, as tests of `name`. `fixture` is called once a case.
pub fn cases<F: VerifierFixture + 'static>(name: &str, fixture: fn() -> F) -> Vec<Trial> {
    let trial =
        |&(case, check): &(&str, Case)| Trial::test(format!("{name}::verifier::{case}"), move || check(&fixture()));
    CASES.iter().map(trial).collect()
}

/// Publishes the n-th record, with an output of its own and one that all share.
fn publish(fixture: &dyn VerifierFixture, n: u64) -> Result<(ContentId, ContentRef, ContentRef), Failed> {
    let attempt = fixture.attempts().begin(&draft(n))?;
    let own = staged(&*attempt, Role::Stdout, &noise(n, 2000))?;
    let shared = staged(&*attempt, Role::Stderr, b"what all of them say")?;
    let artifacts = TaskArtifacts { stdout: Some(own), stderr: Some(shared), ..TaskArtifacts::default() };
    let id = fixture.records().publish(attempt, &TaskRecord { artifacts, ..record(n) })?;
    Ok((id, own, shared))
}

fn verify(fixture: &dyn VerifierFixture, how: Thoroughness) -> Result<Verification, Failed> {
    Ok(fixture.verifier().verify(how, &|_| {})?)
}

fn named(found: &Verification) -> Vec<ContentId> {
    let mut named: Vec<_> = found.defects.iter().flat_map(|defect| &defect.records).map(|who| who.record).collect();
    named.sort();
    named.dedup();
    named
}

fn sound_is_sound(fixture: &dyn VerifierFixture) -> Result<(), Failed> {
    assert!(verify(fixture, Thoroughness::Deep)?.is_sound(), "nothing is wrong with nothing");
    let (id, ..) = publish(fixture, 1)?;
    publish(fixture, 2)?;
    fixture.records().append(&rejected(1, id, None))?;
    for how in [Thoroughness::Quick, Thoroughness::Full, Thoroughness::Deep] {
        let found = verify(fixture, how)?;
        assert_eq!((found.defects.as_slice(), found.records, found.events), (&[][..], 2, 1), "{how:?}");
        assert_eq!((found.integrity(), found.completeness()), (Verdict::Holds, Verdict::Unknown), "there is no log");
    }
    Ok(())
}

fn damage_names_its_records(fixture: &dyn VerifierFixture) -> Result<(), Failed> {
    let ((first, own, _), (second, _, shared)) = (publish(fixture, 1)?, publish(fixture, 2)?);
    fixture.damage(&own.id);
    assert_eq!(named(&verify(fixture, Thoroughness::Full)?), [first]);
    fixture.damage(&shared.id);
    let mut all = [first, second];
    all.sort();
    let found = verify(fixture, Thoroughness::Full)?;
    assert_eq!((named(&found).as_slice(), found.integrity()), (&all[..], Verdict::Broken));
    Ok(())
}

/// Publishes two records, damages the first, and verifies: which one that is, and what was found.
fn with_a_damaged_record(fixture: &dyn VerifierFixture) -> Result<(ContentId, Verification), Failed> {
    let (id, ..) = publish(fixture, 1)?;
    publish(fixture, 2)?;
    fixture.damage(&id);
    Ok((id, verify(fixture, Thoroughness::Full)?))
}

fn damaged_record_is_found(fixture: &dyn VerifierFixture) -> Result<(), Failed> {
    let (_, found) = with_a_damaged_record(fixture)?;
    assert!(!found.is_sound(), "{found:?}");
    Ok(())
}

fn damaged_record_is_named(fixture: &dyn VerifierFixture) -> Result<(), Failed> {
    let (id, found) = with_a_damaged_record(fixture)?;
    let expected = Affected { task: record(1).task, attempt: record(1).attempt, record: id };
    assert_eq!(found.defects.iter().flat_map(|defect| defect.records.clone()).collect::<Vec<_>>(), [expected]);
    Ok(())
}

fn every_defect_is_told(fixture: &dyn VerifierFixture) -> Result<(), Failed> {
    let (one, another) = (publish(fixture, 1)?, publish(fixture, 2)?);
    fixture.damage(&one.1.id);
    fixture.damage(&another.1.id);
    assert_eq!(verify(fixture, Thoroughness::Full)?.defects.len(), 2);
    Ok(())
}

fn quick_reads_nothing(fixture: &dyn VerifierFixture) -> Result<(), Failed> {
    let (_, own, _) = publish(fixture, 1)?;
    fixture.damage(&own.id);
    let found = verify(fixture, Thoroughness::Quick)?;
    assert_eq!((found.is_sound(), found.read), (true, 0));
    Ok(())
}

fn one_record(fixture: &dyn VerifierFixture) -> Result<(), Failed> {
    let ((first, own, _), (second, ..)) = (publish(fixture, 1)?, publish(fixture, 2)?);
    fixture.damage(&own.id);
    let found = fixture.verifier().verify_record(&first)?.ok_or("the record is not there")?;
    assert_eq!(named(&found), [first]);
    let found = fixture.verifier().verify_record(&second)?.ok_or("the record is not there")?;
    assert!(found.is_sound(), "{found:?}");
    assert_eq!(fixture.verifier().verify_record(&ContentId::new([7; 32]))?, None);
    Ok(())
}
