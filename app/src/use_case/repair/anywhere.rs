//! Several stores as one: each thing is read from the first that has it whole.

use crate::use_case::take_over::{Source, part};
use isobox_domain::change::ChangeSetRef;
use isobox_domain::content::ContentId;
use isobox_domain::event::Event;
use isobox_domain::record::{RecordEntry, TaskRecord};
use isobox_ports::{
    AppendError, Attempt, Cause, ChangeLines, Content, ObjectStore, RecordLog, StoreError, StoreErrorKind, StoredEvent,
};
use isobox_store_format::change_set::read_change_set;
use isobox_store_format::record::{ChildRole, children, decode_record};

/// Stores, the surest first.
pub(super) struct Anywhere<'a> {
    pub(super) all: Vec<Source<'a>>,
}

impl Anywhere<'_> {
    /// The first answer that is one; else the last error.
    fn first<T>(&self, ask: impl Fn(&Source<'_>) -> Result<Option<T>, StoreError>) -> Result<Option<T>, StoreError> {
        let mut failure = None;
        for source in &self.all {
            match ask(source) {
                Ok(Some(found)) => return Ok(Some(found)),
                Ok(None) => {}
                Err(error) => failure = Some(error),
            }
        }
        failure.map_or(Ok(None), Err)
    }
}

impl ObjectStore for Anywhere<'_> {
    fn open(&self, id: &ContentId) -> Result<Option<Content>, StoreError> {
        self.first(|source| source.objects.open(id))
    }

    fn changes(&self, change_set: &ChangeSetRef) -> Result<ChangeLines<'_>, StoreError> {
        let lines = read_change_set(change_set, |reference| part(self, reference));
        let lines = lines.map_err(|error| damaged(&change_set.id, error))?;
        Ok(Box::new(lines.map(|line| line.map_err(Cause::from))))
    }
}

impl RecordLog for Anywhere<'_> {
    fn publish_keeping(
        &self,
        _attempt: Box<dyn Attempt>,
        record: &TaskRecord,
    ) -> Result<(ContentId, Box<dyn Attempt>), StoreError> {
        Err(read_only(&record.task.to_string()))
    }

    fn append(&self, event: &Event) -> Result<ContentId, AppendError> {
        Err(read_only(&event.task.to_string()).into())
    }

    fn bytes(&self, id: &ContentId) -> Result<Option<Vec<u8>>, StoreError> {
        self.first(|source| source.records.bytes(id))
    }

    // Record and policy need not be whole in the same place.
    fn load(&self, id: &ContentId) -> Result<Option<TaskRecord>, StoreError> {
        let Some(bytes) = self.bytes(id)? else { return Ok(None) };
        let children = children(&bytes).map_err(|error| damaged(id, error))?;
        let policy = children.iter().find(|child| child.role == ChildRole::Policy);
        let policy = policy.map(|policy| part(self, &policy.reference)).transpose().map_err(|e| damaged(id, e))?;
        decode_record(&bytes, &policy.unwrap_or_default()).map(Some).map_err(|error| damaged(id, error))
    }

    fn events(&self, subject: &ContentId) -> Result<Vec<StoredEvent>, StoreError> {
        let events =
            self.first(|source| source.records.events(subject).map(|events| Some(events).filter(|it| !it.is_empty())))?;
        Ok(events.unwrap_or_default())
    }

    fn list(&self) -> Result<Box<dyn Iterator<Item = Result<RecordEntry, StoreError>> + '_>, StoreError> {
        let all: Vec<_> = self.all.iter().map(|source| source.records.list()).collect::<Result<_, _>>()?;
        Ok(Box::new(all.into_iter().flatten()))
    }
}

fn damaged(id: &ContentId, source: impl Into<Cause>) -> StoreError {
    StoreError { kind: StoreErrorKind::Damaged, operation: "read", subject: id.to_string(), source: source.into() }
}

fn read_only(subject: &str) -> StoreError {
    let source = "several stores together are only read".into();
    StoreError { kind: StoreErrorKind::Unsuitable, operation: "write", subject: subject.to_owned(), source }
}
