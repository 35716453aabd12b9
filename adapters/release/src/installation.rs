//! The installed program in its directory: replaced by a rename, so that there is never a moment without one.

use crate::identity::identify;
use crate::{failed, unpack};
use isobox_domain::release::{Identity, ReleaseFile, Version};
use isobox_domain::update_target::UpdateTarget;
use isobox_ports::{FetchRelease, Installation, UpdateError};
use rustix::fs::{CWD, FlockOperation, RenameFlags, flock, renameat_with};
use rustix::io::Errno;
use std::ffi::{OsStr, OsString};
use std::fs::{self, File, Metadata, Permissions};
use std::io::{self, BufWriter, Write};
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::{MetadataExt, PermissionsExt, fchown};
use std::path::{Path, PathBuf};
use tempfile::{NamedTempFile, TempPath};

/// How the names of files begin that are no program yet. One that a kill left is removed by the next update.
const UNFINISHED: &str = ".isobox-update-";

/// Replaces programs on this machine's file systems.
#[derive(Clone, Copy, Debug)]
pub struct FsInstallation;

impl Installation for FsInstallation {
    fn identify(&self, target: &UpdateTarget) -> Result<Identity, UpdateError> {
        let file = Path::new(OsStr::from_bytes(&target.file));
        identify(file, file)
    }

    fn replace(
        &self,
        target: &UpdateTarget,
        release: &ReleaseFile,
        fetch: &FetchRelease<'_>,
    ) -> Result<String, UpdateError> {
        let held = Held::lock(target)?;
        held.sweep();
        let new = held.unpacked(release, fetch)?;
        // By the name that a person knows: the file beside the target is gone when the error is read.
        let name = Path::new(&release.name);
        let found = identify(&new, name)?.version;
        if found != release.version {
            return Err(failed::unusable(name, format!("version {} expected, found {found}", release.version)));
        }
        held.unchanged()?;
        held.keep()?;
        fs::rename(&new, &held.file).map_err(failed::io("put a new program in the place of", &held.file))?;
        held.settle()?;
        Ok(failed::shown(&held.kept))
    }

    fn roll_back(&self, target: &UpdateTarget) -> Result<Version, UpdateError> {
        let held = Held::lock(target)?;
        let kept = fs::symlink_metadata(&held.kept).ok().filter(Metadata::is_file);
        let kept = kept.ok_or_else(|| UpdateError::NothingKept { kept: failed::shown(&held.kept) })?;
        if kept.uid() != held.metadata.uid() || kept.mode() & 0o022 & !held.metadata.mode() != 0 {
            return Err(failed::unusable(&held.kept, "others could have written it"));
        }
        let version = identify(&held.kept, &held.kept)?.version;
        held.unchanged()?;
        held.exchange()?;
        held.settle()?;
        Ok(version)
    }
}

/// The program that is replaced, while nobody else replaces it.
struct Held {
    file: PathBuf,
    /// Where the program before is kept.
    kept: PathBuf,
    directory: PathBuf,
    metadata: Metadata,
    /// Carries the lock, and is what a flush of the names goes to.
    handle: File,
}

impl Held {
    fn lock(target: &UpdateTarget) -> Result<Self, UpdateError> {
        let file = PathBuf::from(OsStr::from_bytes(&target.file));
        let directory = file.parent().unwrap_or(Path::new("/")).to_owned();
        let handle = File::open(&directory).map_err(failed::io("open", &directory))?;
        match flock(&handle, FlockOperation::NonBlockingLockExclusive) {
            Ok(()) => {}
            Err(Errno::WOULDBLOCK) => return Err(UpdateError::Contended { program: failed::shown(&file) }),
            Err(errno) => return Err(failed::io("lock", &directory)(io::Error::from(errno))),
        }
        let metadata = fs::symlink_metadata(&file).map_err(failed::io("look at", &file))?;
        if !metadata.is_file() {
            return Err(UpdateError::Contended { program: failed::shown(&file) });
        }
        let mut kept: OsString = file.clone().into_os_string();
        kept.push(".old");
        Ok(Self { file, kept: kept.into(), directory, metadata, handle })
    }

    /// Removes what updates left that were killed. Under the lock, none of it can belong to one that runs.
    fn sweep(&self) {
        let entries = fs::read_dir(&self.directory).into_iter().flatten().flatten();
        let unfinished = entries.filter(|entry| entry.file_name().as_bytes().starts_with(UNFINISHED.as_bytes()));
        for entry in unfinished.filter(|entry| entry.file_type().is_ok_and(|kind| kind.is_file())) {
            // What cannot be removed takes room, and is in nobody's way.
            fs::remove_file(entry.path()).ok();
        }
    }

    fn unfinished(&self) -> Result<NamedTempFile, UpdateError> {
        let made = tempfile::Builder::new().prefix(UNFINISHED).tempfile_in(&self.directory);
        made.map_err(failed::io("make a file in", &self.directory))
    }

    /// The program in the Release File, on the disk beside the one that it is to replace, with its owner and mode.
    fn unpacked(&self, release: &ReleaseFile, fetch: &FetchRelease<'_>) -> Result<TempPath, UpdateError> {
        // Without a name: nothing of it outlives this process.
        let mut compressed =
            tempfile::tempfile_in(&self.directory).map_err(failed::io("make a file in", &self.directory))?;
        let mut buffered = BufWriter::new(&mut compressed);
        fetch(&mut buffered)?;
        buffered.flush().map_err(failed::io("write a copy of", release.name.as_ref()))?;
        drop(buffered);
        let mut new = self.unfinished()?;
        unpack::program(release, &mut compressed, new.as_file_mut())
            .map_err(failed::io("unpack", release.name.as_ref()))?;
        self.dress(new.as_file()).map_err(failed::io("finish", new.path()))?;
        // Closed here: a program that somebody may write to cannot be executed, see execve(2), ETXTBSY.
        Ok(new.into_temp_path())
    }

    // Never setuid: a download gets no more rights than the user who runs it.
    fn dress(&self, new: &File) -> io::Result<()> {
        let made = new.metadata()?;
        let (owner, group) = (self.metadata.uid(), self.metadata.gid());
        if (made.uid(), made.gid()) != (owner, group) {
            fchown(new, (made.uid() != owner).then_some(owner), Some(group))?;
        }
        new.set_permissions(Permissions::from_mode(self.metadata.mode() & 0o777 | 0o100))?;
        new.sync_all()
    }

    fn unchanged(&self) -> Result<(), UpdateError> {
        let identity = |metadata: &Metadata| (metadata.dev(), metadata.ino(), metadata.mtime(), metadata.size());
        let now = fs::symlink_metadata(&self.file).map_err(failed::io("look at", &self.file))?;
        match identity(&now) == identity(&self.metadata) {
            true => Ok(()),
            false => Err(UpdateError::Contended { program: failed::shown(&self.file) }),
        }
    }

    /// Gives the program that is there a second name; a copy where the file system or the kernel allows no link.
    fn keep(&self) -> Result<(), UpdateError> {
        let keeping = || failed::io("keep the program before as", &self.kept);
        let name = self.unfinished()?.into_temp_path();
        // Of the name, not of the file: link(2) makes it anew. Nobody else makes names that begin so, under the lock.
        fs::remove_file(&name).map_err(keeping())?;
        let linked = fs::hard_link(&self.file, &name);
        linked.or_else(|_| self.copy(&name)).map_err(keeping())?;
        fs::rename(&name, &self.kept).map_err(keeping())
    }

    fn copy(&self, name: &Path) -> io::Result<()> {
        io::copy(&mut File::open(&self.file)?, &mut File::create_new(name)?)?;
        self.dress(&File::open(name)?)
    }

    /// Swaps the program and the one that is kept.
    fn exchange(&self) -> Result<(), UpdateError> {
        let failing = || failed::io("put the program before in the place of", &self.file);
        match renameat_with(CWD, &self.kept, CWD, &self.file, RenameFlags::EXCHANGE) {
            Ok(()) => Ok(()),
            // A file system that cannot swap: the newer one is named a second time before its place is taken.
            Err(Errno::INVAL | Errno::NOSYS | Errno::NOTSUP) => {
                let name = self.unfinished()?.into_temp_path();
                fs::remove_file(&name).map_err(failing())?;
                fs::hard_link(&self.file, &name).or_else(|_| self.copy(&name)).map_err(failing())?;
                fs::rename(&self.kept, &self.file).map_err(failing())?;
                // The program is another one from here on. If this fails, there is none to go forth to again.
                fs::rename(&name, &self.kept).map_err(|error| UpdateError::Unflushed {
                    program: failed::shown(&self.file),
                    source: error.into(),
                })
            }
            Err(errno) => Err(failing()(io::Error::from(errno))),
        }
    }

    /// Makes the names durable.
    fn settle(&self) -> Result<(), UpdateError> {
        let unflushed =
            |error: io::Error| UpdateError::Unflushed { program: failed::shown(&self.file), source: error.into() };
        self.handle.sync_all().map_err(unflushed)
    }
}
