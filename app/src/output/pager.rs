//! A pager between isobox and a person who reads.

use crate::output::terminal::TerminalWriter;
use std::io::{self, IsTerminal, Write};
use std::process::{Child, ChildStdin, Command, Stdio};

/// Whether long output goes through a pager.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Paging {
    /// On a terminal that a person can type into.
    WhereUseful,
    /// Nowhere.
    Never,
}

/// Hands what it is given to the pager, escaped as a terminal has to be protected unless it is already. Dropping waits for the
/// reader.
pub(crate) struct Pager {
    child: Child,
    /// `None` once everything was handed over.
    to: Option<Box<dyn Write>>,
}

impl Pager {
    /// Starts the user's pager; `None` where nobody would use one, or there is none.
    pub(crate) fn start(paging: Paging) -> Option<Self> {
        Self::begin(paging, |stdin| Box::new(TerminalWriter::new(stdin)))
    }

    /// The same for what is escaped already, and may have colours.
    pub(crate) fn start_for_painted(paging: Paging) -> Option<Self> {
        Self::begin(paging, |stdin| Box::new(stdin))
    }

    fn begin(paging: Paging, writer: fn(ChildStdin) -> Box<dyn Write>) -> Option<Self> {
        let is_used = paging == Paging::WhereUseful && io::stdin().is_terminal() && io::stdout().is_terminal();
        let mut command = if is_used { command()? } else { return None };
        let mut child = command.stdin(Stdio::piped()).spawn().ok()?;
        let to = child.stdin.take().map(writer);
        Some(Self { child, to })
    }
}

/// ISOBOX_PAGER or PAGER, as a shell understands it; else `less`. An empty one, and `cat`, is none.
fn command() -> Option<Command> {
    let chosen = ["ISOBOX_PAGER", "PAGER"].into_iter().find_map(std::env::var_os);
    let mut command = match chosen {
        Some(chosen) if chosen.is_empty() || chosen == "cat" => return None,
        Some(chosen) => {
            let mut shell = Command::new("sh");
            shell.arg("-c").arg(chosen);
            shell
        }
        None => {
            let mut less = Command::new("less");
            // Colours are passed on, and nothing else that drives a terminal; see less(1).
            less.arg("-R");
            less
        }
    };
    if std::env::var_os("LESS").is_none() {
        // End at once with what fits the screen, and leave it there; see less(1).
        command.env("LESS", "FRX");
    }
    Some(command)
}

impl Write for Pager {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.to.as_mut().map_or(Ok(bytes.len()), |to| to.write(bytes))
    }

    fn flush(&mut self) -> io::Result<()> {
        self.to.as_mut().map_or(Ok(()), Write::flush)
    }
}

impl Drop for Pager {
    fn drop(&mut self) {
        self.to = None;
        // A pager that was not waited for would fight with the shell for the terminal.
        self.child.wait().ok();
    }
}
