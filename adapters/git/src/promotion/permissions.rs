//! Who owns what a Promotion writes, and who may read it: as the repository's own files.

use super::dir::Dir;
use isobox_domain::change::Mode;
use nix::sys::stat::{FileStat, fchmod};
use nix::unistd::geteuid;
use std::fs::File;
use std::io;

const SETGID: u32 = 0o2000;

/// Owner and permission bits of a file that is written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Permissions {
    /// Read and write bits to set; `None` leaves what the umask gives.
    bits: Option<u32>,
    /// Owner and group to set; `None` leaves those of this process.
    owner: Option<(u32, u32)>,
}

impl Permissions {
    /// Those of a file in place of `replaced`, or else in the directory `nearest` of the working tree `root`.
    ///
    /// A replaced file hands on its bits. Root, writing for somebody else, gives a file to the owner of the root with
    /// the bits of the directory: its own umask says nothing about theirs.
    pub(super) fn of_new(replaced: Option<&FileStat>, nearest: &FileStat, root: &FileStat) -> Self {
        let is_root = geteuid().is_root();
        let group = if nearest.st_mode & SETGID != 0 { nearest.st_gid } else { root.st_gid };
        let owner = match replaced {
            Some(replaced) if is_root => Some((replaced.st_uid, replaced.st_gid)),
            None if is_root => Some((root.st_uid, group)),
            _ if nearest.st_mode & SETGID != 0 => Some((geteuid().as_raw(), group)),
            _ => None,
        };
        let is_foreign = is_root && root.st_uid != 0;
        // A link has no bits of its own to hand on.
        let handed_on =
            replaced.filter(|replaced| super::dir::is_file(replaced)).map(|replaced| replaced.st_mode & 0o666);
        Self { bits: handed_on.or(is_foreign.then_some(nearest.st_mode & 0o666)), owner }
    }

    /// Those of a directory that is made in `parent`.
    pub(super) fn of_directory(parent: &FileStat, root: &FileStat) -> Self {
        Self {
            bits: (geteuid().is_root() && root.st_uid != 0).then_some(parent.st_mode & 0o777),
            ..Self::of_new(None, parent, root)
        }
    }

    /// The mode to create a file with; the umask still applies.
    pub(super) fn creation_mode(mode: Mode) -> u32 {
        if mode == Mode::Executable { 0o777 } else { 0o666 }
    }

    /// Sets them on `name`, which `file` is open at unless it is a link.
    pub(super) fn set(self, dir: &Dir, name: &[u8], mode: Mode, file: Option<&File>) -> io::Result<()> {
        self.set_owner(dir, name)?;
        let (Some(bits), Some(file)) = (self.bits, file) else { return Ok(()) };
        // Whoever may read a file that is executable may execute it.
        let bits = if mode == Mode::Executable { bits | (bits & 0o444) >> 2 } else { bits };
        crate::fault::step()?;
        Ok(fchmod(file, nix::sys::stat::Mode::from_bits_truncate(bits))?)
    }

    /// Sets them on a directory that was just made.
    pub(super) fn set_on_directory(self, parent: &Dir, name: &[u8]) -> io::Result<()> {
        self.set_owner(parent, name)?;
        let Some(bits) = self.bits else { return Ok(()) };
        let directory = parent.open_file(name)?;
        crate::fault::step()?;
        let kept = nix::sys::stat::fstat(&directory)?.st_mode & SETGID;
        Ok(fchmod(&directory, nix::sys::stat::Mode::from_bits_truncate(bits | kept))?)
    }

    fn set_owner(self, dir: &Dir, name: &[u8]) -> io::Result<()> {
        let Some((uid, gid)) = self.owner else { return Ok(()) };
        match dir.change_owner(name, uid, gid) {
            // An ordinary user who is not of the directory's group keeps their own, as with cp.
            Err(error) if error.kind() == io::ErrorKind::PermissionDenied && !geteuid().is_root() => Ok(()),
            set => set,
        }
    }
}

/// Makes a private directory of isobox's own; root makes it for the owner of the directory that holds it, who has to be
/// able to settle what root left.
pub(super) fn make_own_dir(parent: &Dir, name: &[u8]) -> io::Result<()> {
    parent.make_dir(name, 0o700)?;
    give_to_owner(parent, name)
}

/// Makes a private file of isobox's own, in the same way.
pub(super) fn create_own_file(parent: &Dir, name: &[u8]) -> io::Result<File> {
    let file = parent.create_file(name, 0o600)?;
    give_to_owner(parent, name)?;
    Ok(file)
}

/// Gives what root made in a directory to the owner of that directory.
pub(super) fn give_to_owner(parent: &Dir, name: &[u8]) -> io::Result<()> {
    let owner = parent.stat_self()?;
    if geteuid().is_root() && owner.st_uid != 0 {
        parent.change_owner(name, owner.st_uid, owner.st_gid)?;
    }
    Ok(())
}
