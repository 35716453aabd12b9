//! A stream of the caller's: a reader that stops reading makes isobox wait, but not deaf to signals.

use nix::libc;
use nix::poll::{PollFd, PollFlags, PollTimeout, poll};
use nix::sys::signal::{SigSet, Signal};
use nix::sys::signalfd::{SfdFlags, SignalFd};
use std::fs::File;
use std::io::{self, IsTerminal, Write};
use std::os::fd::AsFd;
use std::os::unix::fs::FileTypeExt;

/// Most bytes that a pipe takes without blocking once it is ready for any: PIPE_BUF of Linux; see pipe(7).
const PIPE_BYTES: usize = libc::PIPE_BUF;

/// Writes to a stream that may be a pipe, a terminal or a file, blocking or not.
///
/// While INT, TERM and HUP are blocked in this thread and one of them is pending, waiting for the reader fails, so that
/// whoever reads these signals comes to do so. They stay pending.
pub(crate) struct CallerStream {
    stream: File,
    most_at_once: usize,
    signals: Option<SignalFd>,
}

impl CallerStream {
    /// Takes over a stream. Where no descriptor is left for its signals, it waits without them.
    pub(crate) fn new(stream: File) -> Self {
        let kind = stream.metadata().map(|found| found.file_type());
        let can_stall = kind.is_ok_and(|kind| kind.is_fifo() || kind.is_socket()) || stream.is_terminal();
        let ending = SigSet::from_iter([Signal::SIGINT, Signal::SIGTERM, Signal::SIGHUP]);
        let signals = SignalFd::with_flags(&ending, SfdFlags::SFD_CLOEXEC | SfdFlags::SFD_NONBLOCK).ok();
        Self { stream, most_at_once: if can_stall { PIPE_BYTES } else { usize::MAX }, signals }
    }

    /// Waits until something can be written, or writing would tell why not.
    fn wait(&self) -> io::Result<()> {
        let mut watched = vec![PollFd::new(self.stream.as_fd(), PollFlags::POLLOUT)];
        watched.extend(self.signals.as_ref().map(|signals| PollFd::new(signals.as_fd(), PollFlags::POLLIN)));
        poll(&mut watched, PollTimeout::NONE)?;
        match watched[0].revents().is_some_and(|found| !found.is_empty()) {
            true => Ok(()),
            false => Err(io::Error::other("isobox was told to end while nobody read its output")),
        }
    }
}

impl Write for CallerStream {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.wait()?;
        match self.stream.write(&bytes[..bytes.len().min(self.most_at_once)]) {
            // Somebody else filled it in between; `write_all` tries again after this.
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => Err(io::ErrorKind::Interrupted.into()),
            written => written,
        }
    }

    fn flush(&mut self) -> io::Result<()> {
        self.stream.flush()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use nix::fcntl::OFlag;
    use nix::sys::signal::raise;
    use nix::unistd::pipe2;
    use std::io::Read;

    const LENGTH: usize = 300_000;

    #[test]
    fn a_pipe_that_does_not_block_still_takes_everything() {
        let (reader, writer) = pipe2(OFlag::O_NONBLOCK | OFlag::O_CLOEXEC).expect("a pipe");
        nix::fcntl::fcntl(&reader, nix::fcntl::FcntlArg::F_SETFL(OFlag::empty())).expect("a blocking end");
        let reading = std::thread::spawn(move || {
            let mut read = Vec::new();
            File::from(reader).read_to_end(&mut read).map(|_| read.len())
        });
        CallerStream::new(File::from(writer)).write_all(&vec![7; LENGTH]).expect("written");
        assert_eq!(reading.join().expect("no panic").expect("read"), LENGTH);
    }

    #[test]
    fn a_reader_that_is_gone_is_a_broken_pipe() {
        let (reader, writer) = pipe2(OFlag::O_CLOEXEC).expect("a pipe");
        drop(reader);
        let written = CallerStream::new(File::from(writer)).write_all(b"x");
        assert_eq!(written.expect_err("nobody reads").kind(), io::ErrorKind::BrokenPipe);
    }

    #[test]
    fn a_pending_signal_ends_the_wait_for_a_reader_that_stopped() {
        let (_reader, writer) = pipe2(OFlag::O_CLOEXEC).expect("a pipe");
        let waiting = std::thread::spawn(move || {
            SigSet::from_iter([Signal::SIGHUP]).thread_block().expect("blocked");
            raise(Signal::SIGHUP).expect("pending");
            CallerStream::new(File::from(writer)).write_all(&vec![7; LENGTH]).map_err(|error| error.to_string())
        });
        let told = waiting.join().expect("no panic").expect_err("nobody reads");
        assert_eq!(told, "isobox was told to end while nobody read its output");
    }
}
