//! Trying something in a process of its own, whose namespaces go away with it.

use isobox_domain::fact::Trial;
use nix::errno::Errno;
use nix::fcntl::{OFlag, open};
use nix::sched::{CloneFlags, unshare};
use nix::sys::stat::Mode;
use nix::sys::wait::waitpid;
use nix::unistd::{ForkResult, fork, getegid, geteuid, pipe2, read, write};
use std::ffi::CStr;
use std::io;
use std::os::fd::{AsFd, AsRawFd, OwnedFd};

/// What did not work, and what the kernel said.
pub(super) type Failed = (Step, Errno);

/// One step of a trial.
#[derive(Clone, Copy)]
#[repr(u8)]
pub(super) enum Step {
    /// A user namespace, which needs no privilege and gives those that the others need.
    UserNamespace,
    /// The user's own id in it.
    Map,
    /// The namespace in question.
    Namespace,
    /// Something that can only be done in it.
    Use,
}

impl Step {
    const ALL: [Self; 4] = [Self::UserNamespace, Self::Map, Self::Namespace, Self::Use];

    const fn in_words(self) -> &'static str {
        match self {
            Self::UserNamespace => "make a user namespace",
            Self::Map => "map this user into a user namespace",
            Self::Namespace => "make the namespace",
            Self::Use => "use it",
        }
    }
}

/// What has to be written into a user namespace, made before it is entered.
pub(super) struct OwnIds {
    users: String,
    groups: String,
}

impl OwnIds {
    /// This user and group, as root there.
    pub(super) fn of_this_process() -> Self {
        Self { users: format!("0 {} 1", geteuid()), groups: format!("0 {} 1", getegid()) }
    }

    /// Makes a user namespace and becomes root in it. Allocates nothing: it is called after a fork.
    pub(super) fn enter_user_namespace(&self) -> Result<(), Failed> {
        unshare(CloneFlags::CLONE_NEWUSER).map_err(|errno| (Step::UserNamespace, errno))?;
        let maps = [
            (c"/proc/self/setgroups", "deny"),
            (c"/proc/self/uid_map", &self.users),
            (c"/proc/self/gid_map", &self.groups),
        ];
        maps.iter().try_for_each(|(file, text)| put(file, text.as_bytes())).map_err(|errno| (Step::Map, errno))
    }
}

fn put(file: &CStr, bytes: &[u8]) -> Result<(), Errno> {
    let file = open(file, OFlag::O_WRONLY | OFlag::O_CLOEXEC, Mode::empty())?;
    write(&file, bytes).map(drop)
}

/// Does `act` in a process of its own, and says how that ended. `act` must neither allocate nor take a lock: it runs after
/// a fork.
pub(super) fn try_in_child(works: &str, act: impl FnOnce() -> Result<(), Failed>) -> Trial {
    match attempt(act) {
        Ok(None) => Trial::Works(works.to_owned()),
        Ok(Some((step, errno))) => Trial::Fails(format!("{}: {}", step.in_words(), errno.desc())),
        Err(error) => Trial::Fails(format!("start a process to try it in: {error}")),
    }
}

fn attempt(act: impl FnOnce() -> Result<(), Failed>) -> io::Result<Option<Failed>> {
    let (theirs, ours): (OwnedFd, OwnedFd) = pipe2(OFlag::O_CLOEXEC)?;
    // SAFETY: the child allocates nothing and takes no lock: `act` promises so, and what follows is system calls alone.
    let child = match unsafe { fork() }? {
        ForkResult::Parent { child } => child,
        ForkResult::Child => {
            let told: [u8; 5] = match act() {
                Ok(()) => [u8::MAX; 5],
                Err((step, errno)) => {
                    let [a, b, c, d] = (errno as i32).to_ne_bytes();
                    [step as u8, a, b, c, d]
                }
            };
            // SAFETY: writes bytes of this function to a descriptor that is open, and ends the process without running
            // anything of its parent's.
            unsafe {
                libc::write(ours.as_raw_fd(), told.as_ptr().cast(), told.len());
                libc::_exit(0)
            }
        }
    };
    drop(ours);
    let mut told = [0; 5];
    let length = read(theirs.as_fd(), &mut told)?;
    waitpid(child, None)?;
    let [step, a, b, c, d] = told;
    match (length, Step::ALL.get(usize::from(step))) {
        (5, Some(step)) => Ok(Some((*step, Errno::from_raw(i32::from_ne_bytes([a, b, c, d]))))),
        (5, None) => Ok(None),
        _ => Err(io::Error::other("it was killed")),
    }
}
