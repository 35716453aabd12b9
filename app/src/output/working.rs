//! A line that says what takes a while: on a terminal, after a second, gone when it is over.

use crate::output::console::{Console, ErrorForm, Verbosity};
use std::io::{self, IsTerminal, Write};
use std::sync::atomic::{AtomicU64, Ordering};
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

/// Writes `bytes` to standard error, in place of the line if it stands there.
pub(super) fn write_over(bytes: &[u8]) {
    write(bytes, After::Gone);
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

/// Work that goes on. Dropping it takes the line away.
pub(crate) struct Working {
    count: Arc<AtomicU64>,
    shown: Option<(Sender<()>, JoinHandle<()>)>,
}

impl Working {
    /// Begins to tell of `what`, which must hold nothing hostile, where somebody looks.
    pub(crate) fn start(console: Console, what: &'static str) -> Self {
        Self::start_in(console, what, "")
    }

    /// The same for work of which [`reach`](Self::reach) says how many percent are done.
    pub(crate) fn start_percent(console: Console, what: &'static str) -> Self {
        Self::start_in(console, what, " %")
    }

    fn start_in(console: Console, what: &'static str, unit: &'static str) -> Self {
        let count = Arc::new(AtomicU64::new(0));
        let is_wanted = console.verbosity != Verbosity::Quiet && console.errors == ErrorForm::Text;
        let is_seen = is_wanted && io::stderr().is_terminal() && std::env::var_os("TERM").is_none_or(|it| it != "dumb");
        let shown = is_seen.then(|| {
            let (count, (stop, stopped)) = (Arc::clone(&count), channel());
            let began = Instant::now();
            let mut wait = PATIENCE;
            let thread = std::thread::spawn(move || {
                let mut before = String::new();
                while stopped.recv_timeout(wait) == Err(RecvTimeoutError::Timeout) {
                    let now = line(what, count.load(Ordering::Relaxed), unit, began.elapsed());
                    if now != before {
                        write(now.as_bytes(), After::Drawn);
                    }
                    (wait, before) = (PACE, now);
                }
                write_over(b"");
            });
            (stop, thread)
        });
        Self { count, shown }
    }

    /// So many percent are done.
    pub(crate) fn reach(&self, percent: u64) {
        self.count.store(percent, Ordering::Relaxed);
    }

    /// One more of what is counted is done.
    pub(crate) fn count(&self) {
        self.count.fetch_add(1, Ordering::Relaxed);
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
fn line(what: &str, count: u64, unit: &str, elapsed: Duration) -> String {
    let count = if count > 0 { format!(" {count}{unit}") } else { String::new() };
    format!("{KEEP}{what}…{count} ({} s)", elapsed.as_secs())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_says_what_how_much_and_how_long_and_fits() {
        let shown = line("capturing what changed", 0, "", Duration::from_millis(1999));
        assert_eq!(shown, "\x1b7capturing what changed… (1 s)");
        let longest = line("capturing what changed", u64::MAX, "", Duration::from_secs(99_999));
        assert!(longest.chars().count() < 66, "{longest}");
    }
}
