//! The mounter: a process of isobox's own that an ordinary user's overlays are mounted by.
//!
//! It makes a user namespace, in which this user alone is known and may mount, mounts the overlays in a mount namespace
//! that nobody else is in, and becomes the program that starts the Sandbox, which is born without its privileges.

use crate::overlay;
use crate::protocol::{CONTROL_FD, Channel, MOUNTER_NAME, Message, Mounting};
use nix::mount::{MsFlags, mount};
use nix::sched::{CloneFlags, unshare};
use nix::sys::signal::{SigHandler, Signal, signal};
use nix::unistd::{execve, getegid, geteuid};
use std::convert::Infallible;
use std::ffi::{CStr, CString, OsString};
use std::fs::File;
use std::io::{self, Read};
use std::mem::ManuallyDrop;
use std::os::fd::{AsFd, FromRawFd, OwnedFd, RawFd};
use std::path::Path;

/// The descriptor on which a mounter is told what to mount, if this process was started as one: a process whose first
/// argument (its name) ends in `isobox-mounter`, and whose second and last is the number of that descriptor.
pub(super) fn is_asked() -> Option<RawFd> {
    let mut arguments = std::env::args_os();
    let is_named = arguments.next().is_some_and(|name| Path::new(&name).ends_with(MOUNTER_NAME));
    let number = arguments.next().as_ref().and_then(number)?;
    let is_whole = is_named && arguments.next().is_none() && number > CONTROL_FD;
    (is_whole && super::is_open(CONTROL_FD) && super::is_open(number)).then_some(number)
}

fn number(word: &OsString) -> Option<RawFd> {
    word.to_str()?.parse().ok()
}

/// The command line of a mounter that finds what to mount at `descriptor`.
pub(crate) fn command_line(descriptor: RawFd) -> Vec<CString> {
    [MOUNTER_NAME.to_owned(), descriptor.to_string()].into_iter().filter_map(|word| CString::new(word).ok()).collect()
}

/// Mounts, and becomes the program. Returns only what kept it from that.
pub(super) fn run(told_at: RawFd) -> io::Result<Infallible> {
    // SAFETY: the number was passed for this alone, and nothing else owns it. Dropped, it is not passed on.
    let mut told = unsafe { File::from_raw_fd(told_at) };
    let mut bytes = Vec::new();
    told.read_to_end(&mut bytes)?;
    drop(told);
    let mounting = Mounting::decode(&bytes).ok_or_else(|| io::Error::other("what to mount cannot be decoded"))?;
    enter_namespaces().map_err(|error| io::Error::other(format!("make a user namespace: {error}")))?;
    // SAFETY: descriptor 3 is the control socket by the protocol, and stays open for the program.
    let control = ManuallyDrop::new(Channel::of(unsafe { OwnedFd::from_raw_fd(CONTROL_FD) }));
    if let Some(overlay) = &mounting.workspace
        && let Some(written) = overlay::mount(overlay)?
    {
        control.send_with(&Message::Mounted.encode(), written.as_fd())?;
    }
    // What is in memory of these goes with the namespace; nobody captures it.
    mounting.layers.iter().try_for_each(|layer| overlay::mount(layer).map(drop))?;
    become_program(&mounting)
}

/// Only this user and this group are known there: whatever belongs to others stays theirs.
fn enter_namespaces() -> io::Result<()> {
    let (user, group) = (geteuid(), getegid());
    unshare(CloneFlags::CLONE_NEWUSER | CloneFlags::CLONE_NEWNS)?;
    // Without privileges a group can be mapped only where groups can no longer be dropped: user_namespaces(7).
    std::fs::write("/proc/self/setgroups", "deny")?;
    std::fs::write("/proc/self/uid_map", format!("{user} {user} 1"))?;
    std::fs::write("/proc/self/gid_map", format!("{group} {group} 1"))?;
    let nothing: Option<&CStr> = None;
    // What the host mounts later still happens here, and nothing of this happens there.
    Ok(mount(nothing, c"/", nothing, MsFlags::MS_REC | MsFlags::MS_SLAVE, nothing)?)
}

fn become_program(mounting: &Mounting) -> io::Result<Infallible> {
    let text = |bytes: &Vec<u8>| CString::new(bytes.as_slice()).map_err(io::Error::other);
    let (program, arguments) =
        (text(&mounting.program)?, mounting.arguments.iter().map(text).collect::<io::Result<Vec<_>>>()?);
    // A Rust program ignores it, and that would be inherited.
    // SAFETY: the default disposition runs no code.
    unsafe { signal(Signal::SIGPIPE, SigHandler::SigDfl) }?;
    let environment: [&CStr; 0] = [];
    let Err(errno) = execve(&program, &arguments, &environment);
    Err(io::Error::other(format!("execute {}: {errno}", program.to_string_lossy())))
}
