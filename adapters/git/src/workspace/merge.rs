//! Making a plain directory of an overlay: first what shows through from below is copied, then what was written moves
//! in.
//!
//! Whatever can go wrong for want of space does so while nothing is moved yet. Each move is one rename, so that whatever
//! was written is in one of both directories whenever the process is killed, and doing it again goes on there.
//!
//! What was written is hostile: it is reached through directory handles that follow no link, and no name in it leads
//! anywhere else. Memory and depth grow with the directories of the commit alone.

use super::permitted::Permitted;
use super::shown::{self, Above, Shown, names};
use crate::beneath::{self, Kind};
use crate::capture::marks::Marks;
use crate::fault::step;
use nix::errno::Errno;
use nix::fcntl::renameat;
use std::io;
use std::os::fd::OwnedFd;
use std::path::PathBuf;

/// The directory beside the others of a Workspace that takes what was written.
const UPPER: &[u8] = b"upper";

/// Copies what shows through the upper directory in `place` of `lowers` (the uppermost first) into the empty directory
/// `target` in `place`.
pub(super) fn copy_lowers(lowers: &[PathBuf], place: &OwnedFd, marks: Marks, target: &str) -> io::Result<()> {
    let lowers = shown::open(lowers)?;
    let upper = Permitted::open(place, UPPER)?;
    let target = beneath::open_directory(place, target.as_bytes())?;
    let above = Above { directory: &upper.directory, marks };
    Shown { lowers: &lowers, above: Some(above) }.copy_to(&target)
}

/// Moves what is in the upper directory in `place` into the directory `target` beside it, which has what shows through.
/// Whiteouts stay.
pub(super) fn move_upper(place: &OwnedFd, target: &str) -> io::Result<()> {
    move_shared(place, UPPER, place, target.as_bytes())
}

/// Moves what is in the directory `name` of `from` into `target` of `to`, and makes that look like it.
fn move_shared(from: &OwnedFd, name: &[u8], to: &OwnedFd, target: &[u8]) -> io::Result<()> {
    let (from, to) = (Permitted::open(from, name)?, Permitted::open(to, target)?);
    for name in move_unshared(&from.directory, &to.directory)? {
        move_shared(&from.directory, &name, &to.directory, &name)?;
    }
    step()?;
    let looks = from.looks();
    // First its own mode again: whoever is killed now does this once more.
    drop(from);
    to.take_over(looks)
}

/// Moves everything that only `upper` has: the directories that both have, which are of the commit.
fn move_unshared(upper: &OwnedFd, target: &OwnedFd) -> io::Result<Vec<Vec<u8>>> {
    loop {
        let (mut shared, mut is_moved) = (Vec::new(), false);
        for name in names(upper)? {
            let name = name?;
            let seen = beneath::look(upper, &name)?;
            if seen.is_whiteout() {
                continue;
            }
            if seen.kind() == Kind::Directory && is_directory(target, &name)? {
                shared.push(name);
            } else {
                move_entry(upper, &name, target)?;
                is_moved = true;
            }
        }
        // What is moved away while names are read can hide others on some file systems.
        if !is_moved {
            return Ok(shared);
        }
    }
}

fn is_directory(around: &OwnedFd, name: &[u8]) -> io::Result<bool> {
    match beneath::look(around, name) {
        Ok(seen) => Ok(seen.kind() == Kind::Directory),
        Err(Errno::ENOENT) => Ok(false),
        Err(errno) => Err(errno.into()),
    }
}

/// A directory moves as it is: with all it holds, however deep.
fn move_entry(upper: &OwnedFd, name: &[u8], target: &OwnedFd) -> io::Result<()> {
    step()?;
    match renameat(upper, name, target, name) {
        // Moving a directory writes to its entry `..`, for which an ordinary user needs permission.
        Err(Errno::EACCES) => {
            let _permitted = Permitted::open(upper, name)?;
            Ok(renameat(upper, name, target, name)?)
        }
        result => Ok(result?),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::capture::tree::open_root;
    use crate::workspace::disposal;
    use isobox_ports::{Overlay, OverlayKind, WorkspaceMount};
    use nix::unistd::{Uid, geteuid, setfsuid};
    use std::fs;
    use std::os::unix::fs::{PermissionsExt, chown};
    use std::path::Path;

    const NOBODY: u32 = 65_534;

    fn mode(path: &Path) -> u32 {
        fs::symlink_metadata(path).expect("it is there").permissions().mode() & 0o7777
    }

    /// Does something as an ordinary user, whose files all below `place` are.
    fn as_ordinary_user(place: &Path, action: impl FnOnce() + Send) {
        if !geteuid().is_root() {
            return action();
        }
        let mut pending = vec![place.to_owned()];
        while let Some(path) = pending.pop() {
            chown(&path, Some(NOBODY), None).expect("it is given away");
            if path.is_dir() {
                pending.extend(fs::read_dir(&path).expect("it is read").map(|entry| entry.expect("a name").path()));
            }
        }
        // Of this thread alone; the capabilities that files need go with it. See setfsuid(2).
        std::thread::scope(|scope| {
            let done = scope.spawn(|| {
                setfsuid(Uid::from_raw(NOBODY));
                action();
            });
            done.join().expect("it ends");
        });
    }

    #[test]
    fn what_its_owner_may_not_open_is_merged_with_its_mode_and_again_after_an_interruption() {
        for root_mode in [0o000, 0o555] {
            let directory = tempfile::tempdir().expect("a temporary directory");
            let place = directory.path();
            for path in ["lower/shared", "upper/shared", "upper/shared/new", "upper/locked/deep", "copied"] {
                fs::create_dir_all(place.join(path)).expect("directories are made");
            }
            for path in ["lower/shared/a", "lower/b", "upper/shared/new/c", "upper/locked/deep/d"] {
                fs::write(place.join(path), path).expect("a file is written");
            }
            as_ordinary_user(place, || {
                let chmod = |path: &str, mode| {
                    fs::set_permissions(place.join(path), fs::Permissions::from_mode(mode)).expect("its mode is set");
                };
                chmod("upper/shared/new", 0o500);
                chmod("upper/locked", 0o000);
                chmod("upper/shared", 0o100);
                chmod("upper", root_mode);
                let opened = open_root(place).expect("it opens");
                let marks = Marks::of(OverlayKind::Unprivileged);
                let overlay =
                    Overlay { lowers: vec![], place: place.to_owned(), kind: OverlayKind::Unprivileged, memory: None };
                let root = Permitted::root_of(&WorkspaceMount::Overlay(overlay)).expect("it opens");
                assert_eq!(fs::read_dir(place.join("upper")).expect("it is read").count(), 2);
                drop(root);
                copy_lowers(&[place.join("lower")], &opened, marks, "copied").expect("it is copied");
                assert_eq!(mode(&place.join("upper")), root_mode);
                for _ in 0..2 {
                    move_upper(&opened, "copied").expect("it is moved");
                    assert_eq!(mode(&place.join("copied")), root_mode);
                }
                chmod("copied", 0o755);
                assert_eq!(mode(&place.join("copied/shared")), 0o100);
                chmod("copied/shared", 0o755);
                assert_eq!(mode(&place.join("copied/shared/new")), 0o500);
                assert_eq!(mode(&place.join("copied/locked")), 0o000);
                chmod("copied/locked", 0o755);
                for path in ["shared/a", "b", "shared/new/c", "locked/deep/d"] {
                    assert!(place.join("copied").join(path).exists(), "{path}");
                }
                disposal::remove(&place.join("upper")).expect("it is removed");
            });
        }
    }

    #[test]
    fn every_one_of_many_names_moves() {
        let directory = tempfile::tempdir().expect("a temporary directory");
        let place = directory.path();
        fs::create_dir(place.join("upper")).expect("a directory is made");
        fs::create_dir(place.join("merged")).expect("a directory is made");
        for number in 0..3_000 {
            fs::write(place.join(format!("upper/{number}")), "").expect("a file is written");
        }
        move_upper(&open_root(place).expect("it opens"), "merged").expect("it is moved");
        assert_eq!(fs::read_dir(place.join("merged")).expect("it is read").count(), 3_000);
        assert_eq!(fs::read_dir(place.join("upper")).expect("it is read").count(), 0);
    }
}
