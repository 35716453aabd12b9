//! The records and events of an Archive.

use super::FsArchive;
use super::read_only::read_only;
use crate::error::damaged;
use isobox_domain::content::ContentId;
use isobox_domain::event::Event;
use isobox_domain::record::{RecordEntry, TaskRecord};
use isobox_ports::{AppendError, Attempt, RecordLog, StoreError, StoredEvent};
use isobox_store_format::archive::{Row, Section};
use isobox_store_format::event::decode_event;
use isobox_store_format::record::{ChildRole, children, decode_record};

impl RecordLog for FsArchive {
    fn publish_keeping(
        &self,
        _attempt: Box<dyn Attempt>,
        _record: &TaskRecord,
    ) -> Result<(ContentId, Box<dyn Attempt>), StoreError> {
        Err(read_only("publish in", &self.shown))
    }

    fn append(&self, _event: &Event) -> Result<ContentId, AppendError> {
        Err(read_only("append to", &self.shown).into())
    }

    fn bytes(&self, id: &ContentId) -> Result<Option<Vec<u8>>, StoreError> {
        let row = self.record_row(id)?.map(|(_, row)| row);
        let row = row.map_or_else(|| self.event_row(id), |row| Ok(Some(row)))?;
        row.map(|row| self.small(&row)).transpose()
    }

    fn load(&self, id: &ContentId) -> Result<Option<TaskRecord>, StoreError> {
        let Some((_, row)) = self.record_row(id)? else { return Ok(None) };
        self.load_row(&row).map(Some)
    }

    fn events(&self, subject: &ContentId) -> Result<Vec<StoredEvent>, StoreError> {
        let Some((at, _)) = self.record_row(subject)? else { return Ok(Vec::new()) };
        let mut events: Vec<StoredEvent> = Vec::new();
        for at in self.archive.events_of(at).map_err(self.refused("read events from"))? {
            let row = self.row(at)?;
            let event = decode_event(&self.small(&row)?).map_err(|e| damaged("load event", row.id.to_string(), e))?;
            if event.subject != *subject || event.previous != events.last().map(|last| last.id) {
                let reason = "it does not follow the one before it";
                return Err(damaged("load event", row.id.to_string(), reason));
            }
            events.push(StoredEvent { id: row.id, event });
        }
        Ok(events)
    }

    fn list(&self) -> Result<Box<dyn Iterator<Item = Result<RecordEntry, StoreError>> + '_>, StoreError> {
        let (mut rows, mut failures) = (Vec::new(), Vec::new());
        for at in self.archive.head().rows_of(Section::Records) {
            match self.entry(at) {
                Ok(entry) => rows.push((entry.committed_at, entry.attempt, at)),
                Err(error) => failures.push(Err(error)),
            }
        }
        rows.sort_unstable();
        let entries = rows.into_iter().rev().map(|(.., at)| self.entry(at));
        Ok(Box::new(entries.chain(failures)))
    }
}

impl FsArchive {
    pub(super) fn row(&self, at: u64) -> Result<Row, StoreError> {
        self.archive.row(at).map_err(self.refused("read from archive"))
    }

    pub(super) fn record_row(&self, id: &ContentId) -> Result<Option<(u64, Row)>, StoreError> {
        self.archive.find(Section::Records, id).map_err(self.refused("look up in"))
    }

    fn event_row(&self, id: &ContentId) -> Result<Option<Row>, StoreError> {
        for at in self.archive.head().rows_of(Section::Events) {
            let row = self.row(at)?;
            if row.id == *id {
                return Ok(Some(row));
            }
        }
        Ok(None)
    }

    pub(super) fn load_row(&self, row: &Row) -> Result<TaskRecord, StoreError> {
        let refused = |e| damaged("load record", row.id.to_string(), e);
        let bytes = self.small(row)?;
        let policy = children(&bytes).map_err(refused)?.into_iter().find(|child| child.role == ChildRole::Policy);
        let policy = policy.map(|policy| self.part(&policy.reference)).transpose();
        let policy = policy.map_err(|e| damaged("load record", row.id.to_string(), e))?.unwrap_or_default();
        decode_record(&bytes, &policy).map_err(refused)
    }

    // An Archive has no times of its own: a record stands where its attempt ended.
    pub(super) fn entry(&self, at: u64) -> Result<RecordEntry, StoreError> {
        let row = self.row(at)?;
        let record = self.load_row(&row)?;
        let TaskRecord { task, attempt, ended_at: committed_at, .. } = record;
        Ok(RecordEntry { task, attempt, record: row.id, committed_at })
    }
}
