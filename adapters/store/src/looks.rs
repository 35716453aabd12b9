//! Locks of the directories of attempts. Whoever has opened the journal of another process's attempt holds its directory
//! shared, so that this journal is never handed on to the next attempt: else who looks at one would interrupt the other.

use crate::dir::Dir;
use rustix::fs::{FlockOperation, flock};
use rustix::io::Errno;
use std::io;

/// Holds a directory until it is closed or [let go](let_go). `false`: its attempt is being cleared up.
pub(crate) fn look_into(dir: &Dir) -> io::Result<bool> {
    hold(dir, FlockOperation::NonBlockingLockShared)
}

/// Holds a directory alone until it is closed. `false`: somebody looks into it.
pub(crate) fn hold_alone(dir: &Dir) -> io::Result<bool> {
    hold(dir, FlockOperation::NonBlockingLockExclusive)
}

/// Ends what [`look_into`] began.
pub(crate) fn let_go(dir: &Dir) -> io::Result<()> {
    Ok(flock(dir, FlockOperation::Unlock)?)
}

fn hold(dir: &Dir, how: FlockOperation) -> io::Result<bool> {
    match flock(dir, how) {
        Ok(()) => Ok(true),
        Err(Errno::WOULDBLOCK) => Ok(false),
        Err(errno) => Err(errno.into()),
    }
}
