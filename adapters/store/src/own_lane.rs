//! Which lane a put goes into. Whoever comes back to a lane goes through what others put into it meanwhile, so writers that
//! go on have one each.

use crate::dir::{Access, Dir};
use crate::error::failed;
use crate::locks::{Lock, lane_lock, try_lock_lane, wait_for};
use isobox_ports::StoreError;
use isobox_store_format::limits::LANES;
use nix::fcntl::{FcntlArg, fcntl};
use nix::libc::{F_UNLCK, F_WRLCK, SEEK_SET, flock};
use std::fs::File;
use std::sync::{Mutex, MutexGuard, PoisonError};

/// The lane of a writer.
#[derive(Debug, Default)]
pub(crate) struct OwnLane(Mutex<Remembered>);

#[derive(Debug, Default)]
struct Remembered {
    /// What was put into last.
    last: Option<u8>,
    /// What others leave alone while there is another one, and what tells them.
    kept: Option<(u8, File)>,
}

impl OwnLane {
    /// Takes a free lane that is usable: rather the own one than another, and rather one that nobody keeps.
    pub(crate) fn lock(&self, locks: &Dir, is_usable: impl Fn(u8) -> bool) -> Result<(u8, Lock), StoreError> {
        let (last, kept) = {
            let own = self.remembered();
            (own.last, own.kept.as_ref().map(|(lane, _)| *lane))
        };
        let locked = wait_for(locks.shown("lane-*"), || {
            let take = |lane| try_lock_lane(locks, lane).map(|lock| lock.map(|lock| (lane, lock)));
            let in_order = || kept.into_iter().chain(last).chain(0..LANES).filter(|lane| is_usable(*lane));
            for lane in in_order() {
                let is_left_alone = Some(lane) != kept && is_kept(locks, lane)?;
                if !is_left_alone && let Some(taken) = take(lane)? {
                    return Ok(Some(taken));
                }
            }
            in_order().find_map(|lane| take(lane).transpose()).transpose()
        })?;
        self.remember(locks, locked.0);
        Ok(locked)
    }

    /// A writer that comes back keeps the lane: one that is started for each put would for a moment, and for nothing.
    fn remember(&self, locks: &Dir, lane: u8) {
        let mut own = self.remembered();
        if own.last.replace(lane).is_some() && own.kept.is_none() {
            // If another was quicker, a later put finds one.
            own.kept = keep(locks, lane).map(|file| (lane, file));
        }
    }

    fn remembered(&self) -> MutexGuard<'_, Remembered> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Keeps a lane until what is returned is closed. It goes with the process, and a kernel that has no such locks keeps none.
fn keep(locks: &Dir, lane: u8) -> Option<File> {
    let file = locks.file(&lane_lock(lane), Access::Create).ok()?;
    fcntl(&file, FcntlArg::F_OFD_SETLK(&whole_file())).is_ok().then_some(file)
}

/// Whether somebody keeps a lane.
fn is_kept(locks: &Dir, lane: u8) -> Result<bool, StoreError> {
    let name = lane_lock(lane);
    let file = locks.file(&name, Access::Create).map_err(failed("open lock", &locks.shown(&name)))?;
    let mut found = whole_file();
    let asked = fcntl(&file, FcntlArg::F_OFD_GETLK(&mut found));
    Ok(asked.is_ok() && found.l_type != F_UNLCK as i16)
}

// What flock(2) locks for a put is another lock of the same file: see fcntl(2), "Open file description locks".
fn whole_file() -> flock {
    flock { l_type: F_WRLCK as i16, l_whence: SEEK_SET as i16, l_start: 0, l_len: 0, l_pid: 0 }
}
