//! Signal dispositions by the kernel's own call.

/// The number of the last signal: signal(7), "Real-time signals".
pub(crate) const LAST: libc::c_int = 64;

/// Gives a signal its default disposition, if it can have another one.
pub(crate) fn set_default(signal: libc::c_int) {
    // Zeroes are SIG_DFL, no flags, no restorer and an empty mask, in the kernel's own layout on every architecture.
    let action = [0_u64; 4];
    let no_old_action = std::ptr::null::<u64>();
    // libc's own function refuses the two signals that it keeps to itself, which a caller may have ignored all the same.
    // SAFETY: the kernel reads no more than 32 bytes of `action`, and the default disposition runs no code.
    unsafe { libc::syscall(libc::SYS_rt_sigaction, signal, action.as_ptr(), no_old_action, size_of::<u64>()) };
}
