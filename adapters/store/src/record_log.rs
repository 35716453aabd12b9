//! Publishing records and events, and reading them back.

use crate::attempt::FsAttempt;
use crate::error::{damaged, error, failed};
use crate::index::{Damage, InOrder, MOST_LOOKS, Row};
use crate::locks::lock_record;
use crate::publish;
use crate::store::FsTaskStore;
use isobox_domain::content::{ContentId, ContentRef};
use isobox_domain::event::Event;
use isobox_domain::listing::Direction;
use isobox_domain::record::{RecordEntry, TaskRecord};
use isobox_ports::{AppendError, Attempt, RecordLog, StoreError, StoreErrorKind, StoredEvent};
use isobox_store_format::entry::EntryKind;
use isobox_store_format::event::{decode_event, encode_event};
use isobox_store_format::object::reference_to;
use isobox_store_format::record::{ChildRole, children, decode_record};
use std::collections::BTreeSet;
use std::io;

impl RecordLog for FsTaskStore {
    fn publish_keeping(
        &self,
        attempt: Box<dyn Attempt>,
        record: &TaskRecord,
    ) -> Result<(ContentId, Box<dyn Attempt>), StoreError> {
        let foreign = |_| {
            let reason = "its attempt belongs to another store";
            error(StoreErrorKind::Io, "publish", record.task.to_string(), reason)
        };
        let mut attempt: Box<FsAttempt> = attempt.into_any().downcast().map_err(foreign)?;
        let id = publish::publish(&mut attempt, record)?;
        Ok((id, attempt))
    }

    fn append(&self, event: &Event) -> Result<ContentId, AppendError> {
        let subject = event.subject.to_string();
        let bytes = encode_event(event).map_err(|e| error(StoreErrorKind::Io, "encode event about", subject, e))?;
        let _subject = lock_record(self.shared.layout.locks()?, &event.subject)?;
        let newest = self.events(&event.subject)?.last().map(|newest| newest.id);
        if newest != event.previous {
            return Err(AppendError::Stale { newest });
        }
        publish::append_event(&self.shared, event, &bytes)?;
        Ok(reference_to(&bytes).id)
    }

    fn bytes(&self, id: &ContentId) -> Result<Option<Vec<u8>>, StoreError> {
        self.read_small(id, EntryKind::Record)
    }

    fn load(&self, id: &ContentId) -> Result<Option<TaskRecord>, StoreError> {
        let Some(bytes) = self.read_small(id, EntryKind::Record)? else { return Ok(None) };
        let refused = |e| damaged("load record", id.to_string(), e);
        let policy = children(&bytes).map_err(refused)?.into_iter().find(|child| child.role == ChildRole::Policy);
        let policy = policy.map(|policy| self.read_policy(id, &policy.reference)).transpose()?.unwrap_or_default();
        decode_record(&bytes, &policy).map(Some).map_err(refused)
    }

    fn events(&self, subject: &ContentId) -> Result<Vec<StoredEvent>, StoreError> {
        drop(self.shared.fresh_index()?);
        let ids = self.shared.ask(|index, layout| index.events(layout, subject))?;
        let events = ids.into_iter().map(|id| self.load_event(id)).collect::<Result<Vec<_>, _>>()?;
        Ok(in_order(events))
    }

    fn list(&self) -> Result<Box<dyn Iterator<Item = Result<RecordEntry, StoreError>> + '_>, StoreError> {
        let index = self.shared.fresh_index()?;
        let (mut rows, damage) = (index.in_order(Direction::Descending), index.damage());
        drop(index);
        let mut seen = Seen::default();
        let entries =
            std::iter::from_fn(move || self.next_kept(&mut rows).map(|row| row.map(|row| row.entry)).transpose());
        let entries = entries.filter(move |entry| !entry.as_ref().is_ok_and(|entry| seen.has(&entry.record)));
        Ok(Box::new(entries.chain(damage.into_iter().map(|damage| Err(self.damage_error(&damage))))))
    }
}

impl FsTaskStore {
    /// The next row of a record that was not pruned.
    fn next_kept(&self, rows: &mut InOrder) -> Result<Option<Row>, StoreError> {
        loop {
            match self.next_row(rows)? {
                Some(row) if self.is_pruned(&row.entry.record)? => {}
                row => return Ok(row),
            }
        }
    }

    /// Whether the record `id` was pruned, as far as is known.
    pub(crate) fn is_pruned(&self, id: &ContentId) -> Result<bool, StoreError> {
        self.shared.ask(|index, layout| index.is_pruned(layout, id))
    }

    /// The next row, also where compaction removed the pack that it stood in.
    pub(crate) fn next_row(&self, rows: &mut InOrder) -> Result<Option<Row>, StoreError> {
        let layout = &self.shared.layout;
        for _ in 0..MOST_LOOKS {
            match rows.next_row(layout) {
                Err(error) if error.kind() == io::ErrorKind::NotFound => {
                    *rows = self.shared.fresh_index()?.resume(rows)
                }
                next => return next.map_err(|error| failed("list", &layout.root.shown(""))(error)),
            }
        }
        Err(error(StoreErrorKind::Locked, "list", layout.packs.shown(""), "packs go faster than they can be read"))
    }

    pub(crate) fn read_policy(&self, record: &ContentId, policy: &ContentRef) -> Result<Vec<u8>, StoreError> {
        let found = self.read_small(&policy.id, EntryKind::Artifact)?;
        found.ok_or_else(|| damaged("load record", record.to_string(), format!("its policy {} is missing", policy.id)))
    }

    pub(crate) fn load_event(&self, id: ContentId) -> Result<StoredEvent, StoreError> {
        let missing = || damaged("load event", id.to_string(), "its entry is missing");
        let bytes = self.read_small(&id, EntryKind::Record)?.ok_or_else(missing)?;
        let event = decode_event(&bytes).map_err(|e| damaged("load event", id.to_string(), e))?;
        Ok(StoredEvent { id, event })
    }

    pub(crate) fn damage_error(&self, damage: &Damage) -> StoreError {
        let layout = &self.shared.layout;
        if damage.end == 0 {
            let reason = "something else lies in its place; records that were in it are not listed";
            return damaged("read", damage.pack.shown(layout), reason);
        }
        let subject = format!("{}, bytes {} to {}", damage.pack.shown(layout), damage.offset, damage.end);
        let touched = damage.record.map_or_else(
            || "a record whose entry lies there is not listed".to_owned(),
            |record| format!("{} before them may not be listed", self.described(&record)),
        );
        damaged("read entries of", subject, format!("they are damaged; {touched}"))
    }

    /// What is known of a record or event whose COMMIT may be damaged, for people.
    fn described(&self, id: &ContentId) -> String {
        let bytes = self.read_small(id, EntryKind::Record).ok().flatten().unwrap_or_default();
        if let Ok(event) = decode_event(&bytes) {
            return format!("the event {id} about {}, record {},", event.task, event.subject);
        }
        match self.load(id) {
            Ok(Some(record)) => format!("the record {id} of {}", record.task),
            Ok(None) | Err(_) => format!("the record {id}"),
        }
    }
}

/// Which records were listed: one that was put again, because it was damaged, has several COMMITs, and maybe one copy.
///
/// Sixteen bytes tell records apart, 30 MiB for a million of them. A hash table would take 53 MiB while it grows, of the
/// 64 MiB that a process may take.
#[derive(Default)]
pub(crate) struct Seen(BTreeSet<[u8; 16]>);

impl Seen {
    /// Whether `record` was listed before. Remembers it.
    pub(crate) fn has(&mut self, record: &ContentId) -> bool {
        !self.0.insert(std::array::from_fn(|at| record.as_bytes()[at]))
    }
}

/// Orders events by their chain. What hangs on no chain comes last, by time.
pub(crate) fn in_order(mut events: Vec<StoredEvent>) -> Vec<StoredEvent> {
    events.sort_by_key(|stored| stored.event.at);
    let (mut ordered, mut previous) = (Vec::new(), None);
    while let Some(at) = events.iter().position(|stored| stored.event.previous == previous) {
        let next = events.remove(at);
        previous = Some(next.id);
        ordered.push(next);
    }
    ordered.extend(events);
    ordered
}
