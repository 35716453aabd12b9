//! Attacks on privileges and on the interfaces of the kernel.

use super::Attempt;
use isobox_domain::enforcement::Control;
use nix::errno::Errno;
use nix::mount::{MntFlags, MsFlags, mount, umount2};
use nix::sched::{CloneFlags, unshare};
use nix::sys::wait::{WaitStatus, waitpid};
use nix::unistd::{ForkResult, fork};
use std::fs;
use std::io;

/// Multipath TCP: `IPPROTO_MPTCP` of linux/in.h.
const MPTCP: i32 = 262;

/// `KEYCTL_GET_KEYRING_ID` and `KEY_SPEC_SESSION_KEYRING` of linux/keyctl.h.
const SESSION_KEYRING: (libc::c_long, libc::c_long) = (0, -3);

/// Bytes of `struct io_uring_params`.
const RING_PARAMETERS: usize = 120;

pub(super) fn attempts() -> Vec<Attempt> {
    privileges().into_iter().chain(syscalls()).collect()
}

fn privileges() -> Vec<Attempt> {
    let control = Control::Privileges;
    vec![
        Attempt::of(
            control,
            "hold a capability",
            "some are held",
            status("CapEff:", |value| value.trim_matches('0').is_empty()),
        ),
        Attempt::of(
            control,
            "gain privileges by a program",
            "nothing keeps it from that",
            status("NoNewPrivs:", |value| value == "1"),
        ),
        Attempt::of(control, "make a user namespace", "it was made", in_a_child(|| unshare(CloneFlags::CLONE_NEWUSER))),
        Attempt::of(control, "make a mount namespace", "it was made", in_a_child(|| unshare(CloneFlags::CLONE_NEWNS))),
        Attempt::of(control, "mount something", "it was mounted", in_a_child(mount_and_take_back)),
        Attempt::of(control, "enter another root", "it was entered", in_a_child(|| nix::unistd::chroot("/usr"))),
    ]
}

/// A field of `/proc/self/status` that is not what it should be got through.
fn status(name: &str, is_closed: impl Fn(&str) -> bool) -> io::Result<()> {
    let status = fs::read_to_string("/proc/self/status")?;
    let value = status.lines().find_map(|line| line.strip_prefix(name)).map(str::trim).unwrap_or_default();
    if is_closed(value) { Err(io::Error::other(format!("{name} {value}"))) } else { Ok(()) }
}

/// Over the own Workspace, which is empty.
fn mount_and_take_back() -> Result<(), Errno> {
    let nothing: Option<&str> = None;
    mount(Some("none"), ".", Some("tmpfs"), MsFlags::empty(), nothing)?;
    let place = std::env::current_dir().map_err(|_| Errno::ENOENT)?;
    umount2(&place, MntFlags::MNT_DETACH)
}

/// Does something in a process of its own, which changes nothing of this one.
fn in_a_child(act: impl FnOnce() -> Result<(), Errno>) -> io::Result<()> {
    // SAFETY: this process has a single thread, so that the child may do everything that its parent may.
    match unsafe { fork() }? {
        ForkResult::Child => {
            let code = act().err().map_or(0, |errno| errno as i32);
            // SAFETY: ends the process without running anything of its parent's.
            unsafe { libc::_exit(code) }
        }
        ForkResult::Parent { child } => match waitpid(child, None)? {
            WaitStatus::Exited(_, 0) => Ok(()),
            WaitStatus::Exited(_, code) => Err(io::Error::from_raw_os_error(code)),
            _ => Err(io::Error::other("the process that tried it was ended")),
        },
    }
}

fn syscalls() -> Vec<Attempt> {
    let control = Control::Syscalls;
    let opened = |family, kind, protocol| {
        // SAFETY: makes a socket and touches no memory.
        answered(unsafe { libc::socket(family, kind, protocol) }.into())
    };
    let mut parameters = [0_u8; RING_PARAMETERS];
    let (get, session) = SESSION_KEYRING;
    // SAFETY: KEYCTL_GET_KEYRING_ID takes two numbers and touches no memory.
    let keyring = answered(unsafe { libc::syscall(libc::SYS_keyctl, get, session, 0) });
    // SAFETY: the kernel writes one io_uring_params, which `parameters` has room for.
    let ring = answered(unsafe { libc::syscall(libc::SYS_io_uring_setup, 1, parameters.as_mut_ptr()) });
    // SAFETY: makes a descriptor and touches no memory.
    let faults = answered(unsafe { libc::syscall(libc::SYS_userfaultfd, libc::O_CLOEXEC) });
    vec![
        Attempt::of(control, "find the session keyring", "it was found", keyring),
        Attempt::of(control, "make a ring of io_uring", "it was made", ring),
        Attempt::of(control, "handle page faults", "it was permitted", faults),
        Attempt::of(control, "open a vsock", "it was opened", opened(libc::AF_VSOCK, libc::SOCK_STREAM, 0)),
        Attempt::of(control, "open a packet socket", "it was opened", opened(libc::AF_PACKET, libc::SOCK_RAW, 0)),
        Attempt::of(
            control,
            "open a socket of multipath TCP",
            "it was opened",
            opened(libc::AF_INET, libc::SOCK_STREAM, MPTCP),
        ),
        Attempt::of(control, "type into a terminal", "the kernel would do it", typed()),
    ]
}

fn answered(result: libc::c_long) -> io::Result<()> {
    if result < 0 { Err(io::Error::last_os_error()) } else { Ok(()) }
}

/// Standard input is no terminal: a request that is not refused says so.
fn typed() -> io::Result<()> {
    let letter = b"x";
    // SAFETY: TIOCSTI reads one byte, and `letter` is one.
    let result = unsafe { libc::ioctl(0, libc::TIOCSTI, letter.as_ptr()) };
    match answered(result.into()) {
        Err(error) if error.raw_os_error() == Some(libc::ENOTTY) => Ok(()),
        other => other,
    }
}
