//! A line that says what takes a while: on a terminal, after a second, gone when it is over.

use crate::output::console::{Console, ErrorForm, Verbosity};
use crate::output::open_line;
use isobox_ports::{Headway, Stand};
use std::io::{self, IsTerminal, Write};
use std::sync::mpsc::{RecvTimeoutError, Sender, channel};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

/// Nothing is said about what is over sooner.
const PATIENCE: Duration = Duration::from_secs(1);
/// How often the line is drawn anew.
const PACE: Duration = Duration::from_millis(200);
/// Keeps where the cursor stands, behind what a workload may have left of a line; see console_codes(4).
const KEEP: &str = "\x1b7";
/// Goes back there and clears what is behind it.
const CLEAR: &[u8] = b"\x1b8\x1b[J";

/// Whether the line stands on the terminal now. Whoever writes another line to it takes this one away first.
static IS_DRAWN: Mutex<bool> = Mutex::new(false);

/// Writes `bytes` to standard error, in place of the line if it stands there, and never behind what a workload left of one.
pub(super) fn write_over(bytes: &[u8]) {
    write(&[open_line::ending(), bytes].concat(), After::Gone);
}

/// What becomes of the line.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum After {
    /// It was written just now.
    Drawn,
    /// It was taken away.
    Gone,
}

fn write(bytes: &[u8], after: After) {
    let mut is_drawn = IS_DRAWN.lock().unwrap_or_else(PoisonError::into_inner);
    let before = if *is_drawn { CLEAR } else { b"" };
    // One write, so that lines of isobox and of a workload do not mix. Nobody is left to be told when it fails.
    io::stderr().lock().write_all(&[before, bytes].concat()).ok();
    *is_drawn = after == After::Drawn;
}

/// What is counted of work.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Unit {
    /// Whatever it is about.
    Pieces,
    /// Hundredths of all.
    Percent,
    /// Files, of which it is known how many there are.
    Files,
}

/// Work that goes on. Dropping it takes the line away.
pub(crate) struct Working {
    headway: Arc<Headway>,
    shown: Option<(Sender<()>, JoinHandle<()>)>,
}

impl Working {
    /// Begins to tell of `what`, which must hold nothing hostile, where somebody looks.
    pub(crate) fn start(console: Console, what: &'static str) -> Self {
        Self::start_in(console, what, Unit::Pieces, Arc::default())
    }

    /// The same for work of which [`reach`](Self::reach) says how many percent are done.
    pub(crate) fn start_percent(console: Console, what: &'static str) -> Self {
        Self::start_in(console, what, Unit::Percent, Arc::default())
    }

    /// The same for work whose `headway` somebody else moves on.
    pub(crate) fn start_counted(console: Console, what: &'static str, headway: &Arc<Headway>) -> Self {
        headway.begin(0);
        Self::start_in(console, what, Unit::Files, Arc::clone(headway))
    }

    fn start_in(console: Console, what: &'static str, unit: Unit, headway: Arc<Headway>) -> Self {
        let is_wanted = console.verbosity != Verbosity::Quiet && console.errors == ErrorForm::Text;
        let is_seen = is_wanted && io::stderr().is_terminal() && std::env::var_os("TERM").is_none_or(|it| it != "dumb");
        let shown = is_seen.then(|| {
            let (headway, (stop, stopped)) = (Arc::clone(&headway), channel());
            let began = Instant::now();
            let mut wait = PATIENCE;
            let thread = std::thread::spawn(move || {
                let mut before = String::new();
                while stopped.recv_timeout(wait) == Err(RecvTimeoutError::Timeout) {
                    let now = line(what, unit, headway.stand(), began.elapsed());
                    if now != before {
                        write(now.as_bytes(), After::Drawn);
                    }
                    (wait, before) = (PACE, now);
                }
                write(b"", After::Gone);
            });
            (stop, thread)
        });
        Self { headway, shown }
    }

    /// So many percent are done.
    pub(crate) fn reach(&self, percent: u64) {
        self.headway.note(Stand { done: percent, ..Stand::default() });
    }

    /// One more of what is counted is done.
    pub(crate) fn count(&self) {
        self.headway.advance();
    }
}

impl Drop for Working {
    fn drop(&mut self) {
        if let Some((stop, thread)) = self.shown.take() {
            drop(stop);
            // The line is gone before anything else is printed. A thread that panicked drew nothing more.
            thread.join().ok();
        }
    }
}

/// Short, so that it does not wrap.
fn line(what: &str, unit: Unit, stand: Stand, elapsed: Duration) -> String {
    let Stand { done, all, is_elsewhere } = stand;
    let how_much = match unit {
        Unit::Files if all > 0 => format!(" {} {done}/{all} files", bar(done, all)),
        Unit::Percent if done > 0 => format!(" {done} %"),
        Unit::Pieces if done > 0 => format!(" {done}"),
        _ => String::new(),
    };
    let who = if is_elsewhere { "another isobox: " } else { "" };
    format!("{KEEP}{who}{what}…{how_much} ({} s)", elapsed.as_secs())
}

/// How much is done, as a picture.
fn bar(done: u64, all: u64) -> String {
    const COLUMNS: u64 = 10;
    let full = (done.min(all).saturating_mul(COLUMNS) / all.max(1)) as usize;
    format!("[{:.<columns$}]", "#".repeat(full), columns = COLUMNS as usize)
}

#[cfg(test)]
mod tests {
    use super::*;

    const WHAT: &str = "capturing what changed";

    #[test]
    fn a_line_says_what_how_much_and_how_long_and_fits() {
        let shown = line(WHAT, Unit::Pieces, Stand::default(), Duration::from_millis(1999));
        assert_eq!(shown, "\x1b7capturing what changed… (1 s)");
        let most = Stand { done: u64::MAX, ..Stand::default() };
        let longest = line(WHAT, Unit::Pieces, most, Duration::from_secs(99_999));
        assert!(longest.chars().count() < 66, "{longest}");
    }

    #[test]
    fn where_it_is_known_how_much_there_is_to_do_a_bar_says_how_much_is_done() {
        let shown = |done, all, is_elsewhere| {
            line("preparing this commit", Unit::Files, Stand { done, all, is_elsewhere }, Duration::from_secs(2))
        };
        assert_eq!(shown(0, 0, false), "\x1b7preparing this commit… (2 s)");
        assert_eq!(shown(0, 9, false), "\x1b7preparing this commit… [..........] 0/9 files (2 s)");
        assert_eq!(shown(7, 10, false), "\x1b7preparing this commit… [#######...] 7/10 files (2 s)");
        assert_eq!(shown(99, 9, false), "\x1b7preparing this commit… [##########] 99/9 files (2 s)");
        assert_eq!(shown(0, 0, true), "\x1b7another isobox: preparing this commit… (2 s)");
        let longest = shown(999_999, 999_999, true);
        assert!(longest.chars().count() <= 80 + KEEP.len(), "{longest}");
    }
}
