//! What every implementation of [`Measurer`] keeps.

use super::sample::{draft, noise, pruned, record, rejected};
use super::store::{StoreFixture, staged};
use crate::{Measurer, Role};
use isobox_domain::content::ContentId;
use isobox_domain::measurement::{ContentKind, Measurement, Unreferenced};
use isobox_domain::record::{TaskArtifacts, TaskRecord};
use libtest_mimic::{Failed, Trial};
use std::sync::Mutex;

/// An empty Task Store, and what measures it.
pub trait MeasurerFixture: StoreFixture {
    /// The implementation under test.
    fn measurer(&self) -> &dyn Measurer;
}

type Case = fn(&dyn MeasurerFixture) -> Result<(), Failed>;

const CASES: &[(&str, Case)] = &[
    ("an_empty_store_holds_nothing", empty_holds_nothing),
    ("records_events_and_outputs_are_counted_with_their_lengths", kinds_are_counted),
    ("what_two_records_refer_to_is_stored_once_and_referred_to_twice", sharing_is_counted),
    ("large_content_is_told_apart", large_is_told_apart),
    ("a_pruned_record_is_told_apart_with_what_only_it_refers_to", pruned_is_told_apart),
    ("it_says_how_far_it_has_come_until_it_is_done", advance_is_told),
];

/// The suite, as tests of `name`. `fixture` is called once a case.
pub fn cases<F: MeasurerFixture + 'static>(name: &str, fixture: fn() -> F) -> Vec<Trial> {
    let trial =
        |&(case, check): &(&str, Case)| Trial::test(format!("{name}::measurer::{case}"), move || check(&fixture()));
    CASES.iter().map(trial).collect()
}

/// What all records of a case print to their standard error.
const SHARED: &[u8] = b"what all of them say";

/// Publishes the n-th record, with an output that no other has where `own` says of which length, and one that all share.
fn publish(fixture: &dyn MeasurerFixture, n: u64, own: usize) -> Result<ContentId, Failed> {
    let attempt = fixture.attempts().begin(&draft(n))?;
    let stdout = (own > 0).then(|| staged(&*attempt, Role::Stdout, &noise(n, own))).transpose()?;
    let stderr = Some(staged(&*attempt, Role::Stderr, SHARED)?);
    let artifacts = TaskArtifacts { stdout, stderr, ..TaskArtifacts::default() };
    Ok(fixture.records().publish(attempt, &TaskRecord { artifacts, ..record(n) })?)
}

fn measure(fixture: &dyn MeasurerFixture) -> Result<Measurement, Failed> {
    Ok(fixture.measurer().measure(&|_| {})?)
}

fn empty_holds_nothing(fixture: &dyn MeasurerFixture) -> Result<(), Failed> {
    let found = measure(fixture)?;
    assert_eq!((found.total().count, found.referred.count, found.unreferenced.bytes()), (0, 0, 0));
    assert_eq!((found.dedup_ratio(), found.compression_ratio()), (None, None));
    Ok(())
}

fn kinds_are_counted(fixture: &dyn MeasurerFixture) -> Result<(), Failed> {
    let id = publish(fixture, 1, 2000)?;
    publish(fixture, 2, 3000)?;
    fixture.records().append(&rejected(1, id, None))?;
    let found = measure(fixture)?;
    let counts = [ContentKind::Record, ContentKind::Event, ContentKind::Output, ContentKind::File];
    assert_eq!(counts.map(|kind| found.of(kind).count), [2, 1, 3, 0]);
    assert_eq!(found.of(ContentKind::Output).raw_bytes, 5000 + SHARED.len() as u64);
    let Unreferenced { abandoned, large, damaged_bytes, .. } = found.unreferenced;
    assert_eq!((abandoned.count, large.count, damaged_bytes), (0, 0, 0));
    Ok(())
}

fn sharing_is_counted(fixture: &dyn MeasurerFixture) -> Result<(), Failed> {
    publish(fixture, 1, 0)?;
    let once = measure(fixture)?;
    publish(fixture, 2, 0)?;
    let twice = measure(fixture)?;
    assert_eq!(twice.of(ContentKind::Output), once.of(ContentKind::Output));
    assert_eq!((twice.referred.count, twice.referred.bytes), (2 * once.referred.count, 2 * once.referred.bytes));
    assert_eq!((once.dedup_ratio(), twice.dedup_ratio()), (Some(1.0), Some(2.0)));
    Ok(())
}

fn large_is_told_apart(fixture: &dyn MeasurerFixture) -> Result<(), Failed> {
    publish(fixture, 1, 1 << 20)?;
    let found = measure(fixture)?;
    assert_eq!((found.of(ContentKind::Large).count, found.of(ContentKind::Large).raw_bytes), (1, 1 << 20));
    assert_eq!(found.of(ContentKind::Output).raw_bytes, SHARED.len() as u64);
    Ok(())
}

fn pruned_is_told_apart(fixture: &dyn MeasurerFixture) -> Result<(), Failed> {
    publish(fixture, 2, 3000)?;
    let alone = measure(fixture)?;
    let id = publish(fixture, 1, 2000)?;
    fixture.records().append(&pruned(1, id, None))?;
    let found = measure(fixture)?;
    let kinds = [ContentKind::Record, ContentKind::Output];
    assert_eq!(kinds.map(|kind| found.of(kind)), kinds.map(|kind| alone.of(kind)));
    assert_eq!((found.pruned_records, found.referred), (1, alone.referred));
    assert_eq!(found.unreferenced.pruned.count, 2, "the record and its own output");
    assert!(found.unreferenced.pruned.raw_bytes > 2000);
    Ok(())
}

fn advance_is_told(fixture: &dyn MeasurerFixture) -> Result<(), Failed> {
    publish(fixture, 1, 2000)?;
    let told = Mutex::new(None);
    fixture.measurer().measure(&|advance| {
        if let Ok(mut told) = told.lock() {
            *told = Some(advance);
        }
    })?;
    let last = told.into_inner().map_err(|_| "it panicked")?.ok_or("nothing was told")?;
    assert_eq!(last.done_bytes, last.all_bytes);
    Ok(())
}
