//! The holder: a process of isobox's own that outlives a killed isobox, and with it what was written in memory.
//!
//! It gives a descriptor of that to whoever connects to its socket, once the Sandbox is over, and ends when the socket is
//! removed, as it is with the Workspace.

use crate::holder::SOCKET;
use crate::protocol::{CONTROL_FD, Channel, HOLDER_NAME, Message};
use nix::errno::Errno;
use nix::fcntl::AtFlags;
use nix::poll::{PollFd, PollFlags, PollTimeout, poll};
use nix::sys::inotify::{AddWatchFlags, InitFlags, Inotify};
use nix::sys::signal::{SigHandler, Signal, signal};
use nix::sys::socket::{SockFlag, accept4};
use nix::sys::stat::fstatat;
use std::convert::Infallible;
use std::io;
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, FromRawFd, OwnedFd, RawFd};
use std::path::Path;
use std::time::Duration;

/// Where it finds what it needs, from the control socket on.
const LISTENING_FD: RawFd = CONTROL_FD + 1;
const WRITTEN_FD: RawFd = CONTROL_FD + 2;
const STAGE_FD: RawFd = CONTROL_FD + 3;
const DIRECTORY_FD: RawFd = CONTROL_FD + 4;

/// How often the socket is looked for where nobody can be told that it is removed.
const LOOK_MS: u16 = 1000;

/// How long a Sandbox may take to end once isobox is gone.
const ENDING_MS: u16 = 30_000;

/// Whether this process was started as one: its only argument is its name, and what it needs is open.
pub(super) fn is_asked() -> bool {
    let mut arguments = std::env::args_os();
    let is_named = arguments.next().is_some_and(|name| Path::new(&name).ends_with(HOLDER_NAME));
    is_named && arguments.next().is_none() && (CONTROL_FD..=DIRECTORY_FD).all(super::is_open)
}

/// What a holder has.
struct Held {
    listening: OwnedFd,
    written: OwnedFd,
    stage: OwnedFd,
    directory: OwnedFd,
}

/// Holds until the socket is removed. Returns only what kept it from that.
pub(super) fn run() -> io::Result<Infallible> {
    // SAFETY: these numbers were passed for this alone, and nothing else owns them.
    let owned = |number| unsafe { OwnedFd::from_raw_fd(number) };
    let held = Held {
        listening: owned(LISTENING_FD),
        written: owned(WRITTEN_FD),
        stage: owned(STAGE_FD),
        directory: owned(DIRECTORY_FD),
    };
    outlive_the_caller()?;
    let watch = watch(&held.directory);
    // SAFETY: descriptor 3 is the control socket by the protocol. `enter_if_asked` owns it only when this returned.
    let control = std::mem::ManuallyDrop::new(Channel::of(unsafe { OwnedFd::from_raw_fd(CONTROL_FD) }));
    control.send(&Message::Ready.encode())?;
    while is_there(&held.directory) {
        let asked = wait(&held.listening, watch.as_ref())?;
        if asked && held.answer().is_err() {
            // Whoever asks is told by the end of the connection. Where none can be taken, it is still there at once.
            std::thread::sleep(Duration::from_millis(LOOK_MS.into()));
        }
        if let Some(watch) = &watch {
            // Whatever happened, the socket is looked for.
            watch.read_events().ok();
        }
    }
    std::process::exit(0);
}

/// What ends a terminal's session is not meant for it. SIGTERM is: the machine goes down.
fn outlive_the_caller() -> io::Result<()> {
    for ignored in [Signal::SIGHUP, Signal::SIGINT, Signal::SIGQUIT, Signal::SIGTSTP] {
        // SAFETY: to ignore a signal runs no code.
        unsafe { signal(ignored, SigHandler::SigIgn) }?;
    }
    std::env::set_current_dir("/")
}

/// A user may have as many watches as there may be.
fn watch(directory: &OwnedFd) -> Option<Inotify> {
    let watch = Inotify::init(InitFlags::IN_CLOEXEC | InitFlags::IN_NONBLOCK).ok()?;
    let path = format!("/proc/self/fd/{}", directory.as_raw_fd());
    watch.add_watch(path.as_str(), AddWatchFlags::IN_DELETE | AddWatchFlags::IN_MOVED_FROM).ok()?;
    Some(watch)
}

fn is_there(directory: &OwnedFd) -> bool {
    fstatat(directory, SOCKET, AtFlags::AT_SYMLINK_NOFOLLOW) != Err(Errno::ENOENT)
}

/// Whether somebody asks.
fn wait(listening: &OwnedFd, watch: Option<&Inotify>) -> io::Result<bool> {
    let sources = [Some(listening.as_fd()), watch.map(AsFd::as_fd)];
    let mut awaited: Vec<_> = sources.into_iter().flatten().map(|fd| PollFd::new(fd, PollFlags::POLLIN)).collect();
    let longest = if watch.is_some() { PollTimeout::NONE } else { LOOK_MS.into() };
    match poll(&mut awaited, longest) {
        Ok(_) | Err(Errno::EINTR) => Ok(awaited[0].any().unwrap_or(false)),
        Err(errno) => Err(errno.into()),
    }
}

impl Held {
    /// Gives it to whoever asks, when nobody writes to it any more; else hangs up.
    fn answer(&self) -> io::Result<()> {
        let asking = Channel::of(accept4(&self.listening, SockFlag::SOCK_CLOEXEC)?);
        if has_ended(self.stage.as_fd())? {
            asking.send_with(&Message::Mounted.encode(), self.written.as_fd())?;
        }
        Ok(())
    }
}

fn has_ended(process: BorrowedFd<'_>) -> io::Result<bool> {
    match poll(&mut [PollFd::new(process, PollFlags::POLLIN)], ENDING_MS) {
        Ok(ready) => Ok(ready > 0),
        Err(errno) => Err(errno.into()),
    }
}
