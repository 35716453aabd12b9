//! Capabilities of this process.

use nix::errno::Errno;
use std::io;

/// `_LINUX_CAPABILITY_VERSION_3` of linux/capability.h: two words for each set.
pub(crate) const VERSION_3: u32 = 0x2008_0522;

/// More than any kernel has.
pub(crate) const MOST: u32 = 64;

/// Gives up every capability, and that any could be gained by executing a program.
pub(crate) fn drop_all() -> io::Result<()> {
    for capability in 0..MOST {
        // SAFETY: takes numbers and touches no memory.
        let dropped =
            unsafe { libc::prctl(libc::PR_CAPBSET_DROP, libc::c_ulong::from(capability), 0_u64, 0_u64, 0_u64) };
        match Errno::result(dropped) {
            Ok(_) => {}
            // The kernel knows no such capability, nor any after it.
            Err(Errno::EINVAL) => break,
            Err(errno) => return Err(errno.into()),
        }
    }
    drop_held()
}

/// Gives up those that are held. Without capabilities this does nothing, and works.
pub(crate) fn drop_held() -> io::Result<()> {
    let clear = libc::c_ulong::try_from(libc::PR_CAP_AMBIENT_CLEAR_ALL).unwrap_or_default();
    // SAFETY: takes numbers and touches no memory.
    Errno::result(unsafe { libc::prctl(libc::PR_CAP_AMBIENT, clear, 0_u64, 0_u64, 0_u64) })?;
    let (header, sets) = ([VERSION_3, 0], [[0_u32; 3]; 2]);
    // SAFETY: version 3 of the header has two words, and its sets are twice three words.
    Errno::result(unsafe { libc::syscall(libc::SYS_capset, header.as_ptr(), sets.as_ptr()) })?;
    Ok(())
}
