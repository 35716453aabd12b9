//! Attacks on what lies around a Sandbox: files, processes, sockets and variables of the host.

use super::{Attempt, EFFECT, SEND_DATAGRAM, Target, Targets};
use isobox_domain::enforcement::Control;
use std::fs::{self, File};
use std::io;
use std::net::{Ipv4Addr, TcpStream, UdpSocket};
use std::os::linux::net::SocketAddrExt;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::OpenOptionsExt;
use std::os::unix::net::{SocketAddr, UnixStream};
use std::path::Path;
use std::time::Duration;

/// Longest wait for a connection that nobody answers.
const PATIENCE: Duration = Duration::from_secs(2);

pub(super) fn attempts(targets: &Targets) -> Vec<Attempt> {
    let mut attempts = filesystem(targets);
    attempts.extend(network(targets));
    attempts.extend(processes(targets));
    attempts.extend(ipc(targets));
    attempts.extend(environment(targets));
    attempts.extend(credentials(targets));
    attempts
}

fn filesystem(targets: &Targets) -> Vec<Attempt> {
    let control = Control::Filesystem;
    let file = targets.path(Target::File);
    let through_proc = Path::new("/proc/self/root").join(file.strip_prefix("/").unwrap_or(&file));
    let writable = |path: &str, flags: i32| File::options().write(true).custom_flags(flags).open(path);
    vec![
        Attempt::of(control, "read a file of the host", "it was read", fs::read(&file)),
        Attempt::of(control, "read a file of the host through /proc/self/root", "it was read", fs::read(through_proc)),
        Attempt::of(
            control,
            "write to a file of the host",
            "it was opened for that",
            File::options().append(true).open(&file),
        ),
        // A file without a name: it leaves nothing, and needs what any other one needs.
        Attempt::of(control, "make a file in /usr", "it was made", writable("/usr", libc::O_TMPFILE)),
        Attempt::of(control, "make a file in /etc", "it was made", writable("/etc", libc::O_TMPFILE)),
        Attempt::of(
            control,
            "write a setting of the kernel",
            "it was opened for that",
            writable("/proc/sys/kernel/core_pattern", 0),
        ),
    ]
}

fn network(targets: &Targets) -> Vec<Attempt> {
    let control = Control::Network;
    let connect = "connect to a service on the host's loopback";
    let Some((tcp, udp)) = targets.number(Target::TcpPort).zip(targets.number::<u16>(Target::UdpPort)) else {
        return vec![Attempt::not_tried(control, connect, "the host listens nowhere")];
    };
    let send = || UdpSocket::bind((Ipv4Addr::UNSPECIFIED, 0))?.send_to(b"x", (Ipv4Addr::LOCALHOST, udp));
    let address = std::net::SocketAddr::from((Ipv4Addr::LOCALHOST, tcp));
    vec![
        Attempt::of(control, connect, "it was connected to", TcpStream::connect_timeout(&address, PATIENCE)),
        Attempt::of(control, SEND_DATAGRAM, EFFECT, send()),
    ]
}

fn processes(targets: &Targets) -> Vec<Attempt> {
    let control = Control::Processes;
    // Signal 0 is checked like any other one, and not sent. See kill(2).
    let signal = |process| nix::sys::signal::kill(nix::unistd::Pid::from_raw(process), None).map_err(io::Error::from);
    let signalled = isobox(targets).and_then(signal);
    let read = isobox(targets).and_then(|process| fs::read(format!("/proc/{process}/cmdline")));
    vec![
        Attempt::of(control, "signal the process of isobox", "it may be signalled", signalled),
        Attempt::of(control, "read the command line of isobox", "it was read", read),
    ]
}

/// The number of the process of isobox, unless another process has that number here.
fn isobox(targets: &Targets) -> io::Result<i32> {
    let process: i32 = targets.number(Target::Process).ok_or_else(|| io::Error::other("its number is not known"))?;
    let started = fs::read(format!("/proc/{process}/stat")).ok().and_then(|stat| super::start_in(&stat));
    match started {
        Some(started) if Some(started) != targets.number(Target::ProcessStart) => {
            Err(io::Error::other("another process has its number here"))
        }
        _ => Ok(process),
    }
}

fn ipc(targets: &Targets) -> Vec<Attempt> {
    let control = Control::Ipc;
    let (queue, name) = ("find a message queue of the host", "find out the name of the host");
    let found = targets.number::<i32>(Target::Queue).map(|id| {
        let mut status = std::mem::MaybeUninit::<libc::msqid_ds>::zeroed();
        // SAFETY: IPC_STAT writes one msqid_ds, and `status` is one.
        match unsafe { libc::msgctl(id, libc::IPC_STAT, status.as_mut_ptr()) } {
            0 => Ok(()),
            _ => Err(io::Error::last_os_error()),
        }
    });
    let shown = fs::read("/proc/sys/kernel/hostname").and_then(|shown| {
        let is_of_host = targets.bytes(Target::HostName) == Some(shown.trim_ascii_end());
        if is_of_host { Ok(()) } else { Err(io::Error::other("another name is shown")) }
    });
    vec![
        found.map_or_else(
            || Attempt::not_tried(control, queue, "the host has none"),
            |found| Attempt::of(control, queue, "it was found", found),
        ),
        Attempt::of(control, name, "it is shown", shown),
    ]
}

fn environment(targets: &Targets) -> Vec<Attempt> {
    let control = Control::Environment;
    let (own, others) = ("find a variable of the caller", "read the variables of isobox in /proc");
    let own = match targets.bytes(Target::Variable) {
        None => Attempt::not_tried(control, own, "the caller has none that is not passed on"),
        Some(name) => {
            let found = std::env::var_os(std::ffi::OsStr::from_bytes(name));
            Attempt::of(control, own, "it was passed on", found.ok_or_else(|| io::Error::other("it is not set")))
        }
    };
    let read = isobox(targets).and_then(|process| fs::read(format!("/proc/{process}/environ")));
    vec![own, Attempt::of(control, others, "they were read", read)]
}

fn credentials(targets: &Targets) -> Vec<Attempt> {
    let control = Control::Credentials;
    let name = targets.bytes(Target::AbstractSocket).unwrap_or_default();
    let abstract_socket = SocketAddr::from_abstract_name(name).and_then(|to| UnixStream::connect_addr(&to));
    let path_socket = UnixStream::connect(targets.path(Target::PathSocket));
    vec![
        Attempt::of(control, "connect to an abstract socket of the host", "it was connected to", abstract_socket),
        Attempt::of(control, "connect to a socket of the host by its path", "it was connected to", path_socket),
        Attempt::of(control, "list the keys of the kernel", "they were listed", listed("/proc/keys")),
    ]
}

/// A file that is there and empty tells nothing.
fn listed(path: &str) -> io::Result<()> {
    match fs::read(path)?.is_empty() {
        true => Err(io::Error::other("it is empty")),
        false => Ok(()),
    }
}
