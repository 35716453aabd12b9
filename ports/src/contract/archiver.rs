//! What every implementation of [`Archiver`] keeps.

use super::sample::{draft, noise, record, rejected};
use super::store::{StoreFixture, publish, staged};
use crate::{Archived, Archiver, ArchivingError, Role};
use isobox_domain::content::{ContentId, ContentRef};
use isobox_domain::record::{TaskArtifacts, TaskRecord};
use libtest_mimic::{Failed, Trial};
use std::io::{self, Write};

/// An empty Task Store, and what writes Archives of it.
pub trait ArchiverFixture: StoreFixture {
    /// The implementation under test.
    fn archiver(&self) -> &dyn Archiver;
}

type Case = fn(&dyn ArchiverFixture) -> Result<(), Failed>;

const CASES: &[(&str, Case)] = &[
    ("the_same_records_are_the_same_bytes_in_whichever_order_they_are_named", order_does_not_matter),
    ("an_archive_holds_what_was_named_with_everything_below_it_once", everything_once),
    ("what_is_damaged_or_missing_ends_the_archive_with_an_error", damage_is_an_error),
    ("a_failure_to_write_is_told_from_one_to_read", a_failed_write),
];

/// The suite, as tests of `name`. `fixture` is called once a case.
pub fn cases<F: ArchiverFixture + 'static>(name: &str, fixture: fn() -> F) -> Vec<Trial> {
    let trial =
        |&(case, check): &(&str, Case)| Trial::test(format!("{name}::archiver::{case}"), move || check(&fixture()));
    CASES.iter().map(trial).collect()
}

/// Publishes the n-th record, with an output of its own and one that all share.
fn publish_with_outputs(fixture: &dyn ArchiverFixture, n: u64) -> Result<(ContentId, ContentRef), Failed> {
    let attempt = fixture.attempts().begin(&draft(n))?;
    let own = staged(&*attempt, Role::Stdout, &noise(n, 2000))?;
    let shared = staged(&*attempt, Role::Stderr, b"what all of them say")?;
    let artifacts = TaskArtifacts { stdout: Some(own), stderr: Some(shared), ..TaskArtifacts::default() };
    Ok((fixture.records().publish(attempt, &TaskRecord { artifacts, ..record(n) })?, own))
}

fn archive(fixture: &dyn ArchiverFixture, records: &[ContentId]) -> Result<(Archived, Vec<u8>), ArchivingError> {
    let mut bytes = Vec::new();
    fixture.archiver().archive(records, &mut bytes, &|_| {}).map(|archived| (archived, bytes))
}

fn order_does_not_matter(fixture: &dyn ArchiverFixture) -> Result<(), Failed> {
    let ids = [1, 2, 3].map(|n| publish_with_outputs(fixture, n));
    let [one, two, three] = ids.map(|published| published.map(|(id, _)| id));
    let (one, two, three) = (one?, two?, three?);
    let expected = archive(fixture, &[one, two, three])?;
    assert_eq!(archive(fixture, &[three, one, two, one])?, expected);
    assert!(archive(fixture, &[one, two])?.1 != expected.1);
    fixture.records().append(&rejected(1, one, None))?;
    assert!(archive(fixture, &[one, two, three])?.1 != expected.1, "what happened to a record belongs to it");
    Ok(())
}

fn everything_once(fixture: &dyn ArchiverFixture) -> Result<(), Failed> {
    let ((one, _), (two, _)) = (publish_with_outputs(fixture, 1)?, publish_with_outputs(fixture, 2)?);
    publish(fixture, &record(3))?;
    fixture.records().append(&rejected(1, one, None))?;
    let (archived, bytes) = archive(fixture, &[one, two])?;
    // Two outputs, the one that both share, and their policy.
    assert_eq!((archived.records, archived.events, archived.artifacts), (2, 1, 4));
    assert_eq!(archived.bytes, bytes.len() as u64);
    Ok(())
}

fn damage_is_an_error(fixture: &dyn ArchiverFixture) -> Result<(), Failed> {
    let ((one, own), (two, _)) = (publish_with_outputs(fixture, 1)?, publish_with_outputs(fixture, 2)?);
    fixture.damage(&own.id);
    for records in [&[one][..], &[one, two], &[ContentId::new([7; 32])], &[]] {
        assert!(matches!(archive(fixture, records), Err(ArchivingError::Store(_))), "{records:?}");
    }
    archive(fixture, &[two])?;
    Ok(())
}

/// A disk with room for so many bytes.
struct Full(usize);

impl Write for Full {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let length = bytes.len().min(self.0);
        self.0 -= length;
        if length == 0 { Err(io::ErrorKind::StorageFull.into()) } else { Ok(length) }
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

fn a_failed_write(fixture: &dyn ArchiverFixture) -> Result<(), Failed> {
    let (one, _) = publish_with_outputs(fixture, 1)?;
    let (archived, _) = archive(fixture, &[one])?;
    for room in [0, 20, 400, archived.bytes as usize - 1] {
        let refused = fixture.archiver().archive(&[one], &mut Full(room), &|_| {});
        assert!(matches!(refused, Err(ArchivingError::Write(_))), "{room} bytes");
    }
    Ok(())
}
