//! Beginning attempts, and finding those that nobody runs any more.

use crate::attempt::FsAttempt;
use crate::dir::{Access, Dir};
use crate::error::{error, failed};
use crate::journal::Journal;
use crate::lane::require_usable;
use crate::layout::Layout;
use crate::locks::{BEGIN, Sharing, lock, open_all, try_lock};
use crate::looks::{let_go, look_into};
use crate::random::random_name;
use crate::spare;
use crate::store::{FsTaskStore, Shared};
use isobox_domain::content::ContentId;
use isobox_domain::record::TaskRecord;
use isobox_ports::{Attempt, Attempts, Publishing, StoreError, StoreErrorKind};
use nix::sys::statvfs::fstatvfs;
use std::fs::{File, TryLockError};
use std::io::{self, Write};
use std::os::unix::fs::MetadataExt;
use std::sync::Arc;

pub(crate) const JOURNAL: &str = "attempt";
/// Free inodes that an attempt may need: its directory, journal, outputs, staging, and a few large artifacts.
const INODES: u64 = 32;

impl Attempts for FsTaskStore {
    fn probe(&self, room_bytes: u64) -> Result<(), StoreError> {
        self.shared.layout.require_writable()?;
        let tmp = self.shared.layout.tmp()?;
        try_writing(tmp).map_err(failed("write to", &tmp.shown("")))?;
        require_room(tmp, room_bytes)?;
        // What a put opens is opened now: where it cannot be, nothing has happened yet.
        open_all(self.shared.layout.locks()?)?;
        require_usable(&self.shared.layout)?;
        self.shared.fresh_index().map(drop)
    }

    fn begin(&self, draft: &TaskRecord) -> Result<Box<dyn Attempt>, StoreError> {
        Ok(Box::new(begin(&self.shared, draft)?))
    }

    fn abandoned(&self) -> Result<Vec<Box<dyn Attempt>>, StoreError> {
        let tmp = self.shared.layout.tmp()?;
        let mut found: Vec<Box<dyn Attempt>> = Vec::new();
        for name in tmp.names().map_err(failed("list", &tmp.shown("")))? {
            match take_over(&self.shared, tmp, &name) {
                Ok(attempt) => found.extend(attempt.map(|attempt| Box::new(attempt) as Box<dyn Attempt>)),
                // It belongs to another user, who will find it.
                Err(error) if error.kind == StoreErrorKind::Unsuitable => {}
                Err(error) => return Err(error),
            }
        }
        Ok(found)
    }
}

fn begin(store: &Arc<Shared>, draft: &TaskRecord) -> Result<FsAttempt, StoreError> {
    let layout = &store.layout;
    layout.require_writable()?;
    // While this is held, nobody takes the directory for what a killed process left before its draft.
    let _beginning = lock(layout.locks()?, BEGIN, Sharing::Shared)?;
    let tmp = layout.tmp()?;
    let name = random_name().map_err(failed("name", "an attempt"))?;
    let begun = begin_in(layout, tmp, &name, draft);
    let (dir, journal) = begun.map_err(|e| {
        remove_quietly(tmp, &name);
        failed("begin attempt", &tmp.shown(&name))(e)
    })?;
    Ok(FsAttempt::new(Arc::clone(store), name, dir, journal, draft.clone()))
}

fn begin_in(layout: &Layout, tmp: &Dir, name: &str, draft: &TaskRecord) -> io::Result<(Dir, Journal)> {
    let dir = match spare::take(layout, tmp, name) {
        Some(dir) => dir,
        None => make_dir(tmp, name)?,
    };
    let file = dir.file(JOURNAL, Access::Empty)?;
    // Whoever looks for dead attempts holds it for a moment at most.
    file.lock()?;
    let mut journal = Journal::new(file);
    journal.draft(draft)?;
    Ok((dir, journal))
}

fn make_dir(tmp: &Dir, name: &str) -> io::Result<Dir> {
    // What was there instead was as good for nobody.
    tmp.remove_dir(name)?;
    // Root's attempt stays root's in another user's store: so does its Workspace, which that user could not capture.
    tmp.make_own_dir(name)?;
    tmp.dir(name)
}

fn take_over(store: &Arc<Shared>, tmp: &Dir, name: &str) -> Result<Option<FsAttempt>, StoreError> {
    let subject = tmp.shown(name);
    let Some((dir, file)) = open_dead(tmp, name).map_err(failed("open attempt", &subject))? else {
        return remove_remains(store, tmp, name).map(|()| None);
    };
    let Some(file) = file else { return Ok(None) };
    let (journal, left) = Journal::replay(file).map_err(failed("read attempt", &subject))?;
    if left.draft.is_none() {
        tmp.remove_dir(name).map_err(failed("remove attempt", &subject))?;
        return Ok(None);
    }
    let publishing = left.publishing.map(|record| became_of(store, &record)).transpose()?;
    Ok(FsAttempt::take_over(Arc::clone(store), name.to_owned(), dir, journal, left, publishing))
}

fn became_of(store: &Arc<Shared>, record: &ContentId) -> Result<Publishing, StoreError> {
    let is_done = FsTaskStore { shared: Arc::clone(store) }.is_published_whole(record)?;
    Ok(if is_done { Publishing::Done(*record) } else { Publishing::Undone })
}

/// Opens the directory and locks the journal of an attempt. `None`: it has no journal, or an empty one. No file: somebody
/// runs it, has just ended it, or is another user, who will find it.
fn open_dead(tmp: &Dir, name: &str) -> io::Result<Option<(Dir, Option<File>)>> {
    let Some(dir) = find_directory(tmp, name)? else { return Ok(None) };
    if !look_into(&dir)? {
        return Ok(Some((dir, None)));
    }
    let found = lock_dead(&dir, tmp, name);
    // Whose journal is locked is not cleared up by anybody else.
    let_go(&dir)?;
    Ok(found?.map(|file| (dir, file)))
}

fn lock_dead(dir: &Dir, tmp: &Dir, name: &str) -> io::Result<Option<Option<File>>> {
    let Some(file) = crate::dir::absent_is_none(dir.file(JOURNAL, Access::Existing))? else { return Ok(None) };
    match file.try_lock() {
        Ok(()) => {}
        Err(TryLockError::WouldBlock) => return Ok(Some(None)),
        Err(TryLockError::Error(error)) => return Err(error),
    }
    let metadata = file.metadata()?;
    // What it says is believed: which directory is captured, which is removed. Only its owner may be served by that.
    if metadata.uid() != nix::unistd::geteuid().as_raw() {
        return Ok(Some(None));
    }
    // Its owner may have removed it between the open and the lock; or it is another attempt's by now, which got the directory
    // and is found under its own name.
    if !dir.is_named(tmp, name)? {
        return Ok(Some(None));
    }
    let is_left = metadata.nlink() > 0;
    Ok((!is_left || metadata.len() > 0).then_some(is_left.then_some(file)))
}

/// Opens the directory `name`; `None` where there is none.
pub(crate) fn find_directory(tmp: &Dir, name: &str) -> io::Result<Option<Dir>> {
    match tmp.find_dir(name) {
        Err(error) if error.kind() == io::ErrorKind::NotADirectory => Ok(None),
        found => found,
    }
}

// Something without a journal is being made right now, or its maker was killed: nobody makes any while BEGIN is held.
fn remove_remains(store: &Shared, tmp: &Dir, name: &str) -> Result<(), StoreError> {
    let Some(_none_begins) = try_lock(store.layout.locks()?, BEGIN, Sharing::Exclusive)? else { return Ok(()) };
    let still_none = open_dead(tmp, name).map_err(failed("open attempt", &tmp.shown(name)))?.is_none();
    if still_none {
        remove_quietly(tmp, name);
    }
    Ok(())
}

// What cannot be removed now is found again by the next start.
fn remove_quietly(tmp: &Dir, name: &str) {
    match tmp.remove_dir(name).or_else(|_| tmp.remove_file(name)) {
        Ok(()) | Err(_) => {}
    }
}

fn try_writing(tmp: &Dir) -> io::Result<()> {
    let name = format!("probe-{}", random_name()?);
    let written = tmp.file(&name, Access::CreateNew).and_then(|mut file| file.write_all(&[0; 4096]));
    tmp.remove_file(&name)?;
    written
}

fn require_room(tmp: &Dir, room_bytes: u64) -> Result<(), StoreError> {
    let subject = tmp.shown("");
    let stat = fstatvfs(tmp).map_err(|errno| failed("look at the room of", &subject)(errno.into()))?;
    let free = stat.blocks_available().saturating_mul(stat.fragment_size());
    // File systems that have no fixed number of inodes say that they have none at all.
    let lacks_inodes = stat.files() > 0 && stat.files_available() < INODES;
    if free >= room_bytes && !lacks_inodes {
        return Ok(());
    }
    let reason =
        format!("{free} bytes and {} inodes are free, {room_bytes} and {INODES} are needed", stat.files_available());
    Err(error(StoreErrorKind::Full, "find room in", subject, reason))
}
