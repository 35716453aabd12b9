//! Starting a program with exactly the descriptors it is meant to have.

mod nested;

pub(crate) use nested::Namespaces;

use crate::descriptors::close_on_exec_from;
use nix::fcntl::{FcntlArg, fcntl};
use nix::spawn::{PosixSpawnAttr, PosixSpawnFileActions, PosixSpawnFlags, posix_spawn};
use nix::sys::signal::{SigSet, Signal};
use nix::unistd::Pid;
use std::ffi::{CStr, CString};
use std::io;
use std::os::fd::{AsRawFd, FromRawFd, OwnedFd, RawFd};

/// Starts `program` in a process group of its own, with an empty environment, default signals, and `descriptors` as its
/// descriptors 0, 1, 2, … and no others. With `namespaces`, it is the first process of those, and of a session.
///
/// It costs the same however big this process is: the child shares its memory until it executes.
pub(crate) fn spawn(
    program: &CStr,
    arguments: &[CString],
    descriptors: Vec<OwnedFd>,
    namespaces: Option<&Namespaces>,
) -> io::Result<Pid> {
    close_on_exec_from(3)?;
    // Above every number that a child's descriptor is given, so that none is overwritten before it was duplicated.
    let above = RawFd::try_from(descriptors.len()).map_err(io::Error::other)?;
    let moved_up = |descriptor| moved_up(descriptor, above);
    let descriptors = descriptors.into_iter().map(moved_up).collect::<io::Result<Vec<_>>>()?;
    if let Some(namespaces) = namespaces {
        let numbers: Vec<_> = descriptors.iter().map(AsRawFd::as_raw_fd).collect();
        return nested::spawn(namespaces, program, arguments, &numbers);
    }
    let mut actions = PosixSpawnFileActions::init()?;
    for (place, descriptor) in (0..).zip(&descriptors) {
        actions.add_dup2(descriptor.as_raw_fd(), place)?;
    }
    let environment: [&CStr; 0] = [];
    Ok(posix_spawn(program, &actions, &attributes()?, arguments, &environment)?)
}

/// Most are up there already: whoever may open few files has none to spare for copies.
fn moved_up(descriptor: OwnedFd, above: RawFd) -> io::Result<OwnedFd> {
    if descriptor.as_raw_fd() >= above {
        return Ok(descriptor);
    }
    let moved = fcntl(&descriptor, FcntlArg::F_DUPFD_CLOEXEC(above))?;
    // SAFETY: F_DUPFD_CLOEXEC returned a descriptor that nobody else owns.
    Ok(unsafe { OwnedFd::from_raw_fd(moved) })
}

fn attributes() -> io::Result<PosixSpawnAttr> {
    let mut attributes = PosixSpawnAttr::init()?;
    attributes.set_pgroup(Pid::from_raw(0))?;
    // A Rust program ignores SIGPIPE, and isobox blocks the signals that end it: neither is a child's business.
    attributes.set_sigdefault(&Signal::iterator().collect::<SigSet>())?;
    attributes.set_sigmask(&SigSet::empty())?;
    attributes.set_flags(
        PosixSpawnFlags::POSIX_SPAWN_SETPGROUP
            | PosixSpawnFlags::POSIX_SPAWN_SETSIGDEF
            | PosixSpawnFlags::POSIX_SPAWN_SETSIGMASK,
    )?;
    Ok(attributes)
}
