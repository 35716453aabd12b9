//! Making a plain directory of an overlay: first what shows through from below is copied, then what was written moves
//! in.
//!
//! Whatever can go wrong for want of space does so while nothing is moved yet. What was written is hostile: it is
//! reached through directory handles that follow no link, and no name in it leads anywhere else.

use crate::beneath::{self, Kind};
use isobox_ports::OverlayKind;
use nix::dir::Dir;
use nix::errno::Errno;
use nix::fcntl::{AT_FDCWD, AtFlags, OFlag, openat, renameat};
use nix::sys::stat::{
    FchmodatFlags, Mode, UtimensatFlags, fchmod, fchmodat, fstat, fstatat, futimens, mkdirat, utimensat,
};
use nix::sys::time::TimeSpec;
use std::collections::BTreeSet;
use std::fs::File;
use std::io;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::path::{Path, PathBuf};

/// What the uppermost layer has where a lower one has a directory.
enum Upper {
    /// Nothing: all below shows through.
    Absent,
    /// A directory: what it does not have shows through.
    Directory(OwnedFd),
}

/// Copies what shows through `upper` of `lowers` (the uppermost first) into the empty directory `target`.
pub(super) fn copy_lowers(lowers: &[PathBuf], upper: &Path, kind: OverlayKind, target: &Path) -> io::Result<()> {
    let lowers = lowers.iter().map(|lower| open_at(AT_FDCWD, lower.as_os_str().as_encoded_bytes()));
    let lowers = lowers.collect::<Result<Vec<_>, _>>()?;
    let upper = Upper::Directory(open_at(AT_FDCWD, upper.as_os_str().as_encoded_bytes())?);
    let target = open_at(AT_FDCWD, target.as_os_str().as_encoded_bytes())?;
    copy_directory(&lowers, &upper, kind, &target)
}

fn copy_directory(lowers: &[OwnedFd], upper: &Upper, kind: OverlayKind, target: &OwnedFd) -> io::Result<()> {
    let mut decided = BTreeSet::new();
    for (position, layer) in lowers.iter().enumerate() {
        for name in names(layer)? {
            if decided.insert(name.clone()) {
                copy_entry(&lowers[position..], &name, upper, kind, target)?;
            }
        }
    }
    Ok(())
}

/// Copies the entry `name`, which the first of `lowers` has, unless the uppermost layer hides it.
fn copy_entry(lowers: &[OwnedFd], name: &[u8], upper: &Upper, kind: OverlayKind, target: &OwnedFd) -> io::Result<()> {
    let [first, ..] = lowers else { return Ok(()) };
    let seen = beneath::look(first, name)?;
    match seen.kind() {
        Kind::Directory => copy_merged(lowers, name, upper, kind, target),
        Kind::File | Kind::Symlink if is_hidden(upper, name)? => Ok(()),
        Kind::File => copy_file(first, name, target),
        Kind::Symlink => copy_link(first, name, target),
        // A whiteout hides what is below it; nothing else lies in a pristine copy.
        _ => Ok(()),
    }
}

fn is_hidden(upper: &Upper, name: &[u8]) -> io::Result<bool> {
    let Upper::Directory(upper) = upper else { return Ok(false) };
    match beneath::look(upper, name) {
        Ok(_) => Ok(true),
        Err(Errno::ENOENT) => Ok(false),
        Err(errno) => Err(errno.into()),
    }
}

fn copy_merged(lowers: &[OwnedFd], name: &[u8], upper: &Upper, kind: OverlayKind, target: &OwnedFd) -> io::Result<()> {
    let mut closed = None;
    let inner = match upper {
        Upper::Absent => Upper::Absent,
        Upper::Directory(upper) => match beneath::look(upper, name) {
            Err(Errno::ENOENT) => Upper::Absent,
            Ok(seen) if seen.kind() == Kind::Directory => {
                let opened = Opened::open(upper.as_fd(), name)?;
                if is_opaque(&opened.directory, kind) {
                    return opened.close();
                }
                let directory = opened.directory.try_clone()?;
                closed = Some(opened);
                Upper::Directory(directory)
            }
            Ok(_) => return Ok(()),
            Err(errno) => return Err(errno.into()),
        },
    };
    let mut merged = Vec::new();
    for lower in lowers {
        match beneath::look(lower, name) {
            Ok(seen) if seen.kind() == Kind::Directory => merged.push(beneath::open_directory(lower, name)?),
            Err(Errno::ENOENT) => {}
            // A whiteout, or a file: what is below it does not show through.
            Ok(_) => break,
            Err(errno) => return Err(errno.into()),
        }
    }
    mkdirat(target, name, Mode::S_IRWXU)?;
    let made = open_at(target, name)?;
    copy_directory(&merged, &inner, kind, &made)?;
    if let Some(first) = merged.first() {
        take_over(first, &made)?;
    }
    closed.map_or(Ok(()), Opened::close)
}

fn copy_file(from: &OwnedFd, name: &[u8], target: &OwnedFd) -> io::Result<()> {
    let mut source = beneath::open_file(from, name)?;
    let stat = fstat(&source)?;
    let flags = OFlag::O_WRONLY | OFlag::O_CREAT | OFlag::O_EXCL | OFlag::O_NOFOLLOW | OFlag::O_CLOEXEC;
    let mut made = File::from(openat(target, name, flags, Mode::S_IRUSR | Mode::S_IWUSR)?);
    io::copy(&mut source, &mut made)?;
    fchmod(&made, Mode::from_bits_truncate(stat.st_mode))?;
    let mtime = TimeSpec::new(stat.st_mtime, stat.st_mtime_nsec);
    Ok(futimens(&made, &mtime, &mtime)?)
}

fn copy_link(from: &OwnedFd, name: &[u8], target: &OwnedFd) -> io::Result<()> {
    let stat = fstatat(from, name, AtFlags::AT_SYMLINK_NOFOLLOW)?;
    nix::unistd::symlinkat(&beneath::read_link(from, name)?[..], target, name)?;
    let mtime = TimeSpec::new(stat.st_mtime, stat.st_mtime_nsec);
    Ok(utimensat(target, name, &mtime, &mtime, UtimensatFlags::NoFollowSymlink)?)
}

/// Moves what is in `upper` into `target`, which has what shows through it. Doing it again goes on where it was left.
pub(super) fn move_upper(upper: &Path, target: &Path) -> io::Result<()> {
    let upper = open_at(AT_FDCWD, upper.as_os_str().as_encoded_bytes())?;
    let target = open_at(AT_FDCWD, target.as_os_str().as_encoded_bytes())?;
    move_directory(&upper, &target)?;
    take_over(&upper, &target)
}

fn move_directory(upper: &OwnedFd, target: &OwnedFd) -> io::Result<()> {
    for name in names(upper)? {
        match beneath::look(upper, &name)?.kind() {
            Kind::Directory => move_inner(upper, &name, target)?,
            Kind::Device => {}
            _ => renameat(upper, &*name, target, &*name)?,
        }
    }
    Ok(())
}

/// A directory of which nothing shows through from below moves as it is: with all it holds, however deep.
fn move_inner(upper: &OwnedFd, name: &[u8], target: &OwnedFd) -> io::Result<()> {
    if let Ok(merged) = beneath::open_directory(target, name) {
        let opened = Opened::open(upper.as_fd(), name)?;
        move_directory(&opened.directory, &merged)?;
        take_over(&opened.directory, &merged)?;
        return Ok(fchmod(&merged, opened.mode)?);
    }
    match renameat(upper, name, target, name) {
        // Moving a directory writes to its entry `..`, for which an ordinary user needs permission.
        Err(Errno::EACCES) => {
            let mode = Mode::from_bits_truncate(fstatat(upper, name, AtFlags::AT_SYMLINK_NOFOLLOW)?.st_mode);
            fchmodat(upper, name, Mode::S_IRWXU, FchmodatFlags::NoFollowSymlink)?;
            renameat(upper, name, target, name)?;
            Ok(fchmodat(target, name, mode, FchmodatFlags::NoFollowSymlink)?)
        }
        result => Ok(result?),
    }
}

/// Gives `target` the mode and time of `from`.
fn take_over(from: &OwnedFd, target: &OwnedFd) -> io::Result<()> {
    let stat = fstat(from)?;
    fchmod(target, Mode::from_bits_truncate(stat.st_mode))?;
    let mtime = TimeSpec::new(stat.st_mtime, stat.st_mtime_nsec);
    Ok(futimens(target, &mtime, &mtime)?)
}

/// A directory of the workload's, open although its mode may forbid it.
struct Opened {
    directory: OwnedFd,
    mode: Mode,
}

impl Opened {
    fn open(around: BorrowedFd<'_>, name: &[u8]) -> io::Result<Self> {
        let mode = Mode::from_bits_truncate(fstatat(around, name, AtFlags::AT_SYMLINK_NOFOLLOW)?.st_mode);
        if !mode.contains(Mode::S_IRWXU) {
            fchmodat(around, name, mode | Mode::S_IRWXU, FchmodatFlags::NoFollowSymlink)?;
        }
        Ok(Self { directory: beneath::open_directory(around, name)?, mode })
    }

    /// Leaves its mode as it was.
    fn close(self) -> io::Result<()> {
        match self.mode.contains(Mode::S_IRWXU) {
            true => Ok(()),
            false => Ok(fchmod(&self.directory, self.mode)?),
        }
    }
}

/// Marks of the other kind are the workload's own: only the kernel can make those of the kind that is mounted.
fn is_opaque(directory: &OwnedFd, kind: OverlayKind) -> bool {
    let name = match kind {
        OverlayKind::Privileged => "trusted.overlay.opaque",
        OverlayKind::Unprivileged => "user.overlay.opaque",
    };
    let mut value = [0; 1];
    rustix::fs::fgetxattr(directory, name, &mut value).is_ok_and(|length| length == 1 && value == *b"y")
}

fn open_at(around: impl AsFd, path: &[u8]) -> Result<OwnedFd, Errno> {
    let flags = OFlag::O_RDONLY | OFlag::O_DIRECTORY | OFlag::O_NOFOLLOW | OFlag::O_CLOEXEC;
    openat(around, path, flags, Mode::empty())
}

/// The names in a directory, read at once: what is moved away meanwhile does not hide others.
fn names(directory: &OwnedFd) -> io::Result<Vec<Vec<u8>>> {
    let flags = OFlag::O_RDONLY | OFlag::O_DIRECTORY | OFlag::O_CLOEXEC;
    let mut listing = Dir::openat(directory, c".", flags, Mode::empty())?;
    let names = listing.iter().map(|entry| Ok(entry?.file_name().to_bytes().to_vec()));
    let names: io::Result<Vec<Vec<u8>>> = names.collect();
    Ok(names?.into_iter().filter(|name| !matches!(&name[..], b"." | b"..")).collect())
}
