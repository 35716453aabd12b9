//! Mounting the overlay of a Workspace in the mount namespace that this thread is in.

use isobox_domain::escape::Escaped;
use isobox_ports::{MemorySize, Overlay, OverlayKind};
use nix::errno::Errno;
use nix::fcntl::{OFlag, open};
use nix::mount::MsFlags;
use nix::sys::stat::Mode;
use nix::sys::statfs::{OVERLAYFS_SUPER_MAGIC, statfs};
use std::ffi::{CStr, CString};
use std::fs::DirBuilder;
use std::io;
use std::os::fd::{AsRawFd, OwnedFd};
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::DirBuilderExt;
use std::path::Path;

/// Options of every overlay, for mount(8).
///
/// Without `volatile` the end of the last process of a Sandbox waits until the whole file system below is on disk. A
/// rename of a directory that a lower has would need a redirect, and a workload must not be able to make one; `off` would
/// still follow those that are there.
const OPTIONS: &str = "volatile,index=off,metacopy=off,redirect_dir=nofollow";

/// Files of the kernel's and of this module's own in a file system in memory, with some to spare.
const OWN_INODES: u64 = 16;

/// Mounts `overlay` over its own place; returns the directory that holds what is written, if that is in memory. An error
/// says what could not be done.
pub(crate) fn mount(overlay: &Overlay) -> io::Result<Option<OwnedFd>> {
    let written = overlay.memory.map(|size| lay_out_in_memory(overlay, size)).transpose()?;
    if written.is_none() {
        forget_last_mount(&overlay.work()).map_err(while_doing("empty", &overlay.work()))?;
    }
    let lowers = overlay.lowers.iter().map(|lower| held(lower)).collect::<io::Result<Vec<_>>>()?;
    let (upper, work) = (held(&overlay.upper())?, held(&overlay.work())?);
    let options = options(overlay.kind, &lowers, &upper, &work);
    let (kind, flags) = (Some("overlay"), MsFlags::MS_NOSUID | MsFlags::MS_NODEV);
    nix::mount::mount(kind, &overlay.place, kind, flags, Some(options.as_str()))
        .map_err(|errno| refusal(&overlay.place, errno))?;
    Ok(written)
}

/// The kernel has one word for everything that does not do for an overlay.
fn refusal(place: &Path, errno: Errno) -> io::Error {
    let is_overlay = statfs(place).is_ok_and(|found| found.filesystem_type() == OVERLAYFS_SUPER_MAGIC);
    let why = match errno {
        Errno::EINVAL if is_overlay => "it lies on an overlay itself, as in a container",
        Errno::EINVAL => "the file system there, or one below it, does not do for one",
        errno => errno.desc(),
    };
    io::Error::other(format!("mount an overlay at {}: {why}", Escaped::path(place)))
}

/// Mounts a file system in memory at the place of `overlay`, with an upper and a work directory: its root.
fn lay_out_in_memory(overlay: &Overlay, size: MemorySize) -> io::Result<OwnedFd> {
    let place = &overlay.place;
    // A size of 0 would be none. The workload cannot reach the root, so that it may be its owner's alone.
    let (bytes, inodes) = (size.bytes.max(1), size.inodes.saturating_add(OWN_INODES));
    let options = format!("mode=0700,size={bytes},nr_inodes={inodes}");
    let (kind, flags) = (Some("tmpfs"), MsFlags::MS_NOSUID | MsFlags::MS_NODEV);
    nix::mount::mount(kind, place, kind, flags, Some(options.as_str()))
        .map_err(|errno| while_doing("mount a file system in memory at", place)(errno.into()))?;
    let root = held(place)?;
    for (directory, mode) in [(overlay.upper(), 0o755), (overlay.work(), 0o700)] {
        DirBuilder::new().mode(mode).create(&directory).map_err(while_doing("make", &directory))?;
    }
    // Kernels before 6.6 keep no attribute of a user in memory. An overlay without marks would show what was deleted.
    let refused = while_doing("mark what is hidden in memory at", place);
    set_opaque(&overlay.work(), overlay.kind).map_err(refused)?;
    Ok(root)
}

/// The kernel refuses to mount once more what was `volatile`, for a power cut may have taken a part of it. No power was
/// cut: whoever launches twice in a Workspace has the same files. The mark lies in directories of mode 000.
pub(crate) fn forget_last_mount(work: &Path) -> io::Result<()> {
    isobox_removal::remove(&work.join("work"))
}

/// The mark of an upper directory that hides what lower ones of its name hold.
const fn opaque(kind: OverlayKind) -> &'static CStr {
    match kind {
        OverlayKind::Privileged => c"trusted.overlay.opaque",
        OverlayKind::Unprivileged => c"user.overlay.opaque",
    }
}

/// Whether an upper directory hides what lower ones of its name hold.
pub(crate) fn is_opaque(directory: &Path, kind: OverlayKind) -> bool {
    let Ok(path) = CString::new(directory.as_os_str().as_bytes()) else { return false };
    let (name, mut value) = (opaque(kind), [0_u8; 1]);
    // SAFETY: both strings end with a NUL, and the kernel writes at most as many bytes as `value` has.
    let length = unsafe { libc::lgetxattr(path.as_ptr(), name.as_ptr(), value.as_mut_ptr().cast(), value.len()) };
    length == 1 && value == *b"y"
}

fn set_opaque(directory: &Path, kind: OverlayKind) -> io::Result<()> {
    let path = CString::new(directory.as_os_str().as_bytes()).map_err(io::Error::other)?;
    let (name, value) = (opaque(kind), b"y");
    // SAFETY: both strings end with a NUL, and the kernel reads as many bytes of `value` as it has.
    let result = unsafe { libc::lsetxattr(path.as_ptr(), name.as_ptr(), value.as_ptr().cast(), value.len(), 0) };
    Errno::result(result).map(drop).map_err(io::Error::from)
}

fn held(directory: &Path) -> io::Result<OwnedFd> {
    let flags = OFlag::O_PATH | OFlag::O_DIRECTORY | OFlag::O_NOFOLLOW | OFlag::O_CLOEXEC;
    open(directory, flags, Mode::empty()).map_err(|errno| while_doing("open", directory)(errno.into()))
}

/// Directories are named by descriptors: their paths may hold what mount(8) takes for syntax, may be longer than a page
/// together, and are what the workload reads in `/proc/self/mountinfo`.
fn options(kind: OverlayKind, lowers: &[OwnedFd], upper: &OwnedFd, work: &OwnedFd) -> String {
    let path = |descriptor: &OwnedFd| format!("/proc/self/fd/{}", descriptor.as_raw_fd());
    let lowers = lowers.iter().map(path).collect::<Vec<_>>().join(":");
    let marks = match kind {
        OverlayKind::Privileged => "",
        OverlayKind::Unprivileged => ",userxattr",
    };
    format!("lowerdir={lowers},upperdir={},workdir={},{OPTIONS}{marks}", path(upper), path(work))
}

fn while_doing(operation: &str, path: &Path) -> impl Fn(io::Error) -> io::Error {
    let operation = format!("{operation} {}", Escaped::path(path));
    move |error| io::Error::new(error.kind(), format!("{operation}: {error}"))
}
