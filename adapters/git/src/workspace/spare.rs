//! Empty places of overlays, kept from Workspaces that are over for those that begin. Where a directory is made, a file system
//! may search for long: ext4 without a journal looks at every inode that was removed in the last minutes.

use super::disposal;
use super::overlay::{PARTS, PRIVATE, make_parts};
use nix::unistd::{getegid, geteuid};
use std::fs::{self, File, TryLockError};
use std::io;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

/// So many are kept: more Workspaces than that seldom begin or end at once.
const MOST: usize = 8;

/// Makes one of them `place`, where nothing is; whether there was one that is as good as a fresh one.
pub(super) fn take(place: &Path) -> io::Result<bool> {
    for spare in spares(place) {
        if fs::rename(&spare, place).is_err() {
            continue;
        }
        if is_fresh(place).unwrap_or(false) {
            return Ok(true);
        }
        // A power cut left a part of it, or it is somebody else's.
        disposal::remove(place)?;
    }
    Ok(false)
}

/// How long somebody is waited for who removes the same Workspace.
const LONGEST_WAIT: Duration = Duration::from_secs(10);
/// How often is looked whether that one is done: flock(2) has no timeout.
const LOOK: Duration = Duration::from_millis(2);

/// Keeps `place` without what is in it, or removes it. Of a copy, and of what lay in memory, there is nothing to keep. Of two who do
/// it at once, one waits for the other: both at it would go on in what the first of them keeps, which is somebody's Workspace by then.
pub(super) fn keep_or_remove(place: &Path) -> io::Result<()> {
    within(LONGEST_WAIT, place)
}

fn within(longest: Duration, place: &Path) -> io::Result<()> {
    // What cannot be held is kept by nobody.
    let Ok(held) = File::open(place) else { return disposal::remove(place) };
    let begun = Instant::now();
    loop {
        match held.try_lock() {
            Ok(()) if keep(place).unwrap_or(false) => return Ok(()),
            Ok(()) | Err(TryLockError::Error(_)) => return disposal::remove(place),
            Err(TryLockError::WouldBlock) if begun.elapsed() < longest => std::thread::sleep(LOOK),
            // It may be stopped, or hold on for no reason.
            Err(TryLockError::WouldBlock) => {
                return Err(io::Error::new(io::ErrorKind::ResourceBusy, "somebody else is removing it"));
            }
        }
    }
}

fn keep(place: &Path) -> io::Result<bool> {
    let is_overlay = PARTS.iter().all(|(part, _)| place.join(part).is_dir());
    let Some(spare) = spares(place).find(|spare| is_overlay && !spare.exists()) else { return Ok(false) };
    // Its parts, too: a workload may have changed the mode and the attributes of its root, and the kernel may not be done
    // with its own directory yet.
    disposal::empty(place)?;
    make_parts(place)?;
    // Somebody may have come first: what is in theirs stays.
    Ok(is_fresh(place)? && fs::rename(place, spare).is_ok())
}

fn spares(place: &Path) -> impl Iterator<Item = PathBuf> {
    (0..MOST).map(move |n| place.with_file_name(format!(".spare-{n}")))
}

/// Whether everything is there, is the caller's and is empty.
fn is_fresh(place: &Path) -> io::Result<bool> {
    let is_complete = is_own(place, PRIVATE)? && entries(place)? == PARTS.len();
    let is_part =
        |(part, mode): &(&str, u32)| Ok(is_own(&place.join(part), *mode)? && entries(&place.join(part))? == 0);
    Ok(is_complete && PARTS.iter().map(is_part).collect::<io::Result<Vec<bool>>>()?.into_iter().all(|fit| fit))
}

fn entries(directory: &Path) -> io::Result<usize> {
    fs::read_dir(directory).map(Iterator::count)
}

fn is_own(directory: &Path, mode: u32) -> io::Result<bool> {
    let found = fs::symlink_metadata(directory)?;
    let is_callers = (found.uid(), found.gid()) == (geteuid().as_raw(), getegid().as_raw());
    Ok(found.is_dir() && is_callers && found.mode() & 0o7777 == mode)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::fs::PermissionsExt;

    /// A root with the place of an overlay that a workload wrote to.
    fn over() -> (tempfile::TempDir, PathBuf) {
        let root = tempfile::tempdir().unwrap();
        let place = root.path().join("ws-over");
        fs::DirBuilder::new().create(&place).unwrap();
        fs::set_permissions(&place, PermissionsExt::from_mode(PRIVATE)).unwrap();
        make_parts(&place).unwrap();
        fs::write(place.join("upper/written"), "").unwrap();
        fs::set_permissions(place.join("upper"), PermissionsExt::from_mode(0o777)).unwrap();
        fs::create_dir_all(place.join("work/work")).unwrap();
        (root, place)
    }

    #[test]
    fn the_next_workspace_begins_where_one_ended_and_finds_nothing_of_it() {
        let (root, place) = over();
        keep_or_remove(&place).unwrap();
        let next = root.path().join("ws-next");
        assert!(take(&next).unwrap());
        assert!(is_fresh(&next).unwrap());
        assert_eq!(entries(root.path()).unwrap(), 1);
        assert!(!take(&root.path().join("ws-third")).unwrap(), "there was one");
    }

    #[test]
    fn what_is_not_whole_or_not_empty_is_removed_and_not_taken() {
        let spoil: [fn(&Path); 4] = [
            |spare| fs::remove_dir(spare.join("upper")).unwrap(),
            |spare| fs::write(spare.join("upper/planted"), "").unwrap(),
            |spare| fs::write(spare.join("planted"), "").unwrap(),
            |spare| fs::set_permissions(spare.join("upper"), PermissionsExt::from_mode(0o777)).unwrap(),
        ];
        for spoil in spoil {
            let (root, place) = over();
            keep_or_remove(&place).unwrap();
            spoil(&root.path().join(".spare-0"));
            assert!(!take(&place).unwrap());
            assert_eq!(entries(root.path()).unwrap(), 0);
        }
    }

    #[test]
    fn copies_and_what_lay_in_memory_are_removed_and_so_is_what_is_too_much() {
        let (root, place) = over();
        for part in ["ws-copy/root", "ws-memory"] {
            fs::create_dir_all(root.path().join(part)).unwrap();
        }
        for n in 0..MOST {
            keep_or_remove(&root.path().join(["ws-copy", "ws-memory"][n % 2])).unwrap();
            let spare = root.path().join(format!(".spare-{n}"));
            assert!(!spare.exists());
            fs::create_dir(spare).unwrap();
        }
        keep_or_remove(&place).unwrap();
        assert_eq!(entries(root.path()).unwrap(), MOST);
    }

    #[test]
    fn of_two_who_remove_one_does_and_the_other_waits_for_it() {
        let (root, place) = over();
        let first = File::open(&place).unwrap();
        first.lock().unwrap();
        // While the first empties the place, a part may be missing.
        fs::rename(place.join("work"), root.path().join("work")).unwrap();
        std::thread::scope(|scope| {
            let second = scope.spawn(|| keep_or_remove(&place));
            std::thread::sleep(Duration::from_millis(100));
            assert!(!second.is_finished());
            assert!(place.join("upper/written").exists());
            fs::rename(root.path().join("work"), place.join("work")).unwrap();
            drop(first);
            second.join().unwrap().unwrap();
        });
        // Nothing is there any more, which is fine.
        keep_or_remove(&place).unwrap();
        assert_eq!(entries(root.path()).unwrap(), 1);
    }

    #[test]
    fn who_is_not_done_is_not_waited_for_for_ever_and_nothing_is_touched() {
        let (_root, place) = over();
        let first = File::open(&place).unwrap();
        first.lock().unwrap();
        let error = within(Duration::from_millis(20), &place).unwrap_err();
        assert_eq!(error.kind(), io::ErrorKind::ResourceBusy);
        assert!(place.join("upper/written").exists());
    }
}
