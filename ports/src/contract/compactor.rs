//! What every implementation of [`Compactor`] keeps.

use super::sample::{draft, noise, promoted, record, rejected};
use super::store::{StoreFixture, read, staged};
use crate::{Compactor, Role};
use isobox_domain::compaction::Scope;
use isobox_domain::content::{ContentId, ContentRef};
use isobox_domain::record::{RecordEntry, TaskArtifacts, TaskRecord};
use libtest_mimic::{Failed, Trial};

/// An empty Task Store, and what compacts it.
pub trait CompactorFixture: StoreFixture {
    /// The implementation under test.
    fn compactor(&self) -> &dyn Compactor;
}

type Case = fn(&dyn CompactorFixture) -> Result<(), Failed>;

const CASES: &[(&str, Case)] = &[
    ("everything_reads_as_before", everything_reads_as_before),
    ("events_are_in_their_order_and_the_next_one_follows_them", events_follow),
    ("what_is_published_afterwards_is_read_beside_it", goes_on),
    ("compacting_once_more_changes_nothing", once_more),
    ("nothing_is_compacted_where_there_is_nothing", nothing),
];

/// The suite, as tests of `name`. `fixture` is called once a case.
pub fn cases<F: CompactorFixture + 'static>(name: &str, fixture: fn() -> F) -> Vec<Trial> {
    let trial =
        |&(case, check): &(&str, Case)| Trial::test(format!("{name}::compactor::{case}"), move || check(&fixture()));
    CASES.iter().map(trial).collect()
}

/// Outputs of all sizes: none, a short one that all records share, a longer one, and a large artifact.
fn publish(fixture: &dyn CompactorFixture, n: u64) -> Result<(ContentId, Vec<ContentRef>), Failed> {
    let attempt = fixture.attempts().begin(&draft(n))?;
    let length = if n.is_multiple_of(7) { 1 << 20 } else { 3000 };
    let stdout = staged(&*attempt, Role::Stdout, &noise(n, length))?;
    let stderr = staged(&*attempt, Role::Stderr, b"what all of them say")?;
    let artifacts = TaskArtifacts { stdout: Some(stdout), stderr: Some(stderr), ..TaskArtifacts::default() };
    let id = fixture.records().publish(attempt, &TaskRecord { artifacts, ..record(n) })?;
    Ok((id, vec![stdout, stderr]))
}

fn compact(fixture: &dyn CompactorFixture) -> Result<(), Failed> {
    let done = fixture.compactor().compact(Scope::All, &|_| {})?;
    assert_eq!(done.passed_by, []);
    Ok(())
}

fn list(fixture: &dyn CompactorFixture) -> Result<Vec<RecordEntry>, Failed> {
    Ok(fixture.records().list()?.collect::<Result<_, _>>()?)
}

fn everything_reads_as_before(fixture: &dyn CompactorFixture) -> Result<(), Failed> {
    let mut all = Vec::new();
    for n in 0..30 {
        let (id, artifacts) = publish(fixture, n)?;
        let contents = artifacts.iter().map(|content| read(fixture, content)).collect::<Result<Vec<_>, _>>()?;
        all.push((id, fixture.records().load(&id)?, artifacts, contents));
    }
    let listed = list(fixture)?;
    compact(fixture)?;
    assert_eq!(list(fixture)?, listed);
    for (id, loaded, artifacts, contents) in all {
        assert!(loaded.is_some());
        assert_eq!(fixture.records().load(&id)?, loaded);
        for (content, before) in artifacts.iter().zip(contents) {
            assert!(before.is_some() && read(fixture, content)? == before);
        }
    }
    Ok(())
}

fn events_follow(fixture: &dyn CompactorFixture) -> Result<(), Failed> {
    let (id, _) = publish(fixture, 1)?;
    let first = fixture.records().append(&rejected(1, id, None))?;
    let second = fixture.records().append(&promoted(1, id, Some(first)))?;
    compact(fixture)?;
    let third = fixture.records().append(&rejected(1, id, Some(second)))?;
    let events: Vec<_> = fixture.records().events(&id)?.into_iter().map(|stored| stored.id).collect();
    assert_eq!(events, [first, second, third]);
    compact(fixture)?;
    let events: Vec<_> = fixture.records().events(&id)?.into_iter().map(|stored| stored.id).collect();
    assert_eq!(events, [first, second, third]);
    Ok(())
}

fn goes_on(fixture: &dyn CompactorFixture) -> Result<(), Failed> {
    let mut published = Vec::new();
    for n in 0..5 {
        published.push(publish(fixture, n)?.0);
        compact(fixture)?;
    }
    published.reverse();
    let listed: Vec<_> = list(fixture)?.into_iter().map(|entry| entry.record).collect();
    assert_eq!(listed, published);
    Ok(())
}

fn once_more(fixture: &dyn CompactorFixture) -> Result<(), Failed> {
    publish(fixture, 1)?;
    publish(fixture, 2)?;
    compact(fixture)?;
    let again = fixture.compactor().compact(Scope::All, &|_| {})?;
    assert_eq!((again.packs_before, again.packs_after), (0, 0));
    assert!(!fixture.compactor().compaction_pays()?);
    Ok(())
}

fn nothing(fixture: &dyn CompactorFixture) -> Result<(), Failed> {
    assert!(!fixture.compactor().compaction_pays()?);
    let done = fixture.compactor().compact(Scope::All, &|_| {})?;
    assert_eq!((done.packs_before, done.packs_after), (0, 0));
    Ok(())
}
