//! The caller's terminal during a session that has a terminal of its own.

use isobox_domain::terminal::TerminalSize;
use isobox_ports::CallerTerminal;
use nix::poll::{PollFd, PollFlags, PollTimeout, poll};
use rustix::termios::{OptionalActions, Termios, tcgetattr, tcgetwinsize, tcsetattr};
use std::fs::File;
use std::io::{self, PipeReader, PipeWriter, Read};
use std::os::fd::{AsFd, OwnedFd};
use std::sync::{Mutex, Once, PoisonError};

/// A terminal that is taken, how it was before, and what is written to it before it is given back. A panic gives it back, too,
/// whichever thread it is in.
static TAKEN: Mutex<Option<(OwnedFd, Termios, &[u8])>> = Mutex::new(None);

/// What a session reads from and writes to.
pub(crate) struct SessionTerminal {
    terminal: File,
    /// Dropping it ends the reader.
    _end: PipeWriter,
}

/// Reads keys, until the session is over: what is typed after that is for others.
struct Keys {
    terminal: File,
    end: PipeReader,
}

impl SessionTerminal {
    /// Of `terminal`, and what is typed there.
    pub(crate) fn open(terminal: File) -> io::Result<(Self, Box<dyn Read + Send>)> {
        let (end, writer) = io::pipe()?;
        let keys = Keys { terminal: terminal.try_clone()?, end };
        Ok((Self { terminal, _end: writer }, Box::new(keys)))
    }
}

impl CallerTerminal for SessionTerminal {
    fn size(&self) -> TerminalSize {
        // One that does not say has no size.
        let size = tcgetwinsize(&self.terminal);
        size.map_or(TerminalSize { columns: 0, rows: 0 }, |size| TerminalSize {
            columns: size.ws_col,
            rows: size.ws_row,
        })
    }

    fn take(&mut self) -> io::Result<()> {
        self.take_until(b"")
    }

    fn give_back(&mut self) {
        give_back();
    }
}

impl SessionTerminal {
    /// Gives the terminal back for a while.
    pub(crate) fn lend(&self) {
        give_back();
    }

    /// Takes the terminal; `farewell` is written to it before it is given back.
    pub(crate) fn take_until(&self, farewell: &'static [u8]) -> io::Result<()> {
        static WATCHES_FOR_PANICS: Once = Once::new();
        WATCHES_FOR_PANICS.call_once(give_back_on_panic);
        let mut taken = TAKEN.lock().unwrap_or_else(PoisonError::into_inner);
        let before = match &*taken {
            Some((_, before, _)) => before.clone(),
            None => tcgetattr(&self.terminal)?,
        };
        let mut raw = before.clone();
        raw.make_raw();
        let copy = self.terminal.as_fd().try_clone_to_owned()?;
        tcsetattr(&self.terminal, OptionalActions::Now, &raw)?;
        *taken = Some((copy, before, farewell));
        Ok(())
    }
}

impl Drop for SessionTerminal {
    fn drop(&mut self) {
        give_back();
    }
}

fn give_back() {
    let mut taken = TAKEN.lock().unwrap_or_else(PoisonError::into_inner);
    if let Some((terminal, before, farewell)) = taken.take() {
        // A terminal that has gone needs nothing back.
        rustix::io::write(&terminal, farewell).ok();
        tcsetattr(terminal, OptionalActions::Drain, &before).ok();
    }
}

fn give_back_on_panic() {
    let tell = std::panic::take_hook();
    std::panic::set_hook(Box::new(move |panic| {
        give_back();
        tell(panic);
    }));
}

impl Read for Keys {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let mut watched =
            [PollFd::new(self.terminal.as_fd(), PollFlags::POLLIN), PollFd::new(self.end.as_fd(), PollFlags::POLLIN)];
        poll(&mut watched, PollTimeout::NONE)?;
        match watched[1].any() {
            Some(false) => self.terminal.read(buffer),
            Some(true) | None => Ok(0),
        }
    }
}
