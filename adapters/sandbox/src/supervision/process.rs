//! Processes by handles that cannot come to mean another one.

use nix::errno::Errno;
use nix::poll::{PollFd, PollFlags, PollTimeout, poll};
use nix::sys::wait::{WaitStatus, waitpid};
use nix::unistd::Pid;
use std::io;
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, FromRawFd, OwnedFd, RawFd};
use std::time::Instant;

/// A process by its pidfd.
pub(crate) struct PidHandle(OwnedFd);

impl PidHandle {
    /// The handle of a process that exists.
    pub(super) fn open(pid: Pid) -> io::Result<Self> {
        // SAFETY: pidfd_open(2) takes two numbers and touches no memory.
        let fd = unsafe { libc::syscall(libc::SYS_pidfd_open, pid.as_raw(), 0) };
        let fd = RawFd::try_from(Errno::result(fd)?).map_err(io::Error::other)?;
        // SAFETY: pidfd_open(2) returned a descriptor that nobody else owns, close-on-exec by definition.
        Ok(Self(unsafe { OwnedFd::from_raw_fd(fd) }))
    }

    /// The same once more, for another thread.
    pub(crate) fn try_clone(&self) -> io::Result<Self> {
        self.0.try_clone().map(Self)
    }

    /// Sends SIGKILL. A process that is gone is fine.
    pub(crate) fn kill(&self) -> io::Result<()> {
        let (fd, no_info) = (self.0.as_raw_fd(), std::ptr::null::<libc::siginfo_t>());
        // SAFETY: pidfd_send_signal(2) with a null siginfo reads no memory of this process.
        let result = unsafe { libc::syscall(libc::SYS_pidfd_send_signal, fd, libc::SIGKILL, no_info, 0) };
        match Errno::result(result) {
            Ok(_) | Err(Errno::ESRCH) => Ok(()),
            Err(errno) => Err(errno.into()),
        }
    }

    /// Waits until the process has ended; false if the deadline came first.
    fn wait_until(&self, deadline: Instant) -> io::Result<bool> {
        loop {
            let mut ended = [PollFd::new(self.0.as_fd(), PollFlags::POLLIN)];
            match poll(&mut ended, timeout(Some(deadline))) {
                Ok(0) => return Ok(false),
                Ok(_) => return Ok(true),
                Err(Errno::EINTR) => {}
                Err(errno) => return Err(errno.into()),
            }
        }
    }
}

impl AsFd for PidHandle {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.0.as_fd()
    }
}

/// A child of this process, until it was waited for.
pub(crate) struct Child {
    pid: Pid,
    handle: PidHandle,
    /// `Some` once it was waited for; then `None` if nobody knows how it ended.
    status: Option<Option<WaitStatus>>,
}

impl Child {
    /// Takes over a child that nobody has waited for.
    pub(crate) fn of(pid: Pid) -> io::Result<Self> {
        Ok(Self { pid, handle: PidHandle::open(pid)?, status: None })
    }

    /// Sends SIGKILL.
    pub(super) fn kill(&self) -> io::Result<()> {
        self.handle.kill()
    }

    /// Waits until it ended; false if the deadline came first.
    pub(crate) fn wait_until(&self, deadline: Instant) -> io::Result<bool> {
        if self.status.is_some() { Ok(true) } else { self.handle.wait_until(deadline) }
    }

    /// Waits until it ended, and forgets it.
    pub(crate) fn wait(&mut self) -> io::Result<()> {
        while self.status.is_none() {
            match waitpid(self.pid, None) {
                Ok(status) => self.status = Some(Some(status)),
                Err(Errno::EINTR) => {}
                // Who started isobox ignores SIGCHLD: then the kernel keeps no status. See wait(2), "NOTES".
                Err(Errno::ECHILD) => self.status = Some(None),
                Err(errno) => return Err(errno.into()),
            }
        }
        Ok(())
    }

    /// How it ended, in words; `None` while nobody waited for it.
    pub(super) fn ending(&self) -> Option<String> {
        match self.status?? {
            WaitStatus::Exited(_, code) => Some(format!("it exited with code {code}")),
            WaitStatus::Signaled(_, signal, _) => Some(format!("it died of {signal}")),
            _ => None,
        }
    }
}

/// What is left until a deadline, for poll(2), rounded up; without one, for ever.
pub(super) fn timeout(deadline: Option<Instant>) -> PollTimeout {
    let Some(deadline) = deadline else { return PollTimeout::NONE };
    let left_ms = deadline.saturating_duration_since(Instant::now()).as_millis() + 1;
    PollTimeout::try_from(left_ms).unwrap_or(PollTimeout::MAX)
}
