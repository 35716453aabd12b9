//! Mounts by descriptors: open_tree(2), mount_setattr(2) and move_mount(2).
//!
//! Every kernel with Landlock has them, and a source that was opened stays what it is whatever is mounted over its path.

use nix::errno::Errno;
use nix::mount::{MntFlags, MsFlags, mount, umount2};
use nix::unistd::{chdir, fchdir, pivot_root};
use std::ffi::CStr;
use std::io;
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, FromRawFd, OwnedFd, RawFd};

/// Of linux/mount.h.
const OPEN_TREE_CLONE: libc::c_int = 1;
const MOVE_MOUNT_F_EMPTY_PATH: libc::c_int = 4;
const MOVE_MOUNT_T_EMPTY_PATH: libc::c_int = 0x40;
pub(super) const READ_ONLY: u64 = 0x1;
pub(super) const NO_SUID: u64 = 0x2;
pub(super) const NO_DEVICES: u64 = 0x4;
pub(super) const NO_EXECUTION: u64 = 0x8;

/// `struct mount_attr`.
#[repr(C)]
struct Attributes {
    set: u64,
    cleared: u64,
    propagation: u64,
    user_namespace: u64,
}

/// A mount that is nowhere yet, with all that is mounted below it.
pub(super) struct Tree(OwnedFd);

/// Whether what is mounted below is meant, too.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Depth {
    Whole,
    Top,
}

impl Tree {
    /// A copy of what is mounted at an absolute path, which shows what is there now and is not told of later mounts.
    pub(super) fn of(host_path: &CStr, attributes: u64) -> io::Result<Self> {
        let flags = OPEN_TREE_CLONE | libc::O_CLOEXEC | libc::AT_RECURSIVE;
        // SAFETY: the path ends with a NUL and outlives the call.
        let tree = unsafe { libc::syscall(libc::SYS_open_tree, libc::AT_FDCWD, host_path.as_ptr(), flags) };
        let tree = Self(owned(tree)?);
        set(tree.0.as_fd(), c"", Depth::Whole, attributes, MsFlags::MS_PRIVATE.bits())?;
        Ok(tree)
    }

    /// Whether it is a directory.
    pub(super) fn is_directory(&self) -> io::Result<bool> {
        let found = nix::sys::stat::fstat(&self.0)?;
        Ok(found.st_mode & libc::S_IFMT == libc::S_IFDIR)
    }

    /// Mounts it at what `place` is.
    pub(super) fn mount_at(&self, place: BorrowedFd<'_>) -> io::Result<()> {
        let flags = MOVE_MOUNT_F_EMPTY_PATH | MOVE_MOUNT_T_EMPTY_PATH;
        let (from, to) = (self.0.as_raw_fd(), place.as_raw_fd());
        // SAFETY: both paths are empty strings with a NUL.
        let moved = unsafe { libc::syscall(libc::SYS_move_mount, from, c"".as_ptr(), to, c"".as_ptr(), flags) };
        Errno::result(moved)?;
        Ok(())
    }
}

fn owned(result: libc::c_long) -> io::Result<OwnedFd> {
    let descriptor = RawFd::try_from(Errno::result(result)?).map_err(io::Error::other)?;
    // SAFETY: the kernel made this descriptor for the caller, and nobody else owns it.
    Ok(unsafe { OwnedFd::from_raw_fd(descriptor) })
}

fn set(at: BorrowedFd<'_>, path: &CStr, depth: Depth, attributes: u64, propagation: u64) -> io::Result<()> {
    let attributes = Attributes { set: attributes, cleared: 0, propagation, user_namespace: 0 };
    let recursive = if depth == Depth::Whole { libc::AT_RECURSIVE } else { 0 };
    let empty = if path.is_empty() { libc::AT_EMPTY_PATH } else { 0 };
    let flags = recursive | empty;
    let (attributes, size) = (&raw const attributes, size_of::<Attributes>());
    // SAFETY: the path ends with a NUL, and the kernel reads as many bytes of the attributes as they have.
    let result =
        unsafe { libc::syscall(libc::SYS_mount_setattr, at.as_raw_fd(), path.as_ptr(), flags, attributes, size) };
    Errno::result(result)?;
    Ok(())
}

/// Makes what is mounted at `place` read-only, and nothing that is mounted below it.
pub(super) fn seal(place: BorrowedFd<'_>) -> io::Result<()> {
    set(place, c"", Depth::Top, READ_ONLY, 0)
}

/// Nothing that is mounted from here on happens on the host.
pub(super) fn make_private() -> io::Result<()> {
    let nothing: Option<&CStr> = None;
    mount(nothing, c"/", nothing, MsFlags::MS_REC | MsFlags::MS_PRIVATE, nothing)?;
    Ok(())
}

/// A file system of its own at an absolute path of this process or relative to its directory.
pub(super) fn mount_fresh(kind: &CStr, place: &CStr, flags: MsFlags, options: Option<&CStr>) -> io::Result<()> {
    mount(Some(kind), place, Some(kind), flags, options)?;
    Ok(())
}

/// Makes what is mounted at `root` the root of this process, and lets go of the one `before` with all of its mounts.
pub(super) fn change_root(root: BorrowedFd<'_>, before: BorrowedFd<'_>) -> io::Result<()> {
    fchdir(root)?;
    // The old root comes to lie upon the new one, and goes: pivot_root(2), "pivot_root(".", ".")".
    pivot_root(".", ".")?;
    fchdir(before)?;
    umount2(".", MntFlags::MNT_DETACH)?;
    chdir("/")?;
    Ok(())
}
