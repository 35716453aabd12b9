//! The terminal of a workload: opened inside the Sandbox, so that it lies in the Sandbox's own file system.

use crate::terminal::resize;
use isobox_ports::{StderrPlace, TerminalRequest};
use nix::errno::Errno;
use std::fs::File;
use std::io;
use std::os::fd::{AsRawFd, FromRawFd, OwnedFd};
use std::os::unix::fs::OpenOptionsExt;

nix::ioctl_write_ptr_bad!(lock, libc::TIOCSPTLCK, libc::c_int);
nix::ioctl_write_int_bad!(control, libc::TIOCSCTTY);

/// Both sides of a terminal.
pub(super) struct Terminal {
    /// The side of whoever watches.
    pub(super) master: OwnedFd,
    /// The side of the workload. While it is open, the terminal does not read as ended.
    pub(super) slave: Slave,
}

/// The workload's side of a terminal.
pub(super) struct Slave {
    side: OwnedFd,
    stderr: StderrPlace,
}

/// Opens a terminal as it was asked for.
pub(super) fn open(wanted: TerminalRequest) -> io::Result<Terminal> {
    // Whatever it is that has no controlling terminal, this is to be none.
    let flags = libc::O_NOCTTY | libc::O_CLOEXEC;
    let master: OwnedFd = File::options().read(true).write(true).custom_flags(flags).open("/dev/ptmx")?.into();
    // SAFETY: TIOCSPTLCK reads one int, and 0 is one.
    unsafe { lock(master.as_raw_fd(), &0) }?;
    resize(&master, wanted.size)?;
    // By its name, the other side could be another file: ioctl_tty(2), "TIOCGPTPEER".
    // SAFETY: TIOCGPTPEER takes flags and touches no memory.
    let side = unsafe { libc::ioctl(master.as_raw_fd(), libc::TIOCGPTPEER, libc::O_RDWR | flags) };
    let side = Errno::result(side)?;
    // SAFETY: TIOCGPTPEER returned a descriptor that nobody else owns.
    let side = unsafe { OwnedFd::from_raw_fd(side) };
    Ok(Terminal { master, slave: Slave { side, stderr: wanted.stderr } })
}

impl Slave {
    /// Makes it the controlling terminal and the streams of this process, which leads a session without one.
    pub(super) fn become_streams(&self) -> io::Result<()> {
        // SAFETY: TIOCSCTTY takes a number and touches no memory.
        unsafe { control(self.side.as_raw_fd(), 0) }?;
        nix::unistd::dup2_stdin(&self.side)?;
        nix::unistd::dup2_stdout(&self.side)?;
        match self.stderr {
            StderrPlace::Terminal => nix::unistd::dup2_stderr(&self.side)?,
            StderrPlace::Apart => {}
        }
        Ok(())
    }
}
