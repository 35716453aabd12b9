//! Locks of the store: empty files that are never deleted, held through open files, so that a killed process holds none.

use crate::dir::{Access, Dir};
use crate::error::{Subject, error, failed};
use crate::steps::wait;
use isobox_domain::content::ContentId;
use isobox_ports::{StoreError, StoreErrorKind};
use isobox_store_format::limits::LANES;
use nix::errno::Errno;
use nix::fcntl::{FcntlArg, fcntl};
use std::fmt::Display;
use std::fs::{File, TryLockError};
use std::io;
use std::iter;
use std::time::{Duration, Instant};

/// How long a lock is waited for before the store counts as locked.
const PATIENCE: Duration = Duration::from_secs(10);
const LONGEST_PAUSE: Duration = Duration::from_millis(20);

/// Held by writers shared from the decision what is stored already to the COMMIT; by a collector exclusively.
const GC: &str = "gc";
/// Passed by writers on their way to [`GC`], and held by a collector who waits for it: else writers that follow one another
/// would keep it waiting for ever.
const TURN: &str = "turn";
/// One byte of it for each record; see [`lock_record`].
const RECORDS: &str = "records";
/// Held by whoever extends or rebuilds the transparency log.
pub(crate) const LOG: &str = "log";
/// Held shared while an attempt begins, until its own lock is held.
pub(crate) const BEGIN: &str = "begin";

/// Held while it is looked whether there is room for one more attempt, until that has begun.
pub(crate) const TURNSTILE: &str = "turnstile";
/// Held by the first of those who wait for such room.
pub(crate) const QUEUE: &str = "queue";

/// Held exclusively by whoever rewrites packs.
pub(crate) const COMPACT: &str = "compact";

/// A lock that is held until this is dropped.
#[derive(Debug)]
pub(crate) struct Lock {
    _file: File,
}

/// Whether others may hold the same lock.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Sharing {
    Shared,
    Exclusive,
}

/// Looks whether the locks of a put can be opened, and takes none of them.
pub(crate) fn open_all(locks: &Dir) -> Result<(), StoreError> {
    let names = [TURN, GC, RECORDS, BEGIN, &lane_lock(0)];
    names.into_iter().try_for_each(|name| open(locks, name).map(drop))
}

fn open(locks: &Dir, name: &str) -> Result<File, StoreError> {
    locks.file(name, Access::Create).map_err(failed("open lock", &locks.shown(name)))
}

/// The name of the lock of a lane.
pub(crate) fn lane_lock(lane: u8) -> String {
    format!("lane-{lane:02}")
}

/// Takes the lock `name`, waiting a while for it.
pub(crate) fn lock(locks: &Dir, name: &str, sharing: Sharing) -> Result<Lock, StoreError> {
    wait_for(locks.shown(name), || try_lock(locks, name, sharing))
}

/// Takes the lock `name` exclusively, waiting for it as long as it takes.
pub(crate) fn wait_and_lock(locks: &Dir, name: &str) -> io::Result<Lock> {
    let file = locks.file(name, Access::Create)?;
    file.lock()?;
    Ok(Lock { _file: file })
}

/// Taken for a put: what counts as stored meanwhile stays.
pub(crate) fn lock_for_put(locks: &Dir) -> Result<Lock, StoreError> {
    let _turn = lock(locks, TURN, Sharing::Shared)?;
    lock(locks, GC, Sharing::Shared)
}

/// Taken for removing what nothing refers to: no put is under way meanwhile.
pub(crate) fn lock_for_removal(locks: &Dir) -> Result<Lock, StoreError> {
    let _turn = lock(locks, TURN, Sharing::Exclusive)?;
    lock(locks, GC, Sharing::Exclusive)
}

/// Takes the lock `name` if nobody is in the way.
pub(crate) fn try_lock(locks: &Dir, name: &str, sharing: Sharing) -> Result<Option<Lock>, StoreError> {
    let subject = locks.shown(name);
    let file = open(locks, name)?;
    let held = match sharing {
        Sharing::Shared => file.try_lock_shared(),
        Sharing::Exclusive => file.try_lock(),
    };
    match held {
        Ok(()) => Ok(Some(Lock { _file: file })),
        Err(TryLockError::WouldBlock) => Ok(None),
        Err(TryLockError::Error(error)) => Err(failed("take lock", &subject)(error)),
    }
}

/// Takes the lock of one record, held while it is checked whether it was published before, and published; or which event
/// about it is the newest, and the next one appended. Those of other records are not in the way.
pub(crate) fn lock_record(locks: &Dir, record: &ContentId) -> Result<Lock, StoreError> {
    let subject = Subject(|| format!("{} for {record}", locks.shown(RECORDS)));
    wait_for(subject, || try_lock_record(locks, record))
}

fn try_lock_record(locks: &Dir, record: &ContentId) -> Result<Option<Lock>, StoreError> {
    let subject = locks.shown(RECORDS);
    let file = open(locks, RECORDS)?;
    match fcntl(&file, FcntlArg::F_OFD_SETLK(&byte_of(record))) {
        Ok(_) => Ok(Some(Lock { _file: file })),
        Err(Errno::EAGAIN | Errno::EACCES) => Ok(None),
        // A kernel that has no such locks has none for anybody: then all records have one lock.
        Err(Errno::EINVAL) => try_lock(locks, RECORDS, Sharing::Exclusive),
        Err(errno) => Err(failed("take lock", &subject)(errno.into())),
    }
}

// A lock of one byte belongs to the open file, as flock(2)'s does, and goes with it: see fcntl(2), "Open file description
// locks". The file stays empty, and two records that share a byte just wait for each other.
fn byte_of(record: &ContentId) -> nix::libc::flock {
    let [a, b, c, d, e, f, g, ..] = *record.as_bytes();
    nix::libc::flock {
        l_type: nix::libc::F_WRLCK as i16,
        l_whence: nix::libc::SEEK_SET as i16,
        l_start: i64::from_be_bytes([0, a, b, c, d, e, f, g]),
        l_len: 1,
        l_pid: 0,
    }
}

/// Takes the first free lane that is usable, but rather `preferred` than any other.
pub(crate) fn lock_lane(locks: &Dir, preferred: u8, is_usable: impl Fn(u8) -> bool) -> Result<(u8, Lock), StoreError> {
    wait_for(locks.shown("lane-*"), || {
        let others = (0..LANES).filter(|lane| *lane != preferred);
        for lane in iter::once(preferred).chain(others).filter(|lane| is_usable(*lane)) {
            if let Some(lock) = try_lock_lane(locks, lane)? {
                return Ok(Some((lane, lock)));
            }
        }
        Ok(None)
    })
}

/// Takes the lane `number` if nobody puts into it.
pub(crate) fn try_lock_lane(locks: &Dir, number: u8) -> Result<Option<Lock>, StoreError> {
    try_lock(locks, &lane_lock(number), Sharing::Exclusive)
}

/// Tries `take` until it succeeds, for a while: flock(2) has no timeout.
pub(crate) fn wait_for<T>(
    subject: impl Display,
    mut take: impl FnMut() -> Result<Option<T>, StoreError>,
) -> Result<T, StoreError> {
    let start = Instant::now();
    let mut pause = Duration::from_micros(200);
    loop {
        if let Some(taken) = take()? {
            return Ok(taken);
        }
        if start.elapsed() > PATIENCE {
            let reason = format!("another process has held it for over {} s", PATIENCE.as_secs());
            return Err(error(StoreErrorKind::Locked, "take lock", subject.to_string(), reason));
        }
        wait(pause);
        pause = (pause * 2).min(LONGEST_PAUSE);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_record_is_locked_by_one_at_a_time_and_is_not_in_the_way_of_another() {
        let directory = tempfile::tempdir().unwrap();
        let locks = Dir::open(directory.path()).unwrap();
        let [one, other] = [1, 2].map(|n| ContentId::new([n; 32]));
        let held = try_lock_record(&locks, &one).unwrap().expect("it is free");
        assert!(try_lock_record(&locks, &one).unwrap().is_none());
        assert!(try_lock_record(&locks, &other).unwrap().is_some());
        drop(held);
        assert!(try_lock_record(&locks, &one).unwrap().is_some());
    }
}
