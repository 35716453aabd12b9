//! The terminal of a workload, and that of whoever called.

use isobox_domain::terminal::TerminalSize;
use std::io;

/// A terminal that a workload is to get.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TerminalRequest {
    /// How big it is at first.
    pub size: TerminalSize,
    /// Where standard error goes.
    pub stderr: StderrPlace,
}

/// Where the standard error of a workload with a terminal goes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum StderrPlace {
    /// To the terminal, as the other streams.
    Terminal,
    /// It is a stream of its own.
    Apart,
}

/// The terminal of whoever called, while a workload has one of its own.
///
/// - While it is taken, every key arrives as it is typed, and what is written to it is shown as it is.
/// - It is as it was before when it is given back, when the value is dropped, and when the process panics.
pub trait CallerTerminal {
    /// How big it is.
    fn size(&self) -> TerminalSize;

    /// Takes it. A second time it is taken anew, since somebody may have changed it meanwhile.
    fn take(&mut self) -> io::Result<()>;

    /// Gives it back. A second time does nothing.
    fn give_back(&mut self);
}
