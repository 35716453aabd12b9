//! What attacks aim at: things of the host, of this user, that no Sandbox shows. They go away with this value.

use crate::stage::attacks::{SEND_DATAGRAM, Target, start_in};
use nix::unistd::getpid;
use std::io;
use std::net::{Ipv4Addr, TcpListener, UdpSocket};
use std::os::linux::net::SocketAddrExt;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::net::{SocketAddr, UnixListener};
use tempfile::TempDir;

/// Variables that may have been passed on by a policy or a backend; the canary is another one.
const ORDINARY: [&str; 9] = ["PATH", "HOME", "USER", "LOGNAME", "SHELL", "TMPDIR", "TERM", "COLORTERM", "TZ"];

/// All of them.
pub(super) struct Targets {
    directory: TempDir,
    tcp: TcpListener,
    udp: UdpSocket,
    abstract_name: String,
    _abstract_socket: UnixListener,
    _path_socket: UnixListener,
    variable: Option<Vec<u8>>,
    queue: Queue,
}

impl Targets {
    /// Makes them. What is `passed_on` by choice is no target.
    pub(super) fn set_up(passed_on: &[(String, Vec<u8>)]) -> io::Result<Self> {
        let directory = tempfile::Builder::new().prefix("isobox-target-").tempdir()?;
        std::fs::write(directory.path().join("file"), "a file of the host")?;
        let (tcp, udp) = (TcpListener::bind((Ipv4Addr::LOCALHOST, 0))?, UdpSocket::bind((Ipv4Addr::LOCALHOST, 0))?);
        udp.set_nonblocking(true)?;
        // The name of a fresh directory is nobody else's.
        let abstract_name = format!("isobox-target-{}", directory.path().display());
        Ok(Self {
            tcp,
            udp,
            _abstract_socket: UnixListener::bind_addr(&SocketAddr::from_abstract_name(&abstract_name)?)?,
            _path_socket: UnixListener::bind(directory.path().join("socket"))?,
            abstract_name,
            directory,
            variable: variable(passed_on),
            queue: Queue::make()?,
        })
    }

    /// The words by which the attacker finds them.
    pub(super) fn arguments(&self) -> Vec<Vec<u8>> {
        let path = |name: &str| self.directory.path().join(name).into_os_string().into_encoded_bytes();
        let port = |address: io::Result<std::net::SocketAddr>| {
            address.map(|address| address.port().to_string().into_bytes()).unwrap_or_default()
        };
        let host_name = std::fs::read("/proc/sys/kernel/hostname").unwrap_or_default();
        let started = std::fs::read("/proc/self/stat").ok().and_then(|stat| start_in(&stat));
        let values = [
            (Target::File, path("file")),
            (Target::PathSocket, path("socket")),
            (Target::AbstractSocket, self.abstract_name.clone().into_bytes()),
            (Target::TcpPort, port(self.tcp.local_addr())),
            (Target::UdpPort, port(self.udp.local_addr())),
            (Target::Process, getpid().to_string().into_bytes()),
            (Target::ProcessStart, started.map(|ticks| ticks.to_string().into_bytes()).unwrap_or_default()),
            (Target::Queue, self.queue.0.to_string().into_bytes()),
            (Target::HostName, host_name.trim_ascii_end().to_vec()),
            (Target::Variable, self.variable.clone().unwrap_or_default()),
        ];
        values.into_iter().map(|(target, value)| [target.name().as_bytes(), b"=", &value].concat()).collect()
    }

    /// Whether an attack whose success shows on the host alone had any.
    pub(super) fn was_reached(&self, tried: &str) -> bool {
        tried != SEND_DATAGRAM || self.udp.recv(&mut [0; 8]).is_ok()
    }
}

/// The name of a variable that this process has and nobody passes on.
fn variable(passed_on: &[(String, Vec<u8>)]) -> Option<Vec<u8>> {
    let names = std::env::vars_os().map(|(name, _)| name.as_bytes().to_vec());
    let is_ordinary = |name: &[u8]| {
        ORDINARY.iter().any(|ordinary| ordinary.as_bytes() == name)
            || passed_on.iter().any(|(chosen, _)| chosen.as_bytes() == name)
            || name.starts_with(b"LC_")
            || name.starts_with(b"LANG")
            || name.starts_with(b"NO_COLOR")
    };
    names.into_iter().find(|name| !is_ordinary(name))
}

/// A System V message queue.
struct Queue(libc::c_int);

impl Queue {
    fn make() -> io::Result<Self> {
        // SAFETY: makes a queue and touches no memory.
        let id = unsafe { libc::msgget(libc::IPC_PRIVATE, 0o600) };
        if id < 0 { Err(io::Error::last_os_error()) } else { Ok(Self(id)) }
    }
}

impl Drop for Queue {
    fn drop(&mut self) {
        // SAFETY: removes the queue of this value; IPC_RMID reads no memory.
        unsafe { libc::msgctl(self.0, libc::IPC_RMID, std::ptr::null_mut()) };
    }
}
