//! What the suites of the Task Store's ports share.

use super::sample::draft;
use crate::{Attempt, Attempts, ObjectStore, RecordLog, Role};
use isobox_domain::content::{ContentId, ContentRef};
use isobox_domain::record::TaskRecord;
use libtest_mimic::{Failed, Trial};
use std::io::{Read, Write};

/// An empty Task Store, for one case.
pub trait StoreFixture: Sync {
    /// Its attempts.
    fn attempts(&self) -> &dyn Attempts;

    /// Its records and events.
    fn records(&self) -> &dyn RecordLog;

    /// Its objects.
    fn objects(&self) -> &dyn ObjectStore;

    /// Changes a stored byte of the object `id`, without telling the store.
    fn damage(&self, id: &ContentId);
}

pub(super) type Case = fn(&dyn StoreFixture) -> Result<(), Failed>;

pub(super) fn cases_of<F: StoreFixture + 'static>(
    name: &str,
    port: &str,
    cases: &[(&str, Case)],
    fixture: fn() -> F,
) -> Vec<Trial> {
    let trial = |(case, run): &(&str, Case)| {
        let run = *run;
        Trial::test(format!("{name}::{port}::{case}"), move || run(&fixture()))
    };
    cases.iter().map(trial).collect()
}

/// Stages `bytes` in two writes.
pub(super) fn staged(attempt: &dyn Attempt, role: Role, bytes: &[u8]) -> Result<ContentRef, Failed> {
    let mut writer = attempt.stage(role)?;
    let (first, second) = bytes.split_at(bytes.len() / 2);
    writer.write_all(first)?;
    writer.write_all(second)?;
    Ok(writer.finish()?)
}

/// Publishes a record that needs nothing staged.
pub(super) fn publish(fixture: &dyn StoreFixture, record: &TaskRecord) -> Result<ContentId, Failed> {
    let attempt = fixture.attempts().begin(&draft(0))?;
    Ok(fixture.records().publish(attempt, record)?)
}

/// The whole content, `None` if there is none.
pub(super) fn read(fixture: &dyn StoreFixture, content: &ContentRef) -> Result<Option<Vec<u8>>, Failed> {
    let Some(mut stream) = fixture.objects().open(&content.id)? else { return Ok(None) };
    let mut bytes = Vec::new();
    stream.read_to_end(&mut bytes)?;
    assert_eq!(bytes.len() as u64, content.length);
    Ok(Some(bytes))
}
