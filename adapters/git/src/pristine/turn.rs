//! Whose turn it is to make a pristine copy, and how far that one has come.
//!
//! The file `lock` is locked by one process at a time. In it that process notes, while it works, how many files of how
//! many it has made: two decimal numbers. Others read it while they wait, and believe nothing of it but numbers.

use super::held::{flock, is_at};
use crate::fields::{invalid, number};
use isobox_ports::{Headway, Stand};
use nix::fcntl::{Flock, FlockArg, OFlag};
use std::fs::{File, OpenOptions};
use std::io::{self, ErrorKind};
use std::os::unix::fs::{FileExt, OpenOptionsExt};
use std::path::Path;
use std::sync::mpsc::{RecvTimeoutError, Sender, channel};
use std::time::Duration;

/// The file that is locked by whose turn it is.
pub(super) const TURN: &str = "lock";
/// How often it is noted how far the copy has come, and looked at.
const PACE: Duration = Duration::from_millis(200);
/// Longest note, in bytes: two numbers of twenty digits.
const LONGEST: usize = 48;

/// The turn, until it is dropped.
pub(super) struct Turn(Flock<File>);

impl Turn {
    /// Takes the turn to make a copy in `around`, after everybody who has it; `None` if `around`, or the file for it, was
    /// removed meanwhile. `headway` is told how far the one is that is waited for.
    pub(super) fn wait(around: &Path, headway: &Headway) -> io::Result<Option<Self>> {
        match Self::try_take(around) {
            Err(error) if error.kind() == ErrorKind::WouldBlock => {}
            taken => return taken,
        }
        let Some(watched) = open(around)? else { return Ok(None) };
        beside(
            || headway.note(Stand { is_elsewhere: true, ..read(&watched) }),
            || Self::take(around, FlockArg::LockExclusive),
        )
    }

    /// Takes the turn, unless somebody else has it.
    pub(super) fn try_take(around: &Path) -> io::Result<Option<Self>> {
        Self::take(around, FlockArg::LockExclusiveNonblock)
    }

    fn take(around: &Path, how: FlockArg) -> io::Result<Option<Self>> {
        let Some(file) = open(around)? else { return Ok(None) };
        let locked = flock(file, how)?;
        Ok(is_at(&around.join(TURN), &locked)?.then_some(Self(locked)))
    }

    /// Does something, and lets others know meanwhile how it stands by `headway`.
    pub(super) fn telling<T>(&self, headway: &Headway, action: impl FnOnce() -> T) -> T {
        headway.begin(0);
        // Whoever had the turn before left its own. What cannot be noted is not known to others, and no harm.
        self.0.set_len(0).unwrap_or_default();
        beside(|| note(&self.0, headway.stand()).unwrap_or_default(), action)
    }
}

/// Does `action`, and `now_and_then` beside it.
fn beside<T>(now_and_then: impl Fn() + Send, action: impl FnOnce() -> T) -> T {
    std::thread::scope(|scope| {
        // Whatever ends the action drops it, and so ends the thread.
        let (_until_dropped, dropped): (Sender<()>, _) = channel();
        scope.spawn(move || {
            while dropped.recv_timeout(PACE) == Err(RecvTimeoutError::Timeout) {
                now_and_then();
            }
        });
        action()
    })
}

/// The file in `around`, made if it is not there; `None` if `around` is not there. Anything but a regular file is refused:
/// a link is not followed, and no pipe is waited for.
fn open(around: &Path) -> io::Result<Option<File>> {
    let flags = OFlag::O_NOFOLLOW | OFlag::O_NONBLOCK;
    let mut options = OpenOptions::new();
    options.read(true).write(true).create(true).truncate(false).mode(0o600).custom_flags(flags.bits());
    match options.open(around.join(TURN)) {
        Ok(file) if file.metadata()?.is_file() => Ok(Some(file)),
        Err(error) if error.kind() == ErrorKind::NotFound => Ok(None),
        Err(error) if ![Some(nix::libc::ELOOP), Some(nix::libc::EISDIR)].contains(&error.raw_os_error()) => Err(error),
        _ => Err(invalid("the file `lock` of the repository is no regular file: remove it")),
    }
}

fn note(file: &File, Stand { done, all, .. }: Stand) -> io::Result<()> {
    // As long as any before it, so that nothing of that is left.
    file.write_all_at(format!("{done:20} {all:20}\n").as_bytes(), 0)
}

fn read(file: &File) -> Stand {
    let mut bytes = [0; LONGEST];
    let count = file.read_at(&mut bytes, 0).unwrap_or(0);
    let mut numbers = bytes[..count].split(u8::is_ascii_whitespace).filter_map(number);
    let (done, all) = (numbers.next().unwrap_or(0), numbers.next().unwrap_or(0));
    Stand { done, all, is_elsewhere: true }
}
