//! Writing records as an Archive, from whatever holds them.

use super::FsArchive;
use crate::error::{damaged, error};
use crate::store::FsTaskStore;
use isobox_domain::content::{ContentId, ContentRef};
use isobox_ports::{
    Advance, Archived, Archiver, ArchivingError, Cause, Content, ObjectStore, RecordLog, StoreError, StoreErrorKind,
    TellAdvance,
};
use isobox_store_format::archive::{ArchiveError, ArchiveWriter, Head, WriteArchiveError};
use isobox_store_format::below::each_below;
use isobox_store_format::event::encode_event;
use isobox_store_format::object::{MAX_OBJECT_BYTES, reference_to};
use std::collections::BTreeSet;
use std::io::{Read, Write};

/// So many artifacts are put in order at once, at about 64 bytes each; for more, all records are gone through again.
const BATCH: usize = 1 << 17;

impl Archiver for FsTaskStore {
    fn archive(
        &self,
        records: &[ContentId],
        to: &mut dyn Write,
        tell: TellAdvance<'_>,
    ) -> Result<Archived, ArchivingError> {
        Archiving { records: self, objects: self, batch: BATCH }.write(records, to, tell)
    }
}

impl Archiver for FsArchive {
    fn archive(
        &self,
        records: &[ContentId],
        to: &mut dyn Write,
        tell: TellAdvance<'_>,
    ) -> Result<Archived, ArchivingError> {
        Archiving { records: self, objects: self, batch: BATCH }.write(records, to, tell)
    }
}

/// What an Archive is written from.
struct Archiving<'a> {
    records: &'a dyn RecordLog,
    objects: &'a dyn ObjectStore,
    /// How many artifacts are put in order at once.
    batch: usize,
}

/// The rows of records and events: as many as their table may have.
#[derive(Default)]
struct Rows {
    records: Vec<(ContentRef, u64)>,
    events: Vec<ContentRef>,
    bytes: u64,
}

impl Archiving<'_> {
    fn write(
        &self,
        records: &[ContentId],
        to: &mut dyn Write,
        tell: TellAdvance<'_>,
    ) -> Result<Archived, ArchivingError> {
        let rows = self.rows(records)?;
        let first = self.batch_after(&rows, None)?;
        let (mut count, mut bytes) = (0, rows.bytes);
        self.each_artifact(&rows, &first, &mut |object| {
            count += 1;
            bytes += object.length;
            Ok(())
        })?;
        let (records, events) = (rows.records.len() as u64, rows.events.len() as u64);
        let head = Head::of(records, events, count, bytes).ok_or_else(too_many)?;
        let mut writer = ArchiveWriter::begin(to, head).map_err(failure)?;
        rows.records.iter().try_for_each(|(record, until)| writer.row(record, *until)).map_err(failure)?;
        rows.events.iter().try_for_each(|event| writer.row(event, 0)).map_err(failure)?;
        self.each_artifact(&rows, &first, &mut |object| writer.row(object, 0).map_err(failure))?;
        writer.end_table().map_err(failure)?;
        let mut done_bytes = 0;
        let mut put = |object: &ContentRef, content: &mut dyn Read| {
            done_bytes += object.length;
            tell(Advance { done_bytes, all_bytes: bytes });
            writer.object(object, content).map_err(failure)
        };
        let small = rows.records.iter().map(|(record, _)| record).chain(&rows.events);
        for object in small {
            put(object, &mut self.bytes(&object.id)?.as_slice())?;
        }
        self.each_artifact(&rows, &first, &mut |object| put(object, &mut self.open(&object.id)?))?;
        writer.finish().map_err(failure)?;
        Ok(Archived { records, events, artifacts: count, bytes: head.length })
    }

    fn rows(&self, records: &[ContentId]) -> Result<Rows, StoreError> {
        let mut rows = Rows::default();
        for id in records.iter().collect::<BTreeSet<_>>() {
            let record = reference_to(&self.bytes(id)?);
            let mut previous = None;
            for stored in self.records.events(id)? {
                let refused = |e: Cause| damaged("read event", stored.id.to_string(), e);
                if stored.event.previous != previous {
                    return Err(refused("it does not follow the one before it".into()));
                }
                previous = Some(stored.id);
                let event = reference_to(&encode_event(&stored.event).map_err(|e| refused(e.into()))?);
                rows.bytes += event.length;
                rows.events.push(event);
            }
            rows.bytes += record.length;
            rows.records.push((record, rows.events.len() as u64));
        }
        Ok(rows)
    }

    /// Hands every artifact to `each`, in ascending order of their ids. `first` is the first batch of them.
    fn each_artifact(
        &self,
        rows: &Rows,
        first: &BTreeSet<ContentRef>,
        each: &mut dyn FnMut(&ContentRef) -> Result<(), ArchivingError>,
    ) -> Result<(), ArchivingError> {
        first.iter().try_for_each(&mut *each)?;
        let mut last = first.last().copied().filter(|_| first.len() == self.batch);
        while last.is_some() {
            let next = self.batch_after(rows, last)?;
            next.iter().try_for_each(&mut *each)?;
            last = next.last().copied().filter(|_| next.len() == self.batch);
        }
        Ok(())
    }

    /// The first artifacts behind `after`, as many as are put in order at once.
    fn batch_after(&self, rows: &Rows, after: Option<ContentRef>) -> Result<BTreeSet<ContentRef>, StoreError> {
        let mut kept = BTreeSet::new();
        for (record, _) in &rows.records {
            let bytes = self.bytes(&record.id)?;
            let mut fetch = |part: &ContentRef| self.part(part);
            let below = each_below(&bytes, &mut fetch, &mut |object| {
                if after.is_none_or(|after| after < *object) {
                    kept.insert(*object);
                }
                if kept.len() > self.batch {
                    kept.pop_last();
                }
                Ok(())
            });
            below.map_err(|e| damaged("read record", record.id.to_string(), e))?;
        }
        Ok(kept)
    }

    fn bytes(&self, id: &ContentId) -> Result<Vec<u8>, StoreError> {
        self.records.bytes(id)?.ok_or_else(|| missing(id))
    }

    fn open(&self, id: &ContentId) -> Result<Content, StoreError> {
        self.objects.open(id)?.ok_or_else(|| missing(id))
    }

    fn part(&self, part: &ContentRef) -> Result<Vec<u8>, Cause> {
        let mut bytes = Vec::new();
        self.open(&part.id)?.take(MAX_OBJECT_BYTES as u64 + 1).read_to_end(&mut bytes)?;
        Ok(bytes)
    }
}

fn missing(id: &ContentId) -> StoreError {
    damaged("read", id.to_string(), "it is missing")
}

fn too_many() -> StoreError {
    let reason = "an archive takes 1 to 1,048,576 records, as many events, and 16,777,216 artifacts";
    error(StoreErrorKind::Unsuitable, "write", "archive", reason)
}

fn failure(error: WriteArchiveError) -> ArchivingError {
    match error {
        WriteArchiveError::Write(source) => ArchivingError::Write(source),
        WriteArchiveError::Read { id, source } => damaged("read", id.to_string(), source).into(),
        WriteArchiveError::Refused(ArchiveError::Content { expected }) => {
            damaged("read", expected.to_string(), "it is not as long as the record says").into()
        }
        WriteArchiveError::Refused(why) => damaged("write", "archive", why).into(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use isobox_domain::record::{TaskArtifacts, TaskRecord};
    use isobox_ports::Role;
    use isobox_ports::contract::sample::{draft, noise, record};
    use isobox_ports::{Attempts, RecordLog};

    #[test]
    fn an_archive_is_the_same_however_few_artifacts_are_put_in_order_at_once() {
        let directory = tempfile::tempdir().unwrap();
        let store = FsTaskStore::create(directory.path()).unwrap();
        let mut records = Vec::new();
        for n in 0..20 {
            let attempt = store.begin(&draft(n)).unwrap();
            let mut writer = attempt.stage(Role::Stdout).unwrap();
            writer.write_all(&noise(n / 2, 100)).unwrap();
            let stdout = Some(writer.finish().unwrap());
            let artifacts = TaskArtifacts { stdout, ..TaskArtifacts::default() };
            records.push(store.publish(attempt, &TaskRecord { artifacts, ..record(n) }).unwrap());
        }
        let archive = |batch| {
            let mut bytes = Vec::new();
            let archiving = Archiving { records: &store, objects: &store, batch };
            let archived = archiving.write(&records, &mut bytes, &|_| {}).unwrap();
            (archived, bytes)
        };
        let expected = archive(BATCH);
        assert_eq!(expected.0.artifacts, 11, "ten outputs and one policy");
        for batch in [1, 2, 10, 11, 12] {
            assert!(archive(batch) == expected, "{batch} at once");
        }
    }
}
