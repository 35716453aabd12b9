//! A pristine copy that is in use, and so is not removed: whoever uses one holds a lock on its directory.
//!
//! Users share the lock; whoever takes a copy away holds it alone, and moves the directory to another name before
//! anything in it is removed. So a directory that is still at its place after it was locked is whole until the lock
//! is dropped.

use super::boot;
use super::seal::{BESIDE, Seal};
use crate::beneath::Seen;
use crate::layers;
use crate::oid;
use crate::stat_cache::FileStat;
use crate::workspace::submodules;
use isobox_domain::repo_path::RepoPath;
use nix::errno::Errno;
use nix::fcntl::{AtFlags, Flock, FlockArg, OFlag, open};
use nix::sys::stat::{Mode, SFlag, fstatat, futimens};
use nix::sys::time::TimeSpec;
use nix::unistd::geteuid;
use std::ffi::OsStr;
use std::fs::{File, Metadata};
use std::io;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{Duration, SystemTime};

/// Samples of a copy that are looked at each time, and of each one below it.
const LOOKS: usize = 8;
const LOOKS_BELOW: usize = 2;
/// How far behind the time of last use may be. Noting it costs a write.
const USE_IS_NOTED_AFTER: Duration = Duration::from_secs(60 * 60);

/// A pristine copy, locked together with those that it lies on.
#[derive(Debug)]
pub(crate) struct Held {
    /// Where it is.
    pub(crate) place: PathBuf,
    /// What it is.
    pub(crate) seal: Seal,
    /// Its directory, locked.
    directory: Flock<File>,
    /// Those below it, the uppermost first.
    below: Vec<Held>,
}

/// What is at a place.
#[derive(Debug)]
pub(crate) enum Found {
    /// A copy that can be used.
    Whole(Arc<Held>),
    /// Something that is none, or none any more.
    Damaged,
    /// One without a submodule that could be had by now.
    Outdated,
    /// Nothing.
    Nothing,
}

impl Held {
    /// Locks the copy at `place` for use and looks at it: its seal, whose it is, and a few of its files.
    pub(crate) fn take(place: &Path) -> io::Result<Found> {
        let found = Self::look(place)?;
        if let Found::Whole(held) = &found {
            held.all().for_each(|held| note_use(&held.directory));
        }
        Ok(found)
    }

    /// The same, which is no use.
    pub(super) fn look(place: &Path) -> io::Result<Found> {
        let held = match Self::take_alone(place, LOOKS)? {
            Ok(held) => held,
            Err(found) => return Ok(found),
        };
        let mut below = Vec::new();
        for (name, id) in &held.seal.below {
            match Self::take_alone(&place.with_file_name(name), LOOKS_BELOW)? {
                Ok(lower) if lower.seal.id == *id => below.push(lower),
                Err(Found::Outdated) => return Ok(Found::Outdated),
                _ => return Ok(Found::Damaged),
            }
        }
        Ok(Found::Whole(Arc::new(Self { below, ..held })))
    }

    fn take_alone(place: &Path, looks: usize) -> io::Result<Result<Self, Found>> {
        let Some(directory) = lock(place, FlockArg::LockShared)? else { return Ok(Err(Found::Nothing)) };
        Ok(match whole_seal(&directory, place, looks) {
            Some(seal) if could_have_more(&seal) => Err(Found::Outdated),
            Some(seal) => Ok(Self { place: place.to_owned(), seal, directory, below: vec![] }),
            None => Err(Found::Damaged),
        })
    }

    /// The directories that an overlay lies on, the uppermost first.
    pub(crate) fn lowers(&self) -> Vec<PathBuf> {
        self.all().map(|held| held.place.join("tree")).collect()
    }

    /// It, and those below it.
    pub(crate) fn all(&self) -> impl Iterator<Item = &Self> {
        std::iter::once(self).chain(&self.below)
    }

    /// What lies at a path of the commit; `None` if nothing does.
    pub(crate) fn find(&self, path: &RepoPath) -> io::Result<Option<Seen>> {
        Ok(layers::find(&self.lowers(), path.as_bytes())?.map(|(_, seen)| seen))
    }

    /// Whether it and those below it are where they were, and whole after another look.
    pub(super) fn is_still_whole(&self) -> bool {
        self.all().all(|held| {
            is_at(&held.place, &held.directory).unwrap_or(false)
                && whole_seal(&held.directory, &held.place, LOOKS_BELOW).is_some_and(|seal| seal.id == held.seal.id)
        })
    }

    /// Has it made anew by whoever wants it next, after something was found that is not as it was made. What it lies on is
    /// looked at as a whole then.
    pub(crate) fn condemn(&self) -> io::Result<()> {
        boot::condemn(&self.place)?;
        self.below.iter().try_for_each(|lower| boot::forget(&lower.place))
    }

    /// The stat cache: every path of the commit, wherever it lies.
    pub(crate) fn stat_cache(&self) -> PathBuf {
        self.place.join("stat-cache")
    }

    /// What it was made from.
    pub(crate) fn base(&self) -> PathBuf {
        self.place.join("base")
    }
}

/// The directory at `place`, locked; `None` if there is none.
///
/// What is locked may have been moved away before the lock was there: it is looked at once more then.
pub(crate) fn lock(place: &Path, how: FlockArg) -> io::Result<Option<Flock<File>>> {
    loop {
        let flags = OFlag::O_RDONLY | OFlag::O_DIRECTORY | OFlag::O_NOFOLLOW | OFlag::O_CLOEXEC;
        let directory = match open(place, flags, Mode::empty()) {
            Ok(directory) => File::from(directory),
            Err(Errno::ENOENT) => return Ok(None),
            Err(errno) => return Err(errno.into()),
        };
        let locked = flock(directory, how)?;
        if is_at(place, &locked)? {
            return Ok(Some(locked));
        }
    }
}

/// Locks an open file. A signal does not end the wait.
pub(crate) fn flock(mut file: File, how: FlockArg) -> io::Result<Flock<File>> {
    loop {
        match Flock::lock(file, how) {
            Ok(locked) => return Ok(locked),
            Err((again, Errno::EINTR)) => file = again,
            Err((_, errno)) => return Err(errno.into()),
        }
    }
}

/// Whether `file` is what lies at `place`.
pub(crate) fn is_at(place: &Path, file: &File) -> io::Result<bool> {
    let ours = file.metadata()?;
    match std::fs::symlink_metadata(place) {
        Ok(there) => Ok((there.dev(), there.ino()) == (ours.dev(), ours.ino())),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(false),
        Err(error) => Err(error),
    }
}

/// Whether others than this user can change what is in a directory.
pub(crate) fn is_private(directory: &Metadata) -> bool {
    directory.uid() == geteuid().as_raw() && directory.mode() & 0o022 == 0
}

/// The seal of the copy at `place`, whose open directory is `directory`, if it is whole: after a look at so many of its
/// files.
pub(super) fn whole_seal(directory: &File, place: &Path, looks: usize) -> Option<Seal> {
    Seal::load(&place.join("seal")).filter(|seal| is_whole(directory, seal, looks))
}

fn is_whole(directory: &File, seal: &Seal, looks: usize) -> bool {
    let is_directory = |path: &str| {
        let found = fstatat(directory, path, AtFlags::AT_SYMLINK_NOFOLLOW);
        found.is_ok_and(|found| SFlag::from_bits_truncate(found.st_mode) & SFlag::S_IFMT == SFlag::S_IFDIR)
    };
    directory.metadata().is_ok_and(|directory| is_private(&directory))
        && is_directory("tree")
        && is_directory("tree/.git")
        && seal.beside.len() == BESIDE.len()
        && BESIDE.iter().zip(&seal.beside).all(|(name, made)| is_as_made(directory, name, made))
        && samples_are_as_made(directory, seal, looks)
}

/// Whether the file `name` is the one that was made, which nobody wrote to since.
fn is_as_made(directory: &File, name: &str, made: &FileStat) -> bool {
    let found = fstatat(directory, name, AtFlags::AT_SYMLINK_NOFOLLOW);
    found.is_ok_and(|found| FileStat::of_stat(&found) == *made)
}

fn could_have_more(seal: &Seal) -> bool {
    let mut missing = seal.missing.iter();
    missing.any(|missing| submodules::open(&missing.candidates, &oid::to_gix(&missing.commit)).is_some())
}

/// Others each time, so that in the end all are looked at.
fn samples_are_as_made(directory: &File, seal: &Seal, looks: usize) -> bool {
    let samples = &seal.samples;
    let moment = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).map_or(0, |since| since.subsec_micros());
    let first = moment as usize % samples.len().max(1);
    let chosen = samples.iter().cycle().skip(first).take(looks.min(samples.len()));
    chosen.into_iter().all(|(path, made)| {
        let path = [b"tree/", path.as_bytes()].concat();
        let found = fstatat(directory, OsStr::from_bytes(&path), AtFlags::AT_SYMLINK_NOFOLLOW);
        found.is_ok_and(|found| FileStat::of_stat(&found) == *made)
    })
}

/// Copies are evicted by when they were last used: the modification time of their directory. Where it cannot be set, a
/// copy goes sooner than it need.
fn note_use(directory: &File) {
    let now = SystemTime::now();
    let is_due = directory
        .metadata()
        .and_then(|metadata| metadata.modified())
        .is_ok_and(|noted| now.duration_since(noted).is_ok_and(|since| since > USE_IS_NOTED_AFTER));
    if is_due {
        futimens(directory, &TimeSpec::UTIME_NOW, &TimeSpec::UTIME_NOW).unwrap_or_default();
    }
}
