//! Locks of the store: empty files that are never deleted, each held by flock, so that a killed process holds none.

use crate::dir::{Access, Dir};
use crate::error::{error, failed};
use isobox_ports::{StoreError, StoreErrorKind};
use isobox_store_format::limits::LANES;
use std::fs::{File, TryLockError};
use std::time::{Duration, Instant};

/// How long a lock is waited for before the store counts as locked.
const PATIENCE: Duration = Duration::from_secs(10);
const LONGEST_PAUSE: Duration = Duration::from_millis(20);

/// Held by writers shared from the decision what is stored already to the COMMIT; by a collector exclusively.
pub(crate) const GC: &str = "gc";
/// Held while an event is checked against the newest of its subject and appended.
pub(crate) const EVENTS: &str = "events";
/// Held shared while an attempt begins, until its own lock is held.
pub(crate) const BEGIN: &str = "begin";

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

/// Takes the lock `name`, waiting a while for it.
pub(crate) fn lock(locks: &Dir, name: &str, sharing: Sharing) -> Result<Lock, StoreError> {
    wait_for(&locks.shown(name), || try_lock(locks, name, sharing))
}

/// Takes the lock `name` if nobody is in the way.
pub(crate) fn try_lock(locks: &Dir, name: &str, sharing: Sharing) -> Result<Option<Lock>, StoreError> {
    let subject = locks.shown(name);
    let file = locks.file(name, Access::Create).map_err(failed("open lock", &subject))?;
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

/// Takes the first free lane.
pub(crate) fn lock_lane(locks: &Dir) -> Result<(u8, Lock), StoreError> {
    wait_for(&locks.shown("lane-*"), || {
        for lane in 0..LANES {
            if let Some(lock) = try_lock(locks, &format!("lane-{lane:02}"), Sharing::Exclusive)? {
                return Ok(Some((lane, lock)));
            }
        }
        Ok(None)
    })
}

/// Tries `take` until it succeeds, for a while: flock(2) has no timeout.
pub(crate) fn wait_for<T>(
    subject: &str,
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
            return Err(error(StoreErrorKind::Locked, "take lock", subject, reason));
        }
        std::thread::sleep(pause);
        pause = (pause * 2).min(LONGEST_PAUSE);
    }
}
