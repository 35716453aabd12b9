//! Opening one namespace, and doing something in it that cannot be done outside.

use super::child::{OwnIds, Step, try_in_child};
use isobox_domain::fact::{Namespace, Trial};
use nix::errno::Errno;
use nix::mount::{MsFlags, mount};
use nix::sched::{CloneFlags, unshare};
use nix::sys::socket::{AddressFamily, SockFlag, SockType, socket};
use nix::sys::wait::{WaitStatus, waitpid};
use nix::unistd::{ForkResult, fork, getpid};
use std::ffi::CStr;
use std::os::fd::AsRawFd;

/// Opens `namespace` in a process of its own.
pub(super) fn open(namespace: Namespace) -> Trial {
    let ids = OwnIds::of_this_process();
    try_in_child("it opens", || {
        ids.enter_user_namespace()?;
        if let Some(flag) = flag(namespace) {
            unshare(flag).map_err(|errno| (Step::Namespace, errno))?;
        }
        make_use_of(namespace).map_err(|errno| (Step::Use, errno))
    })
}

const fn flag(namespace: Namespace) -> Option<CloneFlags> {
    Some(match namespace {
        Namespace::User => return None,
        Namespace::Mount => CloneFlags::CLONE_NEWNS,
        Namespace::Pid => CloneFlags::CLONE_NEWPID,
        Namespace::Network => CloneFlags::CLONE_NEWNET,
        Namespace::Ipc => CloneFlags::CLONE_NEWIPC,
        Namespace::Uts => CloneFlags::CLONE_NEWUTS,
        Namespace::Cgroup => CloneFlags::CLONE_NEWCGROUP,
    })
}

fn make_use_of(namespace: Namespace) -> Result<(), Errno> {
    match namespace {
        // Mapping the user was use enough; a cgroup namespace changes what is seen, and nothing else.
        Namespace::User | Namespace::Cgroup => Ok(()),
        Namespace::Mount => make_mounts_private(),
        Namespace::Pid => be_the_first_process(),
        Namespace::Network => raise_loopback(),
        Namespace::Ipc => make_queue(),
        Namespace::Uts => name_host(),
    }
}

fn make_mounts_private() -> Result<(), Errno> {
    let nothing: Option<&CStr> = None;
    mount(nothing, c"/", nothing, MsFlags::MS_REC | MsFlags::MS_PRIVATE, nothing)
}

fn be_the_first_process() -> Result<(), Errno> {
    // SAFETY: the child makes two system calls and nothing else.
    match unsafe { fork() }? {
        ForkResult::Parent { child } => match waitpid(child, None)? {
            WaitStatus::Exited(_, 0) => Ok(()),
            _ => Err(Errno::ESRCH),
        },
        ForkResult::Child => {
            let code = i32::from(getpid().as_raw() != 1);
            // SAFETY: ends the process without running anything of its parent's.
            unsafe { libc::_exit(code) }
        }
    }
}

fn raise_loopback() -> Result<(), Errno> {
    let socket = socket(AddressFamily::Inet, SockType::Datagram, SockFlag::SOCK_CLOEXEC, None)?;
    // SAFETY: a request of zeroes is a valid one.
    let mut request: libc::ifreq = unsafe { std::mem::zeroed() };
    request.ifr_name[0] = b'l' as libc::c_char;
    request.ifr_name[1] = b'o' as libc::c_char;
    request.ifr_ifru.ifru_flags = libc::IFF_UP as libc::c_short;
    // SAFETY: the request is a whole one and outlives the call, which reads it. See netdevice(7).
    Errno::result(unsafe { libc::ioctl(socket.as_raw_fd(), libc::SIOCSIFFLAGS as _, &raw const request) }).map(drop)
}

fn make_queue() -> Result<(), Errno> {
    // SAFETY: makes a queue, which goes away with the namespace, and touches no memory.
    Errno::result(unsafe { libc::msgget(libc::IPC_PRIVATE, 0o600) }).map(drop)
}

fn name_host() -> Result<(), Errno> {
    let name = b"isobox";
    // SAFETY: the name and its length are of one array.
    Errno::result(unsafe { libc::sethostname(name.as_ptr().cast(), name.len()) }).map(drop)
}
