//! Attempts of the store in memory.

use super::store::{InMemoryStore, digest, store_error};
use crate::{Attempt, CaptureSink, CapturedRefs, Cause, ObjectWriter, Publishing, Role, StoreError, StoreErrorKind};
use isobox_domain::change::{ChangeLine, ChangeSetRef, ChangeSummary};
use isobox_domain::content::{ContentId, ContentRef};
use isobox_domain::record::TaskRecord;
use std::collections::{BTreeMap, HashMap, HashSet};
use std::io::{self, Read, Write};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// What survives when the process of an attempt is gone.
#[derive(Clone, Debug)]
pub(super) struct Left {
    pub(super) draft: TaskRecord,
    pub(super) notes: BTreeMap<String, Vec<u8>>,
    pub(super) publishing: Option<Publishing>,
    pub(super) written: Shared<HashMap<Role, Vec<u8>>>,
}

pub(super) type Shared<T> = Arc<Mutex<T>>;

pub(super) fn hold<T>(shared: &Shared<T>) -> MutexGuard<'_, T> {
    shared.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Left {
    pub(super) fn new(draft: TaskRecord) -> Self {
        Self { draft, notes: BTreeMap::new(), publishing: None, written: Arc::default() }
    }
}

#[derive(Debug, Default)]
struct Staged {
    objects: HashMap<ContentId, Vec<u8>>,
    change_sets: HashMap<ContentId, Vec<ChangeLine>>,
}

impl Staged {
    fn add(&mut self, bytes: Vec<u8>) -> ContentRef {
        let reference = ContentRef { id: digest(&bytes), length: bytes.len() as u64 };
        self.objects.insert(reference.id, bytes);
        reference
    }
}

/// What is taken once.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
enum Taken {
    Role(Role),
    Capture,
    Snapshot,
    Copies,
}

#[derive(Debug)]
pub(super) struct InMemoryAttempt {
    store: InMemoryStore,
    number: u64,
    /// `None` once it has ended.
    left: Option<Left>,
    staged: Shared<Staged>,
    taken: Mutex<HashSet<Taken>>,
}

impl InMemoryAttempt {
    pub(super) fn new(store: InMemoryStore, left: Left) -> Self {
        let number = {
            let mut state = store.state();
            state.begun += 1;
            let number = state.begun;
            state.running.insert(number, left.clone());
            number
        };
        Self { store, number, left: Some(left), staged: Arc::default(), taken: Mutex::default() }
    }

    /// Changes what is left when the process is gone, and what is seen until then.
    fn change(&mut self, change: impl FnOnce(&mut Left)) {
        if let Some(left) = &mut self.left {
            change(left);
            self.store.state().running.insert(self.number, left.clone());
        }
    }

    fn left(&self) -> &Left {
        self.left.as_ref().expect("only discard, which consumes the attempt, takes it")
    }

    pub(super) fn require_children(&self, record: &TaskRecord) -> Result<(), StoreError> {
        let artifacts = &record.artifacts;
        let contents = [
            artifacts.stdout,
            artifacts.stderr,
            artifacts.timeline,
            artifacts.patch,
            artifacts.workspace_git,
            artifacts.v1_record,
            artifacts.v1_files,
        ];
        let (staged, state) = (hold(&self.staged), self.store.state());
        let has_contents = contents
            .into_iter()
            .flatten()
            .all(|content| staged.objects.contains_key(&content.id) || state.objects.contains_key(&content.id));
        let has_changes = artifacts
            .change_sets()
            .all(|set| staged.change_sets.contains_key(&set.id) || state.change_sets.contains_key(&set.id));
        if has_contents && has_changes {
            return Ok(());
        }
        Err(store_error(StoreErrorKind::Io, "publish in", "the record refers to what was never staged"))
    }

    pub(super) fn commit(&mut self, record: ContentId) {
        self.change(|left| left.publishing = Some(Publishing::Done(record)));
        let staged = std::mem::take(&mut *hold(&self.staged));
        let mut state = self.store.state();
        state.objects.extend(staged.objects);
        state.change_sets.extend(staged.change_sets);
    }

    fn take(&self, what: Taken) -> Result<(), StoreError> {
        let mut taken = self.taken.lock().unwrap_or_else(PoisonError::into_inner);
        if what == Taken::Role(Role::File) || taken.insert(what) {
            return Ok(());
        }
        Err(store_error(StoreErrorKind::Io, "stage in", "it was staged before in this attempt"))
    }
}

impl Drop for InMemoryAttempt {
    fn drop(&mut self) {
        let mut state = self.store.state();
        state.running.remove(&self.number);
        state.abandoned.extend(self.left.take());
        drop(state);
        self.store.ended.notify_all();
    }
}

impl Attempt for InMemoryAttempt {
    fn draft(&self) -> &TaskRecord {
        &self.left().draft
    }

    fn update(&mut self, draft: &TaskRecord) -> Result<(), StoreError> {
        self.change(|left| left.draft = draft.clone());
        Ok(())
    }

    fn note(&mut self, name: &str, state: &[u8]) -> Result<(), StoreError> {
        self.change(|left| {
            left.notes.insert(name.to_owned(), state.to_vec());
        });
        Ok(())
    }

    fn noted(&self, name: &str) -> Result<Option<Vec<u8>>, StoreError> {
        Ok(self.left().notes.get(name).cloned())
    }

    fn publishing(&self) -> Option<Publishing> {
        self.left().publishing
    }

    fn stage(&self, role: Role) -> Result<Box<dyn ObjectWriter>, StoreError> {
        self.take(Taken::Role(role))?;
        let (written, staged) = (Arc::clone(&self.left().written), Arc::clone(&self.staged));
        Ok(Box::new(InMemoryWriter { role, bytes: Vec::new(), written, staged }))
    }

    fn salvage(&self, role: Role) -> Result<Option<ContentRef>, StoreError> {
        self.take(Taken::Role(role))?;
        let written = hold(&self.left().written).get(&role).cloned();
        Ok(written.map(|bytes| hold(&self.staged).add(bytes)))
    }

    fn capture_sink(&self) -> Result<Box<dyn CaptureSink>, StoreError> {
        self.take(Taken::Capture)?;
        Ok(Box::new(InMemorySink::new(&self.staged)))
    }

    fn snapshot_sink(&self) -> Result<Box<dyn CaptureSink>, StoreError> {
        self.take(Taken::Snapshot)?;
        Ok(Box::new(InMemorySink::new(&self.staged)))
    }

    fn copies_sink(&self) -> Result<Box<dyn CaptureSink>, StoreError> {
        self.take(Taken::Copies)?;
        Ok(Box::new(InMemorySink::new(&self.staged)))
    }

    fn discard(mut self: Box<Self>) -> Result<(), StoreError> {
        self.left = None;
        Ok(())
    }

    fn into_any(self: Box<Self>) -> Box<dyn std::any::Any> {
        self
    }
}

struct InMemoryWriter {
    role: Role,
    bytes: Vec<u8>,
    written: Shared<HashMap<Role, Vec<u8>>>,
    staged: Shared<Staged>,
}

impl Write for InMemoryWriter {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.bytes.extend_from_slice(bytes);
        hold(&self.written).entry(self.role).or_default().extend_from_slice(bytes);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

impl ObjectWriter for InMemoryWriter {
    fn finish(self: Box<Self>) -> Result<ContentRef, StoreError> {
        Ok(hold(&self.staged).add(self.bytes))
    }
}

struct InMemorySink {
    staged: Shared<Staged>,
    lines: Vec<ChangeLine>,
    summary: ChangeSummary,
    patch: Vec<u8>,
    workspace_git: Vec<u8>,
}

impl InMemorySink {
    fn new(staged: &Shared<Staged>) -> Self {
        let (lines, summary) = (Vec::new(), ChangeSummary::default());
        Self { staged: Arc::clone(staged), lines, summary, patch: Vec::new(), workspace_git: Vec::new() }
    }
}

impl CaptureSink for InMemorySink {
    fn content(&mut self, content: &mut dyn Read) -> Result<ContentRef, Cause> {
        let mut bytes = Vec::new();
        content.read_to_end(&mut bytes)?;
        Ok(hold(&self.staged).add(bytes))
    }

    fn line(&mut self, line: ChangeLine) -> Result<(), Cause> {
        self.summary.count(&line);
        self.lines.push(line);
        Ok(())
    }

    fn patch(&mut self) -> &mut dyn Write {
        &mut self.patch
    }

    fn workspace_git(&mut self) -> &mut dyn Write {
        &mut self.workspace_git
    }

    fn finish(self: Box<Self>) -> Result<CapturedRefs, StoreError> {
        let Self { staged, lines, summary, patch, workspace_git } = *self;
        let mut staged = hold(&staged);
        let mut add = |bytes: Vec<u8>| (!bytes.is_empty()).then(|| staged.add(bytes));
        let (patch, workspace_git) = (add(patch), add(workspace_git));
        let change_set = (!lines.is_empty()).then(|| {
            let text = format!("{lines:?}");
            let set = ChangeSetRef { id: digest(text.as_bytes()), length: text.len() as u64, summary };
            staged.change_sets.insert(set.id, lines);
            set
        });
        Ok(CapturedRefs { change_set, patch, workspace_git })
    }
}
