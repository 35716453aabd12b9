//! The user namespace of a Sandbox that root mounts.

use nix::fcntl::{OFlag, open, openat};
use nix::sched::{CloneFlags, unshare};
use nix::sys::stat::Mode;
use nix::unistd::{getegid, geteuid, write};
use std::io;
use std::os::fd::OwnedFd;

/// This process in the `/proc` of the host, which can still be written when the Sandbox's own cannot.
pub(super) struct OwnIds(OwnedFd);

impl OwnIds {
    /// Of this process, before it left the host's mounts.
    pub(super) fn of_this_process() -> io::Result<Self> {
        let flags = OFlag::O_PATH | OFlag::O_DIRECTORY | OFlag::O_CLOEXEC;
        Ok(Self(open("/proc/self", flags, Mode::empty())?))
    }

    /// Goes into a user namespace that knows this user and this group alone. It owns none of the other namespaces: whatever
    /// capability would be held in it is worth nothing there.
    pub(super) fn enter_user_namespace(&self) -> io::Result<()> {
        let (user, group) = (geteuid(), getegid());
        unshare(CloneFlags::CLONE_NEWUSER)?;
        self.put("setgroups", "deny")?;
        self.put("uid_map", &format!("{user} {user} 1"))?;
        self.put("gid_map", &format!("{group} {group} 1"))
    }

    fn put(&self, file: &str, text: &str) -> io::Result<()> {
        let file = openat(&self.0, file, OFlag::O_WRONLY | OFlag::O_CLOEXEC, Mode::empty())?;
        write(&file, text.as_bytes())?;
        Ok(())
    }
}
