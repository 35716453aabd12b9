//! Looking at attempts that are not over: by their locks, which die with their processes.

use crate::attempts::{JOURNAL, find_directory};
use crate::dir::{Access, Dir, absent_is_none};
use crate::error::failed;
use crate::follow::{self, is_gone};
use crate::holder;
use crate::journal::{Journal, Replayed};
use crate::looks::look_into;
use crate::store::FsTaskStore;
use isobox_domain::record::TaskRecord;
use isobox_ports::{Asked, Flow, OpenAttempt, OpenAttempts, Role, StoreError};
use std::collections::HashMap;
use std::fs::{File, TryLockError};
use std::io;

const TMP: &str = "tmp";

/// An attempt that was looked at. Its files stay readable although its owner removes them.
struct FsOpenAttempt {
    dir: Dir,
    journal: File,
    draft: TaskRecord,
    notes: HashMap<String, Vec<u8>>,
    is_running: bool,
    subject: String,
}

impl OpenAttempts for FsTaskStore {
    fn look(&self) -> Result<Vec<Box<dyn OpenAttempt>>, StoreError> {
        let root = &self.shared.layout.root;
        // A copy of a store may lack what is empty in it.
        let found = root.find_dir(TMP).map_err(failed("open", &root.shown(TMP)))?;
        let Some(tmp) = found else { return Ok(Vec::new()) };
        let mut seen: Vec<Box<dyn OpenAttempt>> = Vec::new();
        for name in tmp.names().map_err(failed("list", &tmp.shown("")))? {
            match look_at(&tmp, &name) {
                Ok(found) => seen.extend(found.map(|found| Box::new(found) as Box<dyn OpenAttempt>)),
                // It belongs to another user.
                Err(error) if error.kind() == io::ErrorKind::PermissionDenied => {}
                Err(error) => return Err(failed("look at attempt", &tmp.shown(&name))(error)),
            }
        }
        Ok(seen)
    }
}

fn look_at(tmp: &Dir, name: &str) -> io::Result<Option<FsOpenAttempt>> {
    let Some(dir) = find_directory(tmp, name)?.map(held).transpose()?.flatten() else { return Ok(None) };
    let Some(journal) = absent_is_none(dir.file(JOURNAL, Access::Read))? else { return Ok(None) };
    let is_running = is_locked(&journal)?;
    let (_, Replayed { draft, notes, .. }) = Journal::replay(journal.try_clone()?)?;
    // It ended while it was looked at, or has only just begun. Another one that got its directory has another name.
    if is_gone(&journal)? || !dir.is_named(tmp, name)? {
        return Ok(None);
    }
    let subject = tmp.shown(name).to_string();
    Ok(draft.map(|draft| FsOpenAttempt { dir, journal, draft, notes, is_running, subject }))
}

/// The directory, held as long as it is open: an attempt that ends meanwhile removes its journal.
fn held(dir: Dir) -> io::Result<Option<Dir>> {
    Ok(look_into(&dir)?.then_some(dir))
}

/// Whether the process that runs an attempt holds its journal. A look shares the lock for a moment, so that looks do not
/// take one another for owners.
fn is_locked(journal: &File) -> io::Result<bool> {
    match journal.try_lock_shared() {
        Ok(()) => journal.unlock().map(|()| false),
        Err(TryLockError::WouldBlock) => Ok(true),
        Err(TryLockError::Error(error)) => Err(error),
    }
}

impl OpenAttempt for FsOpenAttempt {
    fn draft(&self) -> &TaskRecord {
        &self.draft
    }

    fn noted(&self, name: &str) -> Option<&[u8]> {
        self.notes.get(name).map(Vec::as_slice)
    }

    fn is_running(&self) -> bool {
        self.is_running
    }

    fn interrupt(&self) -> Result<Asked, StoreError> {
        let asked = is_locked(&self.journal).and_then(|is_running| match is_running {
            true => holder::interrupt(&self.journal),
            false => Ok(Asked::Over),
        });
        asked.map_err(failed("interrupt attempt", &self.subject))
    }

    fn wait(&self) -> Result<(), StoreError> {
        let waited = self.journal.lock_shared().and_then(|()| self.journal.unlock());
        waited.map_err(failed("wait for attempt", &self.subject))
    }

    fn follow(&self, receive: &mut dyn FnMut(Role, &[u8]) -> Flow) -> Result<(), StoreError> {
        follow::follow(&self.dir, &self.journal, receive).map_err(failed("follow attempt", &self.subject))
    }
}
