//! File descriptors: what a child may inherit, and content that is passed as one.

use nix::fcntl::{FcntlArg, FdFlag, fcntl};
use nix::sys::memfd::{MFdFlags, memfd_create};
use std::fs::File;
use std::io::{self, Seek, Write};
use std::os::fd::{BorrowedFd, OwnedFd, RawFd};

/// Marks every open descriptor from `first` up, so that no program executed from here on inherits it.
pub fn close_on_exec_from(first: RawFd) -> io::Result<()> {
    // SAFETY: close_range(2) with CLOSE_RANGE_CLOEXEC closes nothing and touches no memory; it sets a flag that every
    // descriptor of a Rust program has anyway.
    let result = unsafe { libc::syscall(libc::SYS_close_range, first, libc::c_uint::MAX, libc::CLOSE_RANGE_CLOEXEC) };
    match result {
        0 => Ok(()),
        // Kernels before 5.11 do not know the call or its flag.
        _ => mark_each_from(first),
    }
}

fn mark_each_from(first: RawFd) -> io::Result<()> {
    for entry in std::fs::read_dir("/proc/self/fd")? {
        let name = entry?.file_name();
        let Some(fd) = name.to_str().and_then(|name| name.parse::<RawFd>().ok()) else { continue };
        if fd >= first {
            // SAFETY: the number was listed as open a moment ago and is used for one fcntl; should it have been closed
            // since, the call fails with EBADF or sets a flag that is already set.
            let fd = unsafe { BorrowedFd::borrow_raw(fd) };
            match fcntl(fd, FcntlArg::F_SETFD(FdFlag::FD_CLOEXEC)) {
                Ok(_) | Err(nix::errno::Errno::EBADF) => {}
                Err(errno) => return Err(errno.into()),
            }
        }
    }
    Ok(())
}

/// Makes an anonymous file that holds `bytes`, positioned at its start.
pub(crate) fn file_of(bytes: &[u8]) -> io::Result<OwnedFd> {
    let mut file = File::from(memfd_create(c"isobox", MFdFlags::MFD_CLOEXEC)?);
    file.write_all(bytes)?;
    file.rewind()?;
    Ok(file.into())
}
