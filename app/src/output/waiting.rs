//! Waits for programs of the user's, and puts off what would end isobox before it has cleaned up after them.

use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;
use signal_hook::iterator::Signals;
use signal_hook::low_level::emulate_default_handler;
use std::io;
use std::os::unix::process::ExitStatusExt;
use std::process::{Child, Command, ExitStatus};

/// What wakes isobox while it waits.
const CAUGHT: [Signal; 5] = [Signal::SIGCHLD, Signal::SIGINT, Signal::SIGQUIT, Signal::SIGTERM, Signal::SIGHUP];

/// Signals that would end isobox, caught while this is there. Dropping it lets the last of them through.
///
/// What a keyboard sends reaches the program as well, whose own affair it is: isobox ends of it if that did. Whatever else tells
/// isobox to end is passed on to the program. Programs do not inherit what is caught, as they would what is blocked.
pub(super) struct Waiting {
    signals: Signals,
    told: Option<Signal>,
}

impl Waiting {
    /// Catches signals from now on.
    pub(super) fn begin() -> io::Result<Self> {
        Ok(Self { signals: Signals::new(CAUGHT.map(|signal| signal as i32))?, told: None })
    }

    /// Starts a program and waits until it has ended.
    pub(super) fn run(&mut self, command: &mut Command) -> io::Result<ExitStatus> {
        let mut child = command.spawn()?;
        let mut typed = None;
        loop {
            let ended = child.try_wait()?;
            let caught: Vec<i32> = match ended {
                Some(_) => self.signals.pending().collect(),
                None => self.signals.wait().collect(),
            };
            for signal in caught.into_iter().filter_map(|number| Signal::try_from(number).ok()) {
                match signal {
                    Signal::SIGCHLD => {}
                    Signal::SIGINT | Signal::SIGQUIT => typed = Some(signal),
                    _ => self.pass_on(signal, ended.is_none().then_some(&child))?,
                }
            }
            if let Some(status) = ended {
                self.told = self.told.or(typed.filter(|typed| status.signal() == Some(*typed as i32)));
                return Ok(status);
            }
        }
    }

    /// Keeps in mind that isobox was told to end, and tells a program that was not waited for, whose id is still its own.
    fn pass_on(&mut self, signal: Signal, child: Option<&Child>) -> io::Result<()> {
        self.told = Some(signal);
        let Some(child) = child else { return Ok(()) };
        Ok(kill(Pid::from_raw(child.id().try_into().map_err(io::Error::other)?), signal)?)
    }
}

impl Drop for Waiting {
    fn drop(&mut self) {
        if let Some(signal) = self.told {
            // It fails only for signals that there are not.
            emulate_default_handler(signal as i32).ok();
        }
    }
}
