//! The size of a terminal that this process holds a side of.

use isobox_domain::terminal::TerminalSize;
use std::io;
use std::os::fd::{AsRawFd, OwnedFd};

nix::ioctl_write_ptr_bad!(set_size, libc::TIOCSWINSZ, libc::winsize);

/// Gives it a size; its foreground processes are told by SIGWINCH.
pub(crate) fn resize(side: &OwnedFd, size: TerminalSize) -> io::Result<()> {
    let size = libc::winsize { ws_row: size.rows, ws_col: size.columns, ws_xpixel: 0, ws_ypixel: 0 };
    // SAFETY: TIOCSWINSZ reads one winsize, and `size` is one.
    unsafe { set_size(side.as_raw_fd(), &size) }?;
    Ok(())
}
