//! The signals that end an attempt: held back, and read where the Sandbox is watched.

use nix::sys::signal::{SigSet, Signal};
use nix::sys::signalfd::{SfdFlags, SignalFd};
use std::io;
use std::os::fd::{AsFd, BorrowedFd};

/// The signals that end an attempt.
const ENDING: [Signal; 3] = [Signal::SIGINT, Signal::SIGTERM, Signal::SIGHUP];

/// INT, TERM and HUP, held back from this thread while this value lives. What came and was not taken takes effect when
/// it is dropped. A signal that isobox was started to ignore (`nohup`) stays ignored.
pub(super) struct EndingSignals {
    signals: SignalFd,
    before: SigSet,
}

impl EndingSignals {
    /// Holds them back.
    pub(super) fn hold() -> io::Result<Self> {
        let held: SigSet = ENDING.into_iter().filter(|signal| !is_ignored(*signal)).collect();
        let signals = SignalFd::with_flags(&held, SfdFlags::SFD_CLOEXEC | SfdFlags::SFD_NONBLOCK)?;
        let before = held.thread_swap_mask(nix::sys::signal::SigmaskHow::SIG_BLOCK)?;
        Ok(Self { signals, before })
    }

    /// Takes one that came: its number.
    pub(super) fn take(&self) -> io::Result<Option<u8>> {
        Ok(self.signals.read_signal()?.and_then(|signal| u8::try_from(signal.ssi_signo).ok()))
    }
}

impl Drop for EndingSignals {
    fn drop(&mut self) {
        // sigprocmask(2) fails only for arguments that this one has not.
        self.before.thread_set_mask().ok();
    }
}

impl AsFd for EndingSignals {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.signals.as_fd()
    }
}

/// Whether this process ignores a signal. A signal that is both ignored and blocked would be queued, and so be read.
fn is_ignored(signal: Signal) -> bool {
    let mut action = std::mem::MaybeUninit::<libc::sigaction>::zeroed();
    // SAFETY: a null `act` only asks; the kernel writes one sigaction to `action`, which is big enough for it, and zeroed
    // is a valid value should the call fail.
    let action = unsafe {
        libc::sigaction(signal as libc::c_int, std::ptr::null(), action.as_mut_ptr());
        action.assume_init()
    };
    action.sa_sigaction == libc::SIG_IGN
}
