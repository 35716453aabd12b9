//! What the kernel leaves in the upper directory of an overlay to hide what lies below it.
//!
//! A whiteout, a character device of number 0:0, hides one name; a directory with the attribute `opaque` hides all that
//! lower directories have below it. See "whiteouts and opaque directories" in the kernel's documentation of overlayfs. No
//! workload can make either: the kernel refuses such a device, and gives an attribute of that name another one.

use isobox_ports::OverlayKind;
use nix::errno::Errno;
use rustix::fs::{fgetxattr, fremovexattr};
use std::io::{self, ErrorKind};
use std::os::fd::OwnedFd;

/// How marks are told from what looks like one.
#[derive(Clone, Copy)]
pub(crate) struct Marks {
    opaque: &'static str,
}

impl Marks {
    /// The marks of an overlay that is mounted as `kind`. Those of the other kind mean nothing.
    pub(crate) fn of(kind: OverlayKind) -> Self {
        match kind {
            OverlayKind::Privileged => Self { opaque: "trusted.overlay.opaque" },
            OverlayKind::Unprivileged => Self { opaque: "user.overlay.opaque" },
        }
    }

    /// Those as well, once it is sure that they can be read on the file system of `place`.
    pub(crate) fn readable(kind: OverlayKind, place: &OwnedFd) -> io::Result<Self> {
        if kind == OverlayKind::Privileged && !can_read_trusted(place) {
            let why = "what root's overlay hides is marked by attributes that this process cannot read";
            return Err(io::Error::new(ErrorKind::PermissionDenied, why));
        }
        Ok(Self::of(kind))
    }

    /// Whether nothing that lower directories have below `directory` is to be seen.
    pub(crate) fn is_opaque(&self, directory: &OwnedFd) -> Result<bool, Errno> {
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

/// Whether an attribute `trusted.*` that is not read is not there: to a process without CAP_SYS_ADMIN each looks so.
fn can_read_trusted(place: &OwnedFd) -> bool {
    // Removing what is not there changes nothing, and is refused with EPERM without the capability. See xattr(7).
    fremovexattr(place, "trusted.overlay.isobox-none") != Err(rustix::io::Errno::PERM)
}
