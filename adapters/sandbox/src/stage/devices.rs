//! What is done before `bwrap` when isobox runs as root: the host's device nodes are shown read-only.
//!
//! Root owns the nodes that `bwrap --dev` shows, and needs no capability to change the mode of what it owns: a workload
//! could close `/dev/null` to the whole machine. `bwrap` cannot show a device read-only, so this is done in a mount
//! namespace around it. A read-only mount keeps nobody from writing to what is behind a node.

use nix::mount::{MsFlags, mount};
use nix::sched::{CloneFlags, unshare};
use std::convert::Infallible;
use std::ffi::{CString, OsString};
use std::io;
use std::os::unix::ffi::OsStringExt;
use std::path::Path;

/// The first argument of a process that is to do this, before the program to execute and all its arguments.
pub(crate) const WORD: &str = "devices";

/// The devices that `bwrap --dev` shows.
const DEVICES: [&str; 6] = ["/dev/null", "/dev/zero", "/dev/full", "/dev/random", "/dev/urandom", "/dev/tty"];

/// CAP_SYS_ADMIN of linux/capability.h.
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
    let status = std::fs::read_to_string("/proc/self/status")?;
    let effective = status.lines().find_map(|line| u64::from_str_radix(line.strip_prefix("CapEff:")?.trim(), 16).ok());
    let may_mount = effective.is_some_and(|set| set & (1 << CAP_SYS_ADMIN) != 0);
    Ok(if may_mount { Guard::ReadOnly } else { Guard::None })
}

/// Shows the devices read-only to this process and its children, and becomes what `arguments` name.
pub(super) fn guard_and_execute(arguments: impl Iterator<Item = OsString>) -> io::Result<Infallible> {
    show_read_only().map_err(while_doing("show the host's devices read-only"))?;
    execute(arguments).map_err(while_doing("execute bwrap"))
}

fn while_doing(operation: &'static str) -> impl Fn(io::Error) -> io::Error {
    move |source| io::Error::new(source.kind(), format!("{operation}: {source}"))
}

fn show_read_only() -> io::Result<()> {
    unshare(CloneFlags::CLONE_NEWNS)?;
    let nothing: Option<&str> = None;
    // What the host mounts and unmounts later still happens here, and nothing of this happens there.
    mount(nothing, "/", nothing, MsFlags::MS_REC | MsFlags::MS_SLAVE, nothing)?;
    for device in DEVICES.iter().filter(|device| Path::new(device).exists()) {
        mount(Some(*device), *device, nothing, MsFlags::MS_BIND, nothing)?;
        let read_only = MsFlags::MS_REMOUNT | MsFlags::MS_BIND | MsFlags::MS_RDONLY;
        mount(nothing, *device, nothing, read_only | MsFlags::MS_NOSUID | MsFlags::MS_NOEXEC, nothing)?;
    }
    Ok(())
}

fn execute(arguments: impl Iterator<Item = OsString>) -> io::Result<Infallible> {
    let words = arguments.map(|word| CString::new(word.into_vec()).map_err(io::Error::other));
    let words = words.collect::<io::Result<Vec<_>>>()?;
    let (program, arguments) = words.split_first().ok_or_else(|| io::Error::other("no program was named"))?;
    let environment: [CString; 0] = [];
    Ok(nix::unistd::execve(program, arguments, &environment)?)
}
