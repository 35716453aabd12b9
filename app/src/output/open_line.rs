//! A line that a workload began and did not end, in the place where isobox's own lines go.

use crate::output::stdout;
use std::io::{self, Write};
use std::sync::atomic::{AtomicBool, Ordering};

/// Whether there is one now: the place is one, whoever writes to it.
static IS_OPEN: AtomicBool = AtomicBool::new(false);

/// What has to be written before a line of isobox's, so that it is one of its own.
pub(super) fn ending() -> &'static [u8] {
    if IS_OPEN.swap(false, Ordering::Relaxed) { b"\n" } else { b"" }
}

/// Passes bytes on to where isobox's own lines go as well, and keeps in mind whether they end a line.
struct Watched(Box<dyn Write>);

impl Write for Watched {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let length = self.0.write(bytes)?;
        if let Some(last) = bytes[..length].last() {
            IS_OPEN.store(*last != b'\n', Ordering::Relaxed);
        }
        Ok(length)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.0.flush()
    }
}

/// Standard error, watched.
pub(super) fn on_stderr(stderr: Box<dyn Write>) -> Box<dyn Write> {
    Box::new(Watched(stderr))
}

/// Standard output, watched if it goes where standard error does.
pub(super) fn on_stdout(stdout: Box<dyn Write>) -> Box<dyn Write> {
    if stdout::is_also_stderr() { Box::new(Watched(stdout)) } else { stdout }
}
