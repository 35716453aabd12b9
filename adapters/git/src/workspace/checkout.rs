//! Writing the files of a Workspace, through directory handles that follow no link.

use super::materialiser::Materialiser;
use super::pinned::Tracked;
use super::{failure, refused};
use crate::stat_cache::FileStat;
use isobox_domain::change::Mode;
use isobox_domain::repo_path::RepoPath;
use isobox_ports::WorkspaceError;
use nix::errno::Errno;
use nix::fcntl::{AtFlags, OFlag, openat};
use nix::sys::stat::{Mode as Permissions, UtimensatFlags, fchmod, fstat, fstatat, futimens, mkdirat, utimensat};
use nix::sys::time::TimeSpec;
use std::fs::File;
use std::io::{self, Write};
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::path::Path;

/// Up to this many paths one thread is faster than starting a second.
const PATHS_OF_ONE_THREAD: usize = 256;

/// What `stat(2)` said about a path that was just made.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Made {
    /// What capture compares.
    pub(crate) stat: FileStat,
    /// Number of the device.
    pub(crate) device: u64,
    /// The owner.
    pub(crate) uid: u32,
    /// The owning group.
    pub(crate) gid: u32,
}

/// Makes every path of `tracked` below the empty directory `root`, with modification time `mtime_s` (seconds since 1970).
///
/// Modes are 0644, 0755 for executables and directories, whatever the umask. The result is in the order of `tracked`.
pub(crate) fn checkout(
    root: &Path,
    tracked: &[Tracked],
    materialiser: &Materialiser,
    mtime_s: i64,
) -> Result<Vec<Made>, WorkspaceError> {
    side_by_side(tracked, materialiser.clone(), |part, materialiser| {
        Writer::open(root, materialiser, mtime_s)?.write_all(part)
    })
}

/// What `act` gives for every part of `items`, in their order: of many items on every processor, with a clone of `context`
/// for each.
pub(super) fn side_by_side<T: Sync, C: Clone + Send, M: Send, E: Send>(
    items: &[T],
    context: C,
    act: impl Fn(&[T], C) -> Result<Vec<M>, E> + Sync,
) -> Result<Vec<M>, E> {
    let threads = std::thread::available_parallelism().map_or(1, std::num::NonZero::get);
    let size = items.len().div_ceil(threads).max(PATHS_OF_ONE_THREAD);
    let mut parts = items.chunks(size);
    let Some(first) = parts.next() else { return Ok(vec![]) };
    std::thread::scope(|scope| {
        let act = &act;
        let others: Vec<_> = parts
            .map(|part| {
                let context = context.clone();
                scope.spawn(move || act(part, context))
            })
            .collect();
        let mut made = act(first, context)?;
        for other in others {
            made.extend(other.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic))?);
        }
        Ok(made)
    })
}

struct Writer {
    directories: Directories,
    materialiser: Materialiser,
    mtime: TimeSpec,
}

impl Writer {
    fn open(root: &Path, materialiser: Materialiser, mtime_s: i64) -> Result<Self, WorkspaceError> {
        let directories = Directories::below(root).map_err(|e| failure("open the workspace", e))?;
        Ok(Self { directories, materialiser, mtime: TimeSpec::new(mtime_s, 0) })
    }

    fn write_all(mut self, tracked: &[Tracked]) -> Result<Vec<Made>, WorkspaceError> {
        tracked.iter().map(|tracked| self.write(tracked)).collect()
    }

    fn write(&mut self, tracked: &Tracked) -> Result<Made, WorkspaceError> {
        let Tracked { path, mode, oid, .. } = tracked;
        if *mode == Mode::Submodule {
            return self.make_submodule(path).map_err(|e| cannot_make(path, e));
        }
        let content = self.materialiser.materialise(path, *mode, oid);
        let content = content.map_err(|e| failure(&format!("read blob {oid} of `{path}`"), e))?;
        let directory = self.directories.around(path).map_err(|e| cannot_make(path, e))?;
        let made = match mode {
            Mode::Symlink => make_link(directory, path.file_name(), &content, &self.mtime),
            Mode::Executable => make_file(directory, path.file_name(), &content, 0o755, &self.mtime),
            _ => make_file(directory, path.file_name(), &content, 0o644, &self.mtime),
        };
        made.map_err(|e| cannot_make(path, e))
    }

    fn make_submodule(&mut self, path: &RepoPath) -> io::Result<Made> {
        let around = self.directories.around(path)?;
        let directory = make_directory(around, path.file_name())?;
        Ok(Made::of(&fstat(&directory)?))
    }
}

impl Made {
    /// Asks about a name of a directory. A link is not followed.
    pub(super) fn at(around: BorrowedFd<'_>, name: &[u8]) -> io::Result<Self> {
        Ok(Self::of(&fstatat(around, name, AtFlags::AT_SYMLINK_NOFOLLOW)?))
    }

    fn of(stat: &nix::libc::stat) -> Self {
        Self { stat: FileStat::of_stat(stat), device: stat.st_dev, uid: stat.st_uid, gid: stat.st_gid }
    }
}

fn make_file(
    directory: BorrowedFd<'_>,
    name: &[u8],
    content: &[u8],
    permissions: u32,
    mtime: &TimeSpec,
) -> io::Result<Made> {
    let flags = OFlag::O_WRONLY | OFlag::O_CREAT | OFlag::O_EXCL | OFlag::O_NOFOLLOW | OFlag::O_CLOEXEC;
    let permissions = Permissions::from_bits_truncate(permissions);
    let mut file = File::from(openat(directory, name, flags, permissions)?);
    file.write_all(content)?;
    if fstat(&file)?.st_mode & 0o7777 != permissions.bits() {
        fchmod(&file, permissions)?;
    }
    futimens(&file, mtime, mtime)?;
    Ok(Made::of(&fstat(&file)?))
}

fn make_link(directory: BorrowedFd<'_>, name: &[u8], target: &[u8], mtime: &TimeSpec) -> io::Result<Made> {
    nix::unistd::symlinkat(target, directory, name)?;
    utimensat(directory, name, mtime, mtime, UtimensatFlags::NoFollowSymlink)?;
    Made::at(directory, name)
}

/// Makes the directory `name`, or takes the one that is there, but never a link.
pub(super) fn make_directory(around: BorrowedFd<'_>, name: &[u8]) -> io::Result<OwnedFd> {
    let permissions = Permissions::from_bits_truncate(0o755);
    let is_new = match mkdirat(around, name, permissions) {
        Ok(()) => true,
        Err(Errno::EEXIST) => false,
        Err(errno) => return Err(errno.into()),
    };
    let flags = OFlag::O_RDONLY | OFlag::O_DIRECTORY | OFlag::O_NOFOLLOW | OFlag::O_CLOEXEC;
    let directory = openat(around, name, flags, Permissions::empty())?;
    if is_new && fstat(&directory)?.st_mode & 0o7777 != permissions.bits() {
        fchmod(&directory, permissions)?;
    }
    Ok(directory)
}

/// Open handles of the directories down to the path that was written last, so that neighbours need no look-up.
pub(crate) struct Directories {
    root: OwnedFd,
    below: Vec<(Box<[u8]>, OwnedFd)>,
}

impl Directories {
    /// Those below `root`.
    pub(crate) fn below(root: &Path) -> io::Result<Self> {
        Ok(Self { root: File::open(root)?.into(), below: vec![] })
    }

    /// The directory that holds `path`, made if it is not there.
    pub(crate) fn around(&mut self, path: &RepoPath) -> io::Result<BorrowedFd<'_>> {
        let mut names: Vec<&[u8]> = path.components().collect();
        names.pop();
        let shared = self.below.iter().zip(&names).take_while(|((open, _), name)| **open == ***name).count();
        self.below.truncate(shared);
        for name in &names[shared..] {
            let directory = make_directory(self.innermost(), name)?;
            self.below.push(((*name).into(), directory));
        }
        Ok(self.innermost())
    }

    fn innermost(&self) -> BorrowedFd<'_> {
        self.below.last().map_or(self.root.as_fd(), |(_, directory)| directory.as_fd())
    }
}

/// A path that the file system does not take is a reason to refuse the commit; anything else is a failure.
fn cannot_make(path: &RepoPath, error: io::Error) -> WorkspaceError {
    match error.raw_os_error().map(Errno::from_raw) {
        Some(
            Errno::ENAMETOOLONG
            | Errno::EINVAL
            | Errno::EILSEQ
            | Errno::ENOENT
            | Errno::EEXIST
            | Errno::ENOTDIR
            | Errno::ELOOP,
        ) => refused(format!("the pinned commit has the path `{path}`, which cannot be created here: {error}")),
        _ => failure(&format!("write `{path}` of the workspace"), error),
    }
}
