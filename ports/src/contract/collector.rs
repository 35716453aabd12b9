//! What every implementation of [`Collector`] keeps.

use super::sample::{draft, noise, promoted, pruned, record};
use super::store::{StoreFixture, read, staged};
use crate::{Collector, Role};
use isobox_domain::content::{ContentId, ContentRef};
use isobox_domain::record::{TaskArtifacts, TaskRecord};
use libtest_mimic::{Failed, Trial};

/// An empty Task Store, and what collects in it.
pub trait CollectorFixture: StoreFixture {
    /// The implementation under test.
    fn collector(&self) -> &dyn Collector;
}

type Case = fn(&dyn CollectorFixture) -> Result<(), Failed>;

const CASES: &[(&str, Case)] = &[
    ("what_only_a_pruned_record_refers_to_goes", only_its_own_goes),
    ("a_pruned_record_is_not_listed_and_its_events_tell_why", events_tell),
    ("what_a_later_record_refers_to_stays", later_record),
    ("a_large_artifact_goes_with_the_last_record_that_refers_to_it", large_artifact),
    ("where_nothing_was_pruned_nothing_goes", nothing),
];

/// The suite, as tests of `name`. `fixture` is called once a case.
pub fn cases<F: CollectorFixture + 'static>(name: &str, fixture: fn() -> F) -> Vec<Trial> {
    let trial =
        |&(case, check): &(&str, Case)| Trial::test(format!("{name}::collector::{case}"), move || check(&fixture()));
    CASES.iter().map(trial).collect()
}

/// Publishes the n-th record with these outputs.
fn publish(
    fixture: &dyn CollectorFixture,
    n: u64,
    stdout: &[u8],
    stderr: &[u8],
) -> Result<(ContentId, ContentRef, ContentRef), Failed> {
    let attempt = fixture.attempts().begin(&draft(n))?;
    let (out, err) = (staged(&*attempt, Role::Stdout, stdout)?, staged(&*attempt, Role::Stderr, stderr)?);
    let artifacts = TaskArtifacts { stdout: Some(out), stderr: Some(err), ..TaskArtifacts::default() };
    Ok((fixture.records().publish(attempt, &TaskRecord { artifacts, ..record(n) })?, out, err))
}

fn prune(fixture: &dyn CollectorFixture, n: u64, id: ContentId) -> Result<(), Failed> {
    let newest = fixture.records().events(&id)?.last().map(|stored| stored.id);
    fixture.records().append(&pruned(n, id, newest))?;
    Ok(())
}

fn only_its_own_goes(fixture: &dyn CollectorFixture) -> Result<(), Failed> {
    let (first, own, shared) = publish(fixture, 1, &noise(1, 3000), b"of both")?;
    let (second, other, _) = publish(fixture, 2, &noise(2, 3000), b"of both")?;
    prune(fixture, 1, first)?;
    let swept = fixture.collector().sweep(&|_| {})?;
    assert_eq!((swept.records, swept.objects, swept.passed_by.as_slice()), (1, 2, &[][..]));
    assert_eq!((fixture.records().load(&first)?, read(fixture, &own)?), (None, None));
    assert!(fixture.records().load(&second)?.is_some());
    assert_eq!((read(fixture, &shared)?, read(fixture, &other)?), (Some(b"of both".to_vec()), Some(noise(2, 3000))));
    assert_eq!(fixture.collector().sweep(&|_| {})?.objects, 0);
    Ok(())
}

fn events_tell(fixture: &dyn CollectorFixture) -> Result<(), Failed> {
    let (id, ..) = publish(fixture, 1, b"out", b"err")?;
    let (kept, ..) = publish(fixture, 2, b"out", b"err")?;
    fixture.records().append(&promoted(1, id, None))?;
    prune(fixture, 1, id)?;
    let listed = || fixture.records().list()?.map(|entry| Ok(entry?.record)).collect::<Result<Vec<_>, Failed>>();
    assert_eq!(listed()?, [kept]);
    let events = fixture.records().events(&id)?;
    fixture.collector().sweep(&|_| {})?;
    assert_eq!((listed()?.as_slice(), fixture.records().events(&id)?.len()), (&[kept][..], events.len()));
    Ok(())
}

fn later_record(fixture: &dyn CollectorFixture) -> Result<(), Failed> {
    let (first, ..) = publish(fixture, 1, &noise(1, 3000), b"")?;
    prune(fixture, 1, first)?;
    let (second, stdout, _) = publish(fixture, 2, &noise(1, 3000), b"")?;
    fixture.collector().sweep(&|_| {})?;
    assert!(fixture.records().load(&second)?.is_some());
    assert_eq!(read(fixture, &stdout)?, Some(noise(1, 3000)));
    Ok(())
}

fn large_artifact(fixture: &dyn CollectorFixture) -> Result<(), Failed> {
    let large = noise(1, 1 << 20);
    let (first, stdout, _) = publish(fixture, 1, &large, b"")?;
    let (second, ..) = publish(fixture, 2, &large, b"")?;
    prune(fixture, 1, first)?;
    fixture.collector().sweep(&|_| {})?;
    assert!(read(fixture, &stdout)? == Some(large.clone()));
    prune(fixture, 2, second)?;
    fixture.collector().sweep(&|_| {})?;
    assert!(fixture.objects().open(&stdout.id).map_or(true, |content| content.is_none()));
    publish(fixture, 3, &large, b"")?;
    assert!(read(fixture, &stdout)? == Some(large));
    Ok(())
}

fn nothing(fixture: &dyn CollectorFixture) -> Result<(), Failed> {
    let (_, stdout, _) = publish(fixture, 1, b"out", b"err")?;
    assert_eq!(fixture.collector().sweep(&|_| {})?.objects, 0);
    assert_eq!(read(fixture, &stdout)?, Some(b"out".to_vec()));
    Ok(())
}
