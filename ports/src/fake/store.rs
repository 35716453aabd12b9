//! A Task Store in memory.

use super::store_attempt::{InMemoryAttempt, Left};
use super::turns::Turnstile;
use crate::{
    AppendError, Attempt, Attempts, Cause, ChangeLines, Content, ObjectStore, RecordLog, StoreError, StoreErrorKind,
    StoredEvent, View, Views,
};
use isobox_domain::change::{ChangeLine, ChangeSetRef};
use isobox_domain::content::{ContentId, ContentRef};
use isobox_domain::event::{Event, EventKind};
use isobox_domain::policy::ViewLimit;
use isobox_domain::record::{RecordEntry, TaskRecord};
use isobox_domain::task_id::TaskId;
use isobox_domain::timestamp::Timestamp;
use std::collections::{BTreeMap, HashMap, HashSet};
use std::io::{Cursor, Read};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};

/// Keeps a Task Store's promises without a disk. Clones share one store.
///
/// A record's or event's digest is that of its debug text, so that it differs from the one of a real store.
#[derive(Clone, Debug, Default)]
pub struct InMemoryStore {
    state: Arc<Mutex<State>>,
    /// Told whenever an attempt is over.
    pub(super) ended: Arc<Condvar>,
    pub(super) turnstile: Arc<Turnstile>,
}

#[derive(Debug, Default)]
pub(super) struct State {
    pub(super) objects: HashMap<ContentId, Vec<u8>>,
    pub(super) change_sets: HashMap<ContentId, Vec<ChangeLine>>,
    /// Records in the order in which they were committed, each with the digest of what is stored now.
    pub(super) records: Vec<(RecordEntry, TaskRecord)>,
    damaged: Vec<ContentId>,
    pub(super) events: Vec<StoredEvent>,
    pub(super) abandoned: Vec<Left>,
    /// Attempts that somebody has, by the number that they got.
    pub(super) running: BTreeMap<u64, Left>,
    pub(super) begun: u64,
    views: Vec<(TaskId, BTreeMap<String, Vec<u8>>)>,
}

impl State {
    /// The records that an event says were pruned.
    pub(super) fn pruned(&self) -> HashSet<ContentId> {
        let prunes = self.events.iter().filter(|stored| matches!(stored.event.kind, EventKind::Pruned { .. }));
        prunes.map(|stored| stored.event.subject).collect()
    }
}

/// How much the store has room for, in bytes.
const ROOM: u64 = 1 << 40;

impl InMemoryStore {
    pub(super) fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Stores content as if a record referred to it.
    pub fn insert(&self, bytes: &[u8]) -> ContentRef {
        let id = digest(bytes);
        self.state().objects.insert(id, bytes.to_vec());
        ContentRef { id, length: bytes.len() as u64 }
    }

    /// Makes the object or record `id` read back as damaged until it is stored again.
    pub fn damage(&self, id: &ContentId) {
        let mut state = self.state();
        if let Some(byte) = state.objects.get_mut(id).and_then(|bytes| bytes.first_mut()) {
            *byte ^= 1;
        }
        state.damaged.push(*id);
    }

    /// The files of all Views, by their paths below the directory of Views.
    pub fn views(&self) -> BTreeMap<String, Vec<u8>> {
        let state = self.state();
        let named = state
            .views
            .iter()
            .flat_map(|(task, files)| files.iter().map(move |(name, bytes)| (format!("{task}/{name}"), bytes.clone())));
        named.collect()
    }
}

pub(super) fn digest(bytes: &[u8]) -> ContentId {
    ContentId::new(*blake3::hash(bytes).as_bytes())
}

pub(super) fn store_error(kind: StoreErrorKind, operation: &'static str, why: &str) -> StoreError {
    StoreError { kind, operation, subject: "the store in memory".into(), source: Cause::from(why.to_owned()) }
}

impl ObjectStore for InMemoryStore {
    fn open(&self, id: &ContentId) -> Result<Option<Content>, StoreError> {
        let Some(bytes) = self.state().objects.get(id).cloned() else { return Ok(None) };
        if digest(&bytes) != *id {
            return Err(store_error(StoreErrorKind::Damaged, "open object in", "the content is another one"));
        }
        Ok(Some(Box::new(Cursor::new(bytes))))
    }

    fn changes(&self, change_set: &ChangeSetRef) -> Result<ChangeLines<'_>, StoreError> {
        let lines = self.state().change_sets.get(&change_set.id).cloned();
        let missing = || store_error(StoreErrorKind::Damaged, "open change set in", "it is missing");
        Ok(Box::new(lines.ok_or_else(missing)?.into_iter().map(Ok)))
    }
}

impl Attempts for InMemoryStore {
    fn probe(&self, room_bytes: u64) -> Result<(), StoreError> {
        if room_bytes <= ROOM {
            return Ok(());
        }
        Err(store_error(StoreErrorKind::Full, "find room in", "it is full"))
    }

    fn begin(&self, draft: &TaskRecord) -> Result<Box<dyn Attempt>, StoreError> {
        Ok(Box::new(InMemoryAttempt::new(self.clone(), Left::new(draft.clone()))))
    }

    fn abandoned(&self) -> Result<Vec<Box<dyn Attempt>>, StoreError> {
        let left = std::mem::take(&mut self.state().abandoned);
        let attempts = left.into_iter().map(|left| InMemoryAttempt::new(self.clone(), left));
        Ok(attempts.map(|attempt| Box::new(attempt) as Box<dyn Attempt>).collect())
    }
}

impl RecordLog for InMemoryStore {
    fn publish_keeping(
        &self,
        attempt: Box<dyn Attempt>,
        record: &TaskRecord,
    ) -> Result<(ContentId, Box<dyn Attempt>), StoreError> {
        let foreign = |_| store_error(StoreErrorKind::Io, "publish in", "the attempt belongs to another store");
        let mut attempt: Box<InMemoryAttempt> = attempt.into_any().downcast().map_err(foreign)?;
        attempt.require_children(record)?;
        let id = digest(format!("{record:?}").as_bytes());
        attempt.commit(id);
        let mut state = self.state();
        state.damaged.retain(|damaged| *damaged != id);
        if !state.records.iter().any(|(entry, _)| entry.record == id) {
            let committed_at = Timestamp::nearest(1_800_000_000_000 + state.records.len() as u64);
            let entry = RecordEntry { task: record.task, attempt: record.attempt, record: id, committed_at };
            state.records.push((entry, record.clone()));
        }
        drop(state);
        Ok((id, attempt))
    }

    fn append(&self, event: &Event) -> Result<ContentId, AppendError> {
        let mut state = self.state();
        let newest = state.events.iter().rfind(|stored| stored.event.subject == event.subject).map(|stored| stored.id);
        if newest != event.previous {
            return Err(AppendError::Stale { newest });
        }
        let id = digest(format!("{event:?}").as_bytes());
        state.events.push(StoredEvent { id, event: event.clone() });
        Ok(id)
    }

    fn bytes(&self, id: &ContentId) -> Result<Option<Vec<u8>>, StoreError> {
        let record = self.load(id)?.map(|record| format!("{record:?}").into_bytes());
        let state = self.state();
        let event = state.events.iter().find(|stored| stored.id == *id);
        Ok(record.or_else(|| event.map(|stored| format!("{:?}", stored.event).into_bytes())))
    }

    fn load(&self, id: &ContentId) -> Result<Option<TaskRecord>, StoreError> {
        let state = self.state();
        if state.damaged.contains(id) {
            return Err(store_error(StoreErrorKind::Damaged, "load record in", "its bytes are others"));
        }
        Ok(state.records.iter().find(|(entry, _)| entry.record == *id).map(|(_, record)| record.clone()))
    }

    fn events(&self, subject: &ContentId) -> Result<Vec<StoredEvent>, StoreError> {
        let state = self.state();
        Ok(state.events.iter().filter(|stored| stored.event.subject == *subject).cloned().collect())
    }

    fn list(&self) -> Result<Box<dyn Iterator<Item = Result<RecordEntry, StoreError>> + '_>, StoreError> {
        let state = self.state();
        let pruned = state.pruned();
        let kept = state.records.iter().rev().filter(|(entry, _)| !pruned.contains(&entry.record));
        let entries: Vec<_> = kept.map(|(entry, _)| Ok(*entry)).collect();
        Ok(Box::new(entries.into_iter()))
    }
}

impl Views for InMemoryStore {
    fn write(&self, view: &View<'_>, objects: &dyn ObjectStore, limit: ViewLimit) -> Result<(), StoreError> {
        let mut files = BTreeMap::from([("record.json".to_owned(), view.record_json.to_vec())]);
        for (name, content) in view.artifacts.iter().filter(|(_, content)| content.length <= 1 << 20) {
            let mut bytes = Vec::new();
            if let Some(mut content) = objects.open(&content.id)? {
                let failed = |_| store_error(StoreErrorKind::Io, "read an object of", "it ended early");
                content.read_to_end(&mut bytes).map_err(failed)?;
            }
            files.insert(format!("artifacts/{name}"), bytes);
        }
        let mut state = self.state();
        if state.views.iter().any(|(task, files)| *task == view.task && is_of_version_1(files)) {
            return Ok(());
        }
        state.views.retain(|(task, _)| *task != view.task);
        state.views.push((view.task, files));
        if let ViewLimit::Newest(limit) = limit {
            trim(&mut state.views, limit as usize);
        }
        Ok(())
    }

    fn make_room(&self, limit: ViewLimit) -> Result<(), StoreError> {
        if let ViewLimit::Newest(limit @ 1..) = limit {
            trim(&mut self.state().views, limit as usize - 1);
        }
        Ok(())
    }

    fn remove(&self, task: TaskId) -> Result<(), StoreError> {
        self.state().views.retain(|(of, files)| *of != task || is_of_version_1(files));
        Ok(())
    }
}

/// Removes the oldest Views of more than `most`.
fn trim(views: &mut Vec<(TaskId, BTreeMap<String, Vec<u8>>)>, most: usize) {
    let own = views.iter().filter(|(_, files)| !is_of_version_1(files)).count();
    let mut surplus = own.saturating_sub(most);
    views.retain(|(_, files)| {
        let stays = surplus == 0 || is_of_version_1(files);
        surplus -= usize::from(!stays);
        stays
    });
}

/// Whether a directory among the Views is a record of version 1.
fn is_of_version_1(files: &BTreeMap<String, Vec<u8>>) -> bool {
    let record = files.get("record.json").map(|json| String::from_utf8_lossy(json).replace(char::is_whitespace, ""));
    record.is_some_and(|record| record.contains(r#""schema_version":"v1""#))
}
