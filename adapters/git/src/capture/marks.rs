//! What the kernel leaves in the upper directory of an overlay to hide what lies below it.
//!
//! A whiteout, a character device of number 0:0, hides one name; a directory with the attribute `opaque` hides all that
//! lower directories have below it. See "whiteouts and opaque directories" in the kernel's documentation of overlayfs. No
//! workload can make either: the kernel refuses such a device, and gives an attribute of that name another one.

use isobox_ports::OverlayKind;
use nix::errno::Errno;
use rustix::fs::fgetxattr;
use std::os::fd::OwnedFd;

/// How marks are told from what looks like one.
#[derive(Clone, Copy)]
pub(super) struct Marks {
    opaque: &'static str,
}

impl Marks {
    /// The marks of an overlay that is mounted as `kind`. Those of the other kind mean nothing.
    pub(super) fn of(kind: OverlayKind) -> Self {
        match kind {
            OverlayKind::Privileged => Self { opaque: "trusted.overlay.opaque" },
            OverlayKind::Unprivileged => Self { opaque: "user.overlay.opaque" },
        }
    }

    /// Whether nothing that lower directories have below `directory` is to be seen.
    pub(super) fn is_opaque(&self, directory: &OwnedFd) -> Result<bool, Errno> {
        let mut value = [0; 1];
        match fgetxattr(directory, self.opaque, &mut value) {
            Ok(length) => Ok((length, value) == (1, *b"y")),
            Err(errno) => match Errno::from_raw(errno.raw_os_error()) {
                // There is none, there can be none, or a longer one, which is another one.
                Errno::ENODATA | Errno::EOPNOTSUPP | Errno::ERANGE => Ok(false),
                errno => Err(errno),
            },
        }
    }
}
