//! Mounting an overlay as an ordinary user.

use super::child::{OwnIds, Step, try_in_child};
use super::namespaces::enter_mount_namespace;
use isobox_domain::fact::Trial;
use nix::errno::Errno;
use nix::fcntl::{OFlag, open};
use nix::mount::{MsFlags, mount};
use nix::sys::stat::Mode;
use nix::unistd::mkdir;
use std::ffi::CStr;

// A directory that every machine has. The tmpfs is mounted over it in a mount namespace that goes away at once.
const PLACE: &CStr = c"/usr";
const FOLDERS: [&CStr; 4] = [c"/usr/lower", c"/usr/upper", c"/usr/work", c"/usr/merged"];
const OPTIONS: &CStr = c"lowerdir=/usr/lower,upperdir=/usr/upper,workdir=/usr/work,userxattr";

/// Mounts one, with all of its directories on a tmpfs, and makes a file in it.
pub(super) fn probe() -> Trial {
    let ids = OwnIds::of_this_process();
    try_in_child("it mounts in a user namespace", || {
        enter_mount_namespace(&ids)?;
        mount_and_write().map_err(|errno| (Step::Use, errno))
    })
}

fn mount_and_write() -> Result<(), Errno> {
    let nothing: Option<&CStr> = None;
    mount(Some(c"tmpfs"), PLACE, Some(c"tmpfs"), MsFlags::empty(), nothing)?;
    FOLDERS.iter().try_for_each(|folder| mkdir(*folder, Mode::S_IRWXU))?;
    mount(Some(c"overlay"), FOLDERS[3], Some(c"overlay"), MsFlags::empty(), Some(OPTIONS))?;
    let flags = OFlag::O_CREAT | OFlag::O_EXCL | OFlag::O_WRONLY | OFlag::O_CLOEXEC;
    open(c"/usr/merged/file", flags, Mode::S_IRWXU).map(drop)
}
