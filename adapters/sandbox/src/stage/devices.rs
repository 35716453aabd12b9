//! What isobox does before `bwrap` when it runs as root: it goes where it can mount, and shows itself the host's device
//! nodes read-only there.
//!
//! Root owns the nodes that `bwrap --dev` shows, and needs no capability to change the mode of what it owns: a workload
//! could close `/dev/null` to the whole machine. `bwrap` cannot show a device read-only, so the thread that starts it goes
//! into a mount namespace in which they are. A read-only mount keeps nobody from writing to what is behind a node.

use nix::mount::{MsFlags, mount};
use nix::sched::{CloneFlags, setns, unshare};
use nix::unistd::{chroot, fchdir};
use std::fs::File;
use std::io;
use std::os::unix::fs::OpenOptionsExt;
use std::path::Path;

/// The devices that `bwrap --dev` shows.
const DEVICES: [&str; 6] = ["/dev/null", "/dev/zero", "/dev/full", "/dev/random", "/dev/urandom", "/dev/tty"];

/// Of linux/capability.h: what it takes to go into a mount namespace, to mount there, and to go back.
const CAP_SYS_CHROOT: u32 = 18;
const CAP_SYS_ADMIN: u32 = 21;

/// How the nodes of the host are kept from the workload.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Guard {
    /// The workload's user does not own them.
    NotOwner,
    /// They are shown read-only.
    ReadOnly,
    /// Not at all: this process may not mount.
    None,
}

/// What can be done by this process.
pub(crate) fn guard() -> io::Result<Guard> {
    if !nix::unistd::geteuid().is_root() {
        return Ok(Guard::NotOwner);
    }
    Ok(if capabilities()? & (1 << CAP_SYS_ADMIN) != 0 { Guard::ReadOnly } else { Guard::None })
}

/// Whether this thread may mount something of its own where the devices are read-only, and come back.
pub(crate) fn may_mount() -> io::Result<bool> {
    let needed = 1 << CAP_SYS_ADMIN | 1 << CAP_SYS_CHROOT;
    Ok(nix::unistd::geteuid().is_root() && capabilities()? & needed == needed)
}

/// The effective set, a bit for each.
fn capabilities() -> io::Result<u64> {
    let status = std::fs::read_to_string("/proc/self/status")?;
    let effective = status.lines().find_map(|line| u64::from_str_radix(line.strip_prefix("CapEff:")?.trim(), 16).ok());
    Ok(effective.unwrap_or_default())
}

/// The way back for a thread that went where the devices are read-only. Dropping it goes back, too.
#[derive(Debug)]
pub(crate) struct WayBack {
    namespace: File,
    root: File,
    directory: File,
    is_gone: bool,
    is_needed: bool,
}

/// Takes this thread where the devices are read-only, with the processes that it starts before it goes back.
///
/// Nothing else changes for them: what the host mounts and unmounts later still happens here.
pub(crate) fn enter_read_only() -> io::Result<WayBack> {
    let held = |path: &str| File::options().read(true).custom_flags(libc::O_PATH).open(path);
    let namespace = File::open("/proc/thread-self/ns/mnt")?;
    let way_back = WayBack { namespace, root: held("/")?, directory: held(".")?, is_gone: false, is_needed: false };
    unshare(CloneFlags::CLONE_NEWNS)?;
    let nothing: Option<&str> = None;
    // What the host mounts later still happens here, and nothing of this happens there.
    mount(nothing, "/", nothing, MsFlags::MS_REC | MsFlags::MS_SLAVE, nothing)?;
    for device in DEVICES.iter().filter(|device| Path::new(device).exists()) {
        mount(Some(*device), *device, nothing, MsFlags::MS_BIND, nothing)?;
        let read_only = MsFlags::MS_REMOUNT | MsFlags::MS_BIND | MsFlags::MS_RDONLY;
        mount(nothing, *device, nothing, read_only | MsFlags::MS_NOSUID | MsFlags::MS_NOEXEC, nothing)?;
    }
    Ok(way_back)
}

impl WayBack {
    /// Says that something was mounted here that this thread must not look through afterwards: not getting back is a
    /// failure from now on.
    pub(crate) fn need(&mut self) {
        self.is_needed = true;
    }

    /// Goes back. Whoever is in a mount namespace last waits for its end, and that need not be isobox.
    pub(crate) fn go(mut self) -> io::Result<()> {
        self.step_back()
    }

    fn step_back(&mut self) -> io::Result<()> {
        self.is_gone = true;
        match setns(&self.namespace, CloneFlags::CLONE_NEWNS) {
            Err(errno) if self.is_needed => {
                let why = format!("leave the mount namespace of the overlay: {}", errno.desc());
                return Err(io::Error::other(why));
            }
            // It takes a capability more than getting here. Where only the devices differ, nothing depends on it.
            Err(_) => return Ok(()),
            Ok(()) => {}
        }
        // The namespace's own root is not ours in a chroot(2).
        fchdir(&self.root)?;
        chroot(".")?;
        Ok(fchdir(&self.directory)?)
    }
}

impl Drop for WayBack {
    fn drop(&mut self) {
        if !self.is_gone {
            // Whoever drops it has something worse to tell.
            self.step_back().ok();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_thread_that_does_not_get_back_is_a_failure_only_where_something_was_mounted() {
        // A file that is no namespace cannot be gone to.
        let open = |path| File::open(path).expect("it is there");
        let way_back = || WayBack {
            namespace: open("/dev/null"),
            root: open("/"),
            directory: open("."),
            is_gone: false,
            is_needed: false,
        };
        assert!(way_back().go().is_ok());
        let mut needed = way_back();
        needed.need();
        assert!(needed.go().is_err());
    }
}
