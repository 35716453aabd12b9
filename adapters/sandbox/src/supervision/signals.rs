//! The signals that end an attempt: held back, and read where the Sandbox is watched.

use isobox_ports::TerminalRequest;
use nix::sys::signal::{SigSet, Signal};
use nix::sys::signalfd::{SfdFlags, SignalFd};
use std::io;
use std::os::fd::{AsFd, BorrowedFd};

/// The signals that end an attempt.
const ENDING: [Signal; 3] = [Signal::SIGINT, Signal::SIGTERM, Signal::SIGHUP];

/// What else is held back while the caller's terminal is taken: it has to be given back first, or has another size.
const OF_A_TERMINAL: [Signal; 4] = [Signal::SIGQUIT, Signal::SIGTSTP, Signal::SIGCONT, Signal::SIGWINCH];

/// What a signal asks for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Wish {
    /// To end the attempt.
    End(u8),
    /// To stop until this process is continued.
    Stop,
    /// Nothing: this process was continued.
    Continued,
    /// To look how big the terminal is.
    Resize,
}

/// INT, TERM and HUP, held back from this thread while this value lives. What came and was not taken takes effect when
/// it is dropped. A signal that isobox was started to ignore (`nohup`) stays ignored.
pub(super) struct EndingSignals {
    signals: SignalFd,
    before: SigSet,
}

impl EndingSignals {
    /// Holds them back, and of a workload with a terminal, those that are about one.
    pub(super) fn hold(terminal: Option<TerminalRequest>) -> io::Result<Self> {
        let ending = ENDING.into_iter().filter(|signal| !is_ignored(*signal));
        let held: SigSet = ending.chain(OF_A_TERMINAL.into_iter().filter(|_| terminal.is_some())).collect();
        let signals = SignalFd::with_flags(&held, SfdFlags::SFD_CLOEXEC | SfdFlags::SFD_NONBLOCK)?;
        let before = held.thread_swap_mask(nix::sys::signal::SigmaskHow::SIG_BLOCK)?;
        Ok(Self { signals, before })
    }

    /// Takes one that came.
    pub(super) fn take(&self) -> io::Result<Option<Wish>> {
        let number = self.signals.read_signal()?.and_then(|signal| i32::try_from(signal.ssi_signo).ok());
        let signal = number.and_then(|number| Signal::try_from(number).ok());
        Ok(signal.map(|signal| match signal {
            Signal::SIGTSTP => Wish::Stop,
            Signal::SIGCONT => Wish::Continued,
            Signal::SIGWINCH => Wish::Resize,
            // No signal has a number of more than 64: signal(7).
            ending => Wish::End(ending as u8),
        }))
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
