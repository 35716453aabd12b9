//! Copying what directories that lie on each other show together, as files of their own.

use super::permitted::{Looks, Permitted};
use crate::beneath::{self, Kind};
use crate::capture::marks::Marks;
use crate::capture::tree::open_root;
use crate::fault::step;
use nix::dir::Dir;
use nix::errno::Errno;
use nix::fcntl::{OFlag, openat};
use nix::sys::stat::{Mode, UtimensatFlags, fchmod, fstat, futimens, mkdirat, utimensat};
use nix::sys::time::TimeSpec;
use std::collections::BTreeSet;
use std::fs::File;
use std::io;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::path::PathBuf;

/// A directory as its layers show it.
#[derive(Clone, Copy)]
pub(super) struct Shown<'a> {
    /// Those of pristine copies, the uppermost first.
    pub(super) lowers: &'a [OwnedFd],
    /// What lies on them and is not copied itself; `None` where nothing does.
    pub(super) above: Option<Above<'a>>,
}

/// A directory that was written to, which hides what lies below it.
#[derive(Clone, Copy)]
pub(super) struct Above<'a> {
    /// It.
    pub(super) directory: &'a OwnedFd,
    /// How it is marked what is hidden.
    pub(super) marks: Marks,
}

/// Opens the roots of layers.
pub(super) fn open(layers: &[PathBuf]) -> io::Result<Vec<OwnedFd>> {
    layers.iter().map(|layer| open_root(layer)).collect()
}

impl Shown<'_> {
    /// Copies all that shows into the empty directory `target`.
    pub(super) fn copy_to(&self, target: &OwnedFd) -> io::Result<()> {
        let mut decided = BTreeSet::new();
        for (position, layer) in self.lowers.iter().enumerate() {
            for name in names(layer)? {
                let name = name?;
                if decided.insert(name.clone()) {
                    Shown { lowers: &self.lowers[position..], ..*self }.copy_entry(&name, target)?;
                }
            }
        }
        Ok(())
    }

    /// Copies the entry `name`, which the first layer has, unless what lies above hides it.
    fn copy_entry(&self, name: &[u8], target: &OwnedFd) -> io::Result<()> {
        let [first, ..] = self.lowers else { return Ok(()) };
        match (beneath::look(first, name)?.kind(), self.kind_above(name)?) {
            (Kind::Directory, None) => Shown { above: None, ..*self }.copy_directory(name, target),
            (Kind::Directory, Some((Kind::Directory, above))) => {
                let permitted = Permitted::open(above.directory, name)?;
                let above = Above { directory: &permitted.directory, ..above };
                match above.marks.is_opaque(above.directory)? {
                    true => Ok(()),
                    false => Shown { above: Some(above), ..*self }.copy_directory(name, target),
                }
            }
            (_, Some(_)) => Ok(()),
            (Kind::File, None) => copy_file(At::of(first, name), At::of(target, name)),
            (Kind::Symlink, None) => copy_link(At::of(first, name), At::of(target, name)),
            // A whiteout hides what is below it; nothing else lies in a pristine copy.
            (_, None) => Ok(()),
        }
    }

    fn kind_above(&self, name: &[u8]) -> io::Result<Option<(Kind, Above<'_>)>> {
        let Some(above) = self.above else { return Ok(None) };
        match beneath::look(above.directory, name) {
            Err(Errno::ENOENT) => Ok(None),
            found => Ok(Some((found?.kind(), above))),
        }
    }

    /// Copies the directory `name` of the layers; what lies above is that of this name already.
    pub(super) fn copy_directory(&self, name: &[u8], target: &OwnedFd) -> io::Result<()> {
        let lowers = merged(self.lowers, name)?;
        step()?;
        mkdirat(target, name, Mode::S_IRWXU)?;
        let made = beneath::open_directory(target, name)?;
        Shown { lowers: &lowers, ..*self }.copy_to(&made)?;
        lowers.first().map_or(Ok(()), |first| Looks::of(first)?.give(&made))
    }
}

/// The directories `name` of layers, as far as they show through each other.
fn merged(layers: &[OwnedFd], name: &[u8]) -> io::Result<Vec<OwnedFd>> {
    let mut merged = Vec::new();
    for layer in layers {
        match beneath::look(layer, name) {
            Ok(seen) if seen.kind() == Kind::Directory => merged.push(beneath::open_directory(layer, name)?),
            Err(Errno::ENOENT) => {}
            // A whiteout, or a file: what is below it does not show through.
            Ok(_) => break,
            Err(errno) => return Err(errno.into()),
        }
    }
    Ok(merged)
}

/// A path from an open directory.
#[derive(Clone, Copy)]
pub(super) struct At<'a> {
    directory: BorrowedFd<'a>,
    path: &'a [u8],
}

impl<'a> At<'a> {
    pub(super) fn of(directory: &'a impl AsFd, path: &'a [u8]) -> Self {
        Self { directory: directory.as_fd(), path }
    }
}

/// Copies a file, with its mode and its time of modification, to a name of a directory that nothing has yet.
pub(super) fn copy_file(from: At<'_>, to: At<'_>) -> io::Result<()> {
    step()?;
    let source = beneath::open_file(from.directory, from.path)?;
    let stat = fstat(&source)?;
    let flags = OFlag::O_WRONLY | OFlag::O_CREAT | OFlag::O_EXCL | OFlag::O_NOFOLLOW | OFlag::O_CLOEXEC;
    let made = File::from(openat(to.directory, to.path, flags, Mode::S_IRUSR | Mode::S_IWUSR)?);
    clone_or_copy(&source, &made)?;
    fchmod(&made, Mode::from_bits_truncate(stat.st_mode))?;
    let mtime = TimeSpec::new(stat.st_mtime, stat.st_mtime_nsec);
    Ok(futimens(&made, &mtime, &mtime)?)
}

/// Gives the empty file `made` the content of `source`: the same blocks of the disk, where its file system lets files share
/// them until one is written to, or else the same bytes.
fn clone_or_copy(mut source: &File, mut made: &File) -> io::Result<()> {
    // A file system without this, two of them, or attributes of a file that forbid it: see ioctl_ficlone(2).
    if rustix::fs::ioctl_ficlone(made, source).is_err() {
        io::copy(&mut source, &mut made)?;
    }
    Ok(())
}

/// Copies a link, with its time of modification, to a name of a directory that nothing has yet.
pub(super) fn copy_link(from: At<'_>, to: At<'_>) -> io::Result<()> {
    let link = beneath::open(from.directory, from.path, OFlag::O_PATH | OFlag::O_NOFOLLOW)?;
    let stat = fstat(&link)?;
    // Of no name: of the link itself. See readlinkat(2).
    nix::unistd::symlinkat(&beneath::read_link(&link, b"")?[..], to.directory, to.path)?;
    let mtime = TimeSpec::new(stat.st_mtime, stat.st_mtime_nsec);
    Ok(utimensat(to.directory, to.path, &mtime, &mtime, UtimensatFlags::NoFollowSymlink)?)
}

/// The names in a directory, one after the other.
pub(super) fn names(directory: &OwnedFd) -> io::Result<impl Iterator<Item = io::Result<Vec<u8>>>> {
    let flags = OFlag::O_RDONLY | OFlag::O_DIRECTORY | OFlag::O_CLOEXEC;
    let listing = Dir::openat(directory, c".", flags, Mode::empty())?.into_iter();
    let names = listing.map(|entry| Ok(entry?.file_name().to_bytes().to_vec()));
    Ok(names.filter(|name| !matches!(name.as_deref(), Ok(b"." | b".."))))
}
