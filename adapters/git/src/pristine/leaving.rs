//! How pristine copies leave the cache, and what was left of others.

use super::held::lock;
use super::turn::{TURN, Turn};
use crate::random::random_name;
use crate::workspace::disposal;
use isobox_ports::Eviction;
use nix::fcntl::FlockArg;
use std::io::{self, ErrorKind};
use std::os::unix::ffi::OsStrExt;
use std::path::Path;

/// How the name of half a copy begins that is being made.
pub(super) const MAKING: &str = ".making-";
/// How the name of a copy begins that is being removed.
const GONE: &str = ".gone-";

/// Removes the copy at `place`, unless somebody uses it, or `may_go` says otherwise once nobody does.
pub(super) fn take_away(place: &Path, may_go: impl FnOnce() -> io::Result<bool>) -> io::Result<Eviction> {
    let locked = match lock(place, FlockArg::LockExclusiveNonblock) {
        Ok(Some(locked)) => locked,
        Ok(None) => return Ok(Eviction::Removed),
        Err(error) if error.kind() == ErrorKind::WouldBlock => return Ok(Eviction::InUse),
        Err(error) => return Err(error),
    };
    if !may_go()? {
        return Ok(Eviction::LainOn);
    }
    let gone = place.with_file_name(format!("{GONE}{}", random_name()?));
    std::fs::rename(place, &gone)?;
    drop(locked);
    disposal::remove(&gone)?;
    Ok(Eviction::Removed)
}

/// Removes what was being made or removed in `around`. To be called by whose turn it is.
pub(super) fn sweep(around: &Path) -> io::Result<()> {
    for entry in std::fs::read_dir(around)? {
        let entry = entry?;
        let name = entry.file_name();
        if [MAKING, GONE].iter().any(|prefix| name.as_bytes().starts_with(prefix.as_bytes())) {
            disposal::remove(&entry.path())?;
        }
    }
    Ok(())
}

/// Removes what was left in `around`, and itself if no copy is in it any more. While somebody makes one, it is let be.
pub(super) fn tidy(around: &Path) -> io::Result<()> {
    let turn = match Turn::try_take(around) {
        Ok(Some(turn)) => turn,
        Ok(None) => return Ok(()),
        Err(error) if error.kind() == ErrorKind::WouldBlock => return Ok(()),
        Err(error) => return Err(error),
    };
    sweep(around)?;
    if std::fs::read_dir(around)?.count() == 1 {
        // Whoever waits for the turn sees that the file is another one by then, or none.
        std::fs::remove_file(around.join(TURN))?;
        match std::fs::remove_dir(around) {
            // Somebody else came meanwhile, to make a copy or to do the same.
            Err(error) if matches!(error.kind(), ErrorKind::DirectoryNotEmpty | ErrorKind::NotFound) => {}
            removed => removed?,
        }
    }
    drop(turn);
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs::File;
    use std::sync::atomic::{AtomicBool, Ordering};

    #[test]
    fn tidying_beside_somebody_who_comes_to_make_a_copy_is_no_failure() {
        let directory = tempfile::tempdir().expect("a temporary directory");
        let around = directory.path().join("0123");
        let is_done = AtomicBool::new(false);
        std::thread::scope(|scope| {
            for _ in 0..2 {
                scope.spawn(|| {
                    while !is_done.load(Ordering::Relaxed) {
                        // It is there, or goes at this moment.
                        std::fs::create_dir_all(&around).unwrap_or_default();
                        // Before it is locked, it is there already.
                        drop(File::options().write(true).create(true).truncate(false).open(around.join(TURN)));
                    }
                });
            }
            let tidied: io::Result<()> = (0..20_000).try_for_each(|_| match around.is_dir() {
                true => tidy(&around),
                false => Ok(()),
            });
            is_done.store(true, Ordering::Relaxed);
            tidied.expect("it is tidied, or let be");
        });
    }
}
