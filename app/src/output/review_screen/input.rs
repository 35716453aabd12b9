//! Bytes of a terminal as keys; see console_codes(4) and terminfo(5) for the sequences.

use super::Event;
use crate::use_case::review::Key;
use nix::poll::{PollFd, PollFlags, PollTimeout, poll};
use nix::sys::signal::{SigSet, Signal};
use nix::sys::signalfd::{SfdFlags, SignalFd};
use std::collections::VecDeque;
use std::fs::File;
use std::io::{self, Read};
use std::os::fd::AsFd;

/// How long the rest of a sequence may take, in milliseconds: an Escape that nothing follows is a key.
const REST_MS: u16 = 50;
/// Longest sequence that is waited for, in bytes.
const LONGEST: usize = 16;
/// What a terminal that makes no signals of keys sends for Ctrl-Z.
const CONTROL_Z: u8 = 0x1a;

/// What is typed, and the signals that tell of the terminal.
pub(super) struct Keys {
    terminal: File,
    signals: SignalFd,
    pending: VecDeque<u8>,
}

impl Keys {
    /// Of `terminal`, and of `signals`, which are blocked.
    pub(super) fn new(terminal: File, signals: &SigSet) -> io::Result<Self> {
        let signals = SignalFd::with_flags(signals, SfdFlags::SFD_CLOEXEC | SfdFlags::SFD_NONBLOCK)?;
        Ok(Self { terminal, signals, pending: VecDeque::new() })
    }

    /// The next thing that comes, waited for or not.
    pub(super) fn next(&mut self, is_waiting: bool) -> io::Result<Event> {
        loop {
            if self.pending.pop_front_if(|first| *first == CONTROL_Z).is_some() {
                return Ok(Event::ToldToStop);
            }
            let has_more = !self.pending.is_empty() && !self.is_ready(REST_MS.into())?;
            if let Some(key) = parse(&mut self.pending, has_more) {
                return Ok(Event::Key(key));
            }
            let patience = if is_waiting { PollTimeout::NONE } else { PollTimeout::ZERO };
            let mut watched =
                [self.terminal.as_fd(), self.signals.as_fd()].map(|fd| PollFd::new(fd, PollFlags::POLLIN));
            match poll(&mut watched, patience) {
                Err(nix::errno::Errno::EINTR) => continue,
                polled => polled?,
            };
            let [terminal, signals] = watched.map(|fd| fd.any().unwrap_or(false));
            if signals && let Some(told) = self.signals.read_signal()? {
                match i32::try_from(told.ssi_signo).ok().and_then(|number| Signal::try_from(number).ok()) {
                    Some(Signal::SIGWINCH) | None => return Ok(Event::Resized),
                    Some(Signal::SIGTSTP) => return Ok(Event::ToldToStop),
                    Some(Signal::SIGCONT) => return Ok(Event::Resumed),
                    Some(signal) => return Ok(Event::ToldToEnd(signal)),
                }
            }
            if !terminal {
                return Ok(Event::Nothing);
            }
            let mut buffer = [0; 256];
            match self.terminal.read(&mut buffer) {
                Ok(0) => return Ok(Event::Gone),
                Ok(length) => self.pending.extend(&buffer[..length]),
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                // A terminal whose other side has gone: see pty(7).
                Err(error) if error.raw_os_error() == Some(nix::libc::EIO) => return Ok(Event::Gone),
                Err(error) => return Err(error),
            }
        }
    }

    fn is_ready(&self, patience: PollTimeout) -> io::Result<bool> {
        if !is_begun(&self.pending) {
            return Ok(false);
        }
        let mut watched = [PollFd::new(self.terminal.as_fd(), PollFlags::POLLIN)];
        match poll(&mut watched, patience) {
            Err(nix::errno::Errno::EINTR) => Ok(true),
            polled => Ok(polled? > 0),
        }
    }
}

/// Whether what came may be the beginning of something longer.
fn is_begun(pending: &VecDeque<u8>) -> bool {
    let bytes: Vec<u8> = pending.iter().take(LONGEST).copied().collect();
    match bytes.as_slice() {
        [0x1b] => true,
        [0x1b, b'[' | b'O', rest @ ..] => rest.len() + 2 < LONGEST && !rest.iter().any(|byte| is_final(*byte)),
        [first, ..] => bytes.len() < length_of(*first),
        [] => false,
    }
}

const fn is_final(byte: u8) -> bool {
    matches!(byte, 0x40..=0x7e)
}

/// How many bytes a character takes that begins with this one.
const fn length_of(first: u8) -> usize {
    match first {
        0xc2..=0xdf => 2,
        0xe0..=0xef => 3,
        0xf0..=0xf4 => 4,
        _ => 1,
    }
}

/// Takes the next key out of what came; what means nothing is passed over. `None`: there is no whole one, unless it is
/// `over`, when an Escape stands for itself.
fn parse(pending: &mut VecDeque<u8>, is_over: bool) -> Option<Key> {
    while let Some(&first) = pending.front() {
        if !is_over && is_begun(pending) {
            return None;
        }
        let key = match first {
            0x1b => escape(pending),
            b'\r' | b'\n' => plain(pending, Key::Enter),
            b'\t' => plain(pending, Key::Tab),
            0x7f | 0x08 => plain(pending, Key::Backspace),
            0x03 => plain(pending, Key::Interrupt),
            0x06 => plain(pending, Key::PageDown),
            0x02 => plain(pending, Key::PageUp),
            0x00..0x20 => {
                pending.pop_front();
                None
            }
            _ => character(pending),
        };
        if key.is_some() {
            return key;
        }
    }
    None
}

fn plain(pending: &mut VecDeque<u8>, key: Key) -> Option<Key> {
    pending.pop_front();
    Some(key)
}

fn character(pending: &mut VecDeque<u8>) -> Option<Key> {
    let length = pending.front().map_or(1, |first| length_of(*first)).min(pending.len());
    let bytes: Vec<u8> = pending.drain(..length).collect();
    std::str::from_utf8(&bytes).ok()?.chars().next().map(Key::Char)
}

fn escape(pending: &mut VecDeque<u8>) -> Option<Key> {
    pending.pop_front();
    if !matches!(pending.front(), Some(b'[' | b'O')) {
        return Some(Key::Escape);
    }
    pending.pop_front();
    let end = pending.iter().position(|byte| is_final(*byte))?;
    let sequence: Vec<u8> = pending.drain(..=end).collect();
    match sequence.as_slice() {
        [.., b'A'] => Some(Key::Up),
        [.., b'B'] => Some(Key::Down),
        [.., b'C'] => Some(Key::Right),
        [.., b'D'] => Some(Key::Left),
        [.., b'H'] | b"1~" | b"7~" => Some(Key::Home),
        [.., b'F'] | b"4~" | b"8~" => Some(Key::End),
        b"5~" => Some(Key::PageUp),
        b"6~" => Some(Key::PageDown),
        b"Z" => Some(Key::Tab),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn keys(bytes: &[u8]) -> Vec<Key> {
        let mut pending = bytes.iter().copied().collect();
        std::iter::from_fn(|| parse(&mut pending, true)).collect()
    }

    #[test]
    fn sequences_and_characters_are_keys() {
        let expected =
            [Key::Char('j'), Key::Up, Key::Down, Key::PageDown, Key::Home, Key::End, Key::Char('ä'), Key::Enter];
        assert_eq!(keys("j\x1b[A\x1bOB\x1b[6~\x1b[1~\x1b[Fä\r".as_bytes()), expected);
        assert_eq!(keys(b"\x1b"), [Key::Escape]);
        assert_eq!(keys(b"\x1bq\x03\x7f"), [Key::Escape, Key::Char('q'), Key::Interrupt, Key::Backspace]);
    }

    #[test]
    fn what_means_nothing_is_passed_over() {
        assert_eq!(keys(b"\x1b[99;5u\xff\x80\x01j\xc3"), [Key::Char('j')]);
    }

    #[test]
    fn a_sequence_that_is_not_whole_is_waited_for() {
        for begun in ["\x1b", "\x1b[", "\x1b[1", "\u{e4}"] {
            let bytes = begun.as_bytes();
            let mut pending: VecDeque<u8> =
                bytes[..bytes.len().min(3) - usize::from(bytes[0] > 0x7f)].iter().copied().collect();
            assert_eq!(parse(&mut pending, false), None, "{begun:?}");
        }
    }
}
