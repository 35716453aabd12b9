//! One attempt in progress: a directory in `tmp/` with a locked journal and what was staged.

use crate::attempts::JOURNAL;
use crate::capture::FsCaptureSink;
use crate::dir::Dir;
use crate::error::{error, failed};
use crate::journal::{Journal, Replayed};
use crate::output::{self, Output, role_name};
use crate::room;
use crate::spare;
use crate::staging::{SharedStaging, Staging, hold};
use crate::store::Shared;
use isobox_domain::content::{ContentId, ContentRef};
use isobox_domain::record::TaskRecord;
use isobox_ports::{Attempt, CaptureSink, ObjectWriter, Publishing, Role, StoreError, StoreErrorKind};
use std::collections::{HashMap, HashSet};
use std::sync::{Arc, Mutex, PoisonError};

/// An attempt of a [`FsTaskStore`](crate::FsTaskStore).
pub(crate) struct FsAttempt {
    pub(crate) store: Arc<Shared>,
    /// The name of its directory in `tmp/`.
    name: String,
    journal: Journal,
    draft: TaskRecord,
    notes: HashMap<String, Vec<u8>>,
    /// What the dead owner of an abandoned one had come to.
    publishing: Option<Publishing>,
    pub(crate) staging: SharedStaging,
    /// Roles that were staged, and whether a capture was begun.
    taken: Mutex<HashSet<Taken>>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
enum Taken {
    Role(Role),
    Capture,
    Snapshot,
    Copies,
}

impl FsAttempt {
    /// Takes an attempt whose journal is locked.
    pub(crate) fn new(store: Arc<Shared>, name: String, dir: Dir, journal: Journal, draft: TaskRecord) -> Self {
        let staging = Arc::new(Mutex::new(Staging::new(Arc::new(dir))));
        let (notes, publishing) = (HashMap::new(), None);
        Self { store, name, journal, draft, notes, publishing, staging, taken: Mutex::default() }
    }

    /// Takes over what a dead owner left, who had come to `publishing`; `None` if it left no draft.
    pub(crate) fn take_over(
        store: Arc<Shared>,
        name: String,
        dir: Dir,
        journal: Journal,
        left: Replayed,
        publishing: Option<Publishing>,
    ) -> Option<Self> {
        let attempt = Self::new(store, name, dir, journal, left.draft?);
        Some(Self { notes: left.notes, publishing, ..attempt })
    }

    /// Notes which record is about to be committed, so that a kill right after that is told from one before.
    pub(crate) fn note_publishing(&mut self, record: &ContentId) -> Result<(), StoreError> {
        let dir = self.dir();
        self.journal.publishing(record).map_err(failed("note in attempt", dir.shown(JOURNAL)))
    }

    /// Removes everything.
    pub(crate) fn remove(self) -> Result<(), StoreError> {
        let (layout, name) = (&self.store.layout, &self.name);
        let tmp = layout.tmp()?;
        // What could not be kept, whatever the reason, is removed.
        let is_kept = spare::keep(layout, tmp, name).unwrap_or(false);
        if is_kept { Ok(()) } else { tmp.remove_dir(name) }.map_err(failed("remove attempt", self.dir().shown(JOURNAL)))
    }

    fn take(&self, what: Taken) -> Result<(), StoreError> {
        let mut taken = self.taken.lock().unwrap_or_else(PoisonError::into_inner);
        if what == Taken::Role(Role::File) || taken.insert(what) {
            return Ok(());
        }
        let subject = match what {
            Taken::Role(role) => role_name(role),
            Taken::Capture => "capture",
            Taken::Snapshot => "snapshot",
            Taken::Copies => "copies",
        };
        Err(error(StoreErrorKind::Io, "stage", subject, "it was staged before in this attempt"))
    }

    fn dir(&self) -> Arc<Dir> {
        hold(&self.staging).dir()
    }
}

impl Attempt for FsAttempt {
    fn draft(&self) -> &TaskRecord {
        &self.draft
    }

    fn update(&mut self, draft: &TaskRecord) -> Result<(), StoreError> {
        let dir = self.dir();
        self.journal.draft(draft).map_err(failed("update attempt", dir.shown(JOURNAL)))?;
        self.draft = draft.clone();
        Ok(())
    }

    fn note(&mut self, name: &str, state: &[u8]) -> Result<(), StoreError> {
        let dir = self.dir();
        if name.is_empty() || !name.bytes().all(|byte| byte.is_ascii_lowercase() || byte == b'-') {
            return Err(error(
                StoreErrorKind::Io,
                "note in attempt",
                dir.shown(JOURNAL),
                "the name of a note is a-z and `-`",
            ));
        }
        self.journal.note(name, state).map_err(failed("note in attempt", dir.shown(JOURNAL)))?;
        self.notes.insert(name.to_owned(), state.to_vec());
        Ok(())
    }

    fn noted(&self, name: &str) -> Result<Option<Vec<u8>>, StoreError> {
        Ok(self.notes.get(name).cloned())
    }

    fn publishing(&self) -> Option<Publishing> {
        self.publishing
    }

    fn set_room_aside(&self) {
        room::set_aside(&hold(&self.staging).dir());
    }

    fn stage(&self, role: Role) -> Result<Box<dyn ObjectWriter>, StoreError> {
        self.take(Taken::Role(role))?;
        Ok(Box::new(Output::new(&self.staging, role)))
    }

    fn salvage(&self, role: Role) -> Result<Option<ContentRef>, StoreError> {
        self.take(Taken::Role(role))?;
        output::salvage(&self.staging, role).map_err(failed("salvage", role_name(role)))
    }

    fn capture_sink(&self) -> Result<Box<dyn CaptureSink>, StoreError> {
        self.take(Taken::Capture)?;
        Ok(Box::new(FsCaptureSink::new(&self.staging)))
    }

    fn snapshot_sink(&self) -> Result<Box<dyn CaptureSink>, StoreError> {
        self.take(Taken::Snapshot)?;
        Ok(Box::new(FsCaptureSink::new(&self.staging)))
    }

    fn copies_sink(&self) -> Result<Box<dyn CaptureSink>, StoreError> {
        self.take(Taken::Copies)?;
        Ok(Box::new(FsCaptureSink::new(&self.staging)))
    }

    fn discard(self: Box<Self>) -> Result<(), StoreError> {
        self.remove()
    }

    fn into_any(self: Box<Self>) -> Box<dyn std::any::Any> {
        self
    }
}
