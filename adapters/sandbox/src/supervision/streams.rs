//! The three streams of a workload.

use isobox_ports::{Content, Flow};
use nix::errno::Errno;
use nix::poll::{PollFd, PollFlags, PollTimeout, poll};
use std::fs::File;
use std::io::{self, IsTerminal, Read, Write};
use std::os::fd::{AsFd, AsRawFd, BorrowedFd};

/// Longest piece that is passed on at once, in bytes: what a pipe holds.
const PIECE_BYTES: usize = 64 * 1024;

nix::ioctl_read_bad!(unread_bytes, libc::FIONREAD, libc::c_int);

/// Most bytes that are read of a terminal once nobody is left who should write to it: more than the kernel keeps for one.
const LEFT_OF_A_TERMINAL: usize = 1 << 20;

/// One output stream of a workload: the reading end of its pipe, or its terminal, until one side has closed it.
pub(super) struct Output {
    pipe: Option<File>,
    buffer: Box<[u8]>,
}

impl Output {
    /// The stream that arrives at `pipe`.
    pub(super) fn of(pipe: File) -> Self {
        Self { pipe: Some(pipe), buffer: vec![0; PIECE_BYTES].into_boxed_slice() }
    }

    /// Reads one piece and passes it on; blocks if there is nothing. At the end, or if `pass` closes it, the pipe is
    /// closed.
    pub(super) fn pass_on(&mut self, pass: impl FnMut(&[u8]) -> Flow) -> io::Result<usize> {
        self.pass_at_most(PIECE_BYTES, pass)
    }

    fn pass_at_most(&mut self, limit: usize, mut pass: impl FnMut(&[u8]) -> Flow) -> io::Result<usize> {
        let Some(pipe) = &mut self.pipe else { return Ok(0) };
        let piece = &mut self.buffer[..limit.min(PIECE_BYTES)];
        let length = loop {
            match pipe.read(piece) {
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                // A terminal whose other side nobody has open any more; a pipe never says this. See pty(7).
                Err(error) if error.raw_os_error() == Some(libc::EIO) => break 0,
                other => break other?,
            }
        };
        if length == 0 || pass(&piece[..length]) == Flow::Closed {
            self.pipe = None;
        }
        Ok(length)
    }

    /// Passes on what is in the pipe now, and closes it, whoever still holds its other end.
    pub(super) fn drain(&mut self, mut pass: impl FnMut(&[u8]) -> Flow) -> io::Result<()> {
        if self.pipe.as_ref().is_some_and(File::is_terminal) {
            return self.drain_terminal(pass);
        }
        let mut left = self.unread()?;
        while left > 0 && self.pipe.is_some() {
            left = left.saturating_sub(self.pass_at_most(left, &mut pass)?);
        }
        self.pipe = None;
        Ok(())
    }

    // What a terminal was given arrives by and by, and FIONREAD counts what has: poll(2) waits for that.
    fn drain_terminal(&mut self, mut pass: impl FnMut(&[u8]) -> Flow) -> io::Result<()> {
        let mut left = LEFT_OF_A_TERMINAL;
        while left > 0 && self.has_something()? {
            left = left.saturating_sub(self.pass_at_most(left, &mut pass)?);
        }
        self.pipe = None;
        Ok(())
    }

    fn has_something(&self) -> io::Result<bool> {
        let Some(pipe) = &self.pipe else { return Ok(false) };
        let mut asked = [PollFd::new(pipe.as_fd(), PollFlags::POLLIN)];
        loop {
            match poll(&mut asked, PollTimeout::ZERO) {
                Ok(_) => return Ok(asked[0].revents().is_some_and(|found| found.contains(PollFlags::POLLIN))),
                Err(Errno::EINTR) => {}
                Err(errno) => return Err(errno.into()),
            }
        }
    }

    /// Takes what is in the pipe now, without closing it.
    pub(super) fn take_unread(&mut self) -> io::Result<Vec<u8>> {
        let mut taken = Vec::new();
        let left = self.unread()?;
        while taken.len() < left && self.pipe.is_some() {
            self.pass_at_most(left - taken.len(), |bytes| {
                taken.extend_from_slice(bytes);
                Flow::Continue
            })?;
        }
        Ok(taken)
    }

    fn unread(&self) -> io::Result<usize> {
        let Some(pipe) = &self.pipe else { return Ok(0) };
        let mut count = 0;
        // SAFETY: FIONREAD writes one int, and `count` is one.
        unsafe { unread_bytes(pipe.as_raw_fd(), &mut count) }?;
        usize::try_from(count).map_err(io::Error::other)
    }

    /// The descriptor to wait for, while the stream goes on.
    pub(super) fn as_fd(&self) -> Option<BorrowedFd<'_>> {
        self.pipe.as_ref().map(AsFd::as_fd)
    }
}

/// Passes `content` into `pipe` in a thread of its own, until one of them ends.
///
/// Nobody waits for that thread: it may sleep in a read from a terminal long after the workload has ended. A workload
/// that does not read its input is no failure, and a failing read ends the input: who made `content` knows about it.
pub(super) fn pump(mut content: Content, mut pipe: File) -> io::Result<()> {
    let pass = move || {
        let mut buffer = vec![0; PIECE_BYTES];
        loop {
            match content.read(&mut buffer) {
                Ok(0) => break,
                Ok(length) if pipe.write_all(&buffer[..length]).is_err() => break,
                Ok(_) => {}
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(_) => break,
            }
        }
    };
    std::thread::Builder::new().name("stdin".to_owned()).spawn(pass)?;
    Ok(())
}
