//! The screen of a review: a list of paths, the lines of one, and what keys do. It draws a [`Review`] and reads keys for it.
//!
//! Everything that a workload made is escaped before it is laid out, so that no byte of it drives the terminal.

mod draw;
mod glyphs;
mod help;
mod input;
mod lines;
mod list;
mod page;

use crate::failure::{Failure, FailureKind};
use crate::output::console::Console;
use crate::output::session_terminal::SessionTerminal;
use crate::use_case::review::{Key, Review};
use draw::{Look, draw};
use input::Keys;
use isobox_ports::CallerTerminal;
use nix::sys::signal::{SigSet, Signal, raise};
use ratatui::backend::CrosstermBackend;
use ratatui::crossterm::style::force_color_output;
use ratatui::layout::Rect;
use ratatui::{Terminal, TerminalOptions, Viewport};
use std::fs::File;
use std::io::{self, BufWriter, IsTerminal, Write};
use std::os::fd::AsFd;

/// Another screen, emptied; see console_codes(4) and xterm's list of control sequences.
const GREETING: &[u8] = b"\x1b[?1049h\x1b[2J\x1b[H";
/// The cursor, no colours, and the screen that was there before.
const FAREWELL: &[u8] = b"\x1b[?25h\x1b[0m\x1b[?1049l";
/// Signals that are read as keys are.
const WATCHED: [Signal; 7] = [
    Signal::SIGWINCH,
    Signal::SIGINT,
    Signal::SIGTERM,
    Signal::SIGHUP,
    Signal::SIGQUIT,
    Signal::SIGTSTP,
    Signal::SIGCONT,
];
/// What a terminal has that does not tell its size.
const USUAL: (u16, u16) = (80, 24);

/// What came from the terminal.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Event {
    /// A key was pressed.
    Key(Key),
    /// The terminal has another size.
    Resized,
    /// isobox was told to stop until it is told to go on; it did.
    ToldToStop,
    /// It goes on after it was stopped.
    Resumed,
    /// Nothing yet.
    Nothing,
    /// Nothing will come any more: the terminal is gone.
    Gone,
    /// isobox was told to end.
    ToldToEnd(Signal),
}

/// A terminal that shows a review. Dropping it gives the terminal back as it was.
pub(crate) struct Screen {
    terminal: Terminal<CrosstermBackend<BufWriter<File>>>,
    session: SessionTerminal,
    keys: Keys,
    look: Look,
    /// The signals that were blocked before.
    before: SigSet,
    told: Option<Signal>,
}

impl Screen {
    /// Takes the terminal on standard input and output.
    pub(crate) fn open(console: Console) -> Result<Self, Failure> {
        if !io::stdin().is_terminal() || !io::stdout().is_terminal() {
            let message = "a review needs a terminal to show it on and to type on";
            return Err(Failure::new(FailureKind::Usage, message).with_hint(
                "`isobox report` and `isobox diff` tell the same without one, `isobox promote --only` takes paths",
            ));
        }
        let failed = |error: io::Error| Failure::new(FailureKind::General, "use the terminal").because(error);
        Self::take(console).map_err(failed)
    }

    fn take(console: Console) -> io::Result<Self> {
        let input = File::from(io::stdin().as_fd().try_clone_to_owned()?);
        let mut output = File::from(io::stdout().as_fd().try_clone_to_owned()?);
        let (session, _) = SessionTerminal::open(input.try_clone()?)?;
        let signals = SigSet::from_iter(WATCHED);
        let before = SigSet::thread_get_mask()?;
        signals.thread_block()?;
        let keys = Keys::new(input, &signals)?;
        // Only colours that were asked for are drawn.
        force_color_output(true);
        let look = Look { is_coloured: console.is_coloured(), glyphs: glyphs::of_environment() };
        session.take_until(FAREWELL)?;
        output.write_all(GREETING)?;
        let terminal = Self::terminal(output, area(&session))?;
        Ok(Self { terminal, session, keys, look, before, told: None })
    }

    // Of a fixed size: what asks for it otherwise starts a program where a terminal does not tell.
    fn terminal(output: File, area: Rect) -> io::Result<Terminal<CrosstermBackend<BufWriter<File>>>> {
        let backend = CrosstermBackend::new(BufWriter::with_capacity(64 << 10, output));
        Terminal::with_options(backend, TerminalOptions { viewport: Viewport::Fixed(area) })
    }

    /// Whether there is room for the lines of a path beside the list.
    pub(crate) fn is_wide(&self) -> bool {
        draw::is_wide(area(&self.session).width)
    }

    /// Draws the review as it is now.
    pub(crate) fn show(&mut self, title: &str, review: &mut Review) -> Result<(), Failure> {
        let (area, look) = (area(&self.session), self.look);
        review.resize(draw::rows(area));
        self.terminal
            .draw(|frame| draw(frame, title, review, look))
            .map(drop)
            .map_err(|error| Failure::new(FailureKind::General, "draw on the terminal").because(error))
    }

    /// The next thing that comes, waited for or not.
    pub(crate) fn next(&mut self, is_waiting: bool) -> Result<Event, Failure> {
        let failed = |error: io::Error| Failure::new(FailureKind::General, "read from the terminal").because(error);
        let event = self.keys.next(is_waiting).map_err(failed)?;
        match event {
            Event::Resized => self.start_over().map_err(failed)?,
            Event::ToldToStop => self.stop().and_then(|()| self.resume()).map_err(failed)?,
            Event::Resumed => self.resume().map_err(failed)?,
            Event::ToldToEnd(signal) => self.told = Some(signal),
            _ => {}
        }
        Ok(event)
    }

    /// Gives the terminal back and stops, as a shell expects of what it can bring to the foreground again.
    fn stop(&self) -> io::Result<()> {
        self.session.lend();
        let stopping = SigSet::from(Signal::SIGTSTP);
        stopping.thread_unblock()?;
        raise(Signal::SIGTSTP)?;
        stopping.thread_block()?;
        Ok(())
    }

    /// Takes the terminal again: whoever had it meanwhile left it as it liked.
    fn resume(&mut self) -> io::Result<()> {
        self.session.take_until(FAREWELL)?;
        File::from(io::stdout().as_fd().try_clone_to_owned()?).write_all(GREETING)?;
        self.start_over()
    }

    /// Everything is drawn anew: what a terminal shows after a change of its size is its own affair.
    fn start_over(&mut self) -> io::Result<()> {
        let mut output = File::from(io::stdout().as_fd().try_clone_to_owned()?);
        output.write_all(b"\x1b[0m\x1b[2J")?;
        self.terminal = Self::terminal(output, area(&self.session))?;
        Ok(())
    }
}

impl Drop for Screen {
    fn drop(&mut self) {
        // A terminal that has gone needs nothing back.
        self.terminal
            .backend_mut()
            .write_all(FAREWELL)
            .and_then(|()| io::Write::flush(self.terminal.backend_mut()))
            .ok();
        self.session.give_back();
        // It fails only for arguments that this one has not: sigprocmask(2).
        self.before.thread_set_mask().ok();
        if let Some(signal) = self.told {
            raise(signal).ok();
        }
    }
}

fn area(session: &SessionTerminal) -> Rect {
    let size = session.size();
    let (columns, rows) = if size.columns == 0 || size.rows == 0 { USUAL } else { (size.columns, size.rows) };
    Rect::new(0, 0, columns, rows)
}
