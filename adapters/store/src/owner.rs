//! Whose things are that root makes in another user's directory: that user's, who could not go on with the store else.

use crate::dir::Dir;
use crate::random::random_name;
use nix::errno::Errno;
use nix::fcntl::{OFlag, openat};
use nix::sys::stat::{Mode, fstat, mkdirat};
use nix::unistd::{Gid, Uid, UnlinkatFlags, fchown, geteuid, unlinkat};
use rustix::fs::{RenameFlags, renameat_with};
use std::fs::File;
use std::io;
use std::os::fd::AsFd;

/// What is being made has such a name until it has its owner. One that a kill leaves is empty, and in nobody's way.
const UNFINISHED: &str = ".new-";

/// A user and a group.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Owner {
    uid: Uid,
    gid: Gid,
}

impl Owner {
    /// Who is to own what this process makes in `dir`, if that is somebody else.
    pub(crate) fn of_new_in(dir: &Dir) -> io::Result<Option<Self>> {
        if !geteuid().is_root() {
            return Ok(None);
        }
        let stat = fstat(dir)?;
        let owner = Self { uid: Uid::from_raw(stat.st_uid), gid: Gid::from_raw(stat.st_gid) };
        Ok((!owner.uid.is_root()).then_some(owner))
    }

    /// Makes the directory `name` in `dir`, visible once it is the owner's; an error where there is something.
    pub(crate) fn make_dir(self, dir: &Dir, name: &[u8]) -> Result<(), Errno> {
        let fresh = fresh_name()?;
        mkdirat(dir, fresh.as_str(), Mode::S_IRWXU)?;
        let made = dir.dir(fresh.as_str()).map_err(errno_of)?;
        // The owner of `dir` may have put another directory of root's in its place: only an empty one is given away.
        let given = match made.names().map_err(errno_of)?.is_empty() {
            true => self.give(&made),
            false => Err(Errno::EBUSY),
        };
        put_in_place(dir, &fresh, name, given, UnlinkatFlags::RemoveDir)
    }

    /// Makes the file `name` in `dir` in the same way.
    pub(crate) fn make_file(self, dir: &Dir, name: &str, flags: OFlag, mode: Mode) -> Result<File, Errno> {
        let fresh = fresh_name()?;
        let file = File::from(openat(dir, fresh.as_str(), flags | OFlag::O_CREAT | OFlag::O_EXCL, mode)?);
        put_in_place(dir, &fresh, name.as_bytes(), self.give(&file), UnlinkatFlags::NoRemoveDir)?;
        Ok(file)
    }

    /// Gives away what is open. Root that has no right to (capabilities(7), CAP_CHOWN) keeps it, as with any program.
    pub(crate) fn give(self, made: &impl AsFd) -> Result<(), Errno> {
        match fchown(made, Some(self.uid), Some(self.gid)) {
            Err(Errno::EPERM | Errno::EINVAL) => Ok(()),
            given => given,
        }
    }
}

fn put_in_place(
    dir: &Dir,
    fresh: &str,
    name: &[u8],
    given: Result<(), Errno>,
    kind: UnlinkatFlags,
) -> Result<(), Errno> {
    let place = || renameat_with(dir, fresh, dir, name, RenameFlags::NOREPLACE);
    let placed = given.and_then(|()| place().map_err(|errno| Errno::from_raw(errno.raw_os_error())));
    if placed.is_err() && unlinkat(dir, fresh, kind).is_err() {
        // It is empty, and what could not be made is told.
    }
    placed
}

fn fresh_name() -> Result<String, Errno> {
    random_name().map(|random| format!("{UNFINISHED}{random}")).map_err(errno_of)
}

fn errno_of(error: io::Error) -> Errno {
    error.raw_os_error().map_or(Errno::EIO, Errno::from_raw)
}
