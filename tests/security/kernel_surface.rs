//! Promise: kernel interfaces that lead out of a Sandbox are closed, and those that ordinary programs use are open.

use isobox_tests::{Case, ignored};
use std::io::Read;
use std::net::{Ipv4Addr, TcpListener, UdpSocket};
use std::process::Command;
use std::thread;

isobox_tests::promises! {
    containing: [
        a_denied_network_lets_nothing_out_by_any_protocol,
        keyrings_io_uring_and_what_hands_out_kernel_memory_are_closed,
        sockets_that_pass_every_namespace_or_filter_are_closed,
        input_cannot_be_pushed_into_a_terminal,
        loopback_and_socket_pairs_between_the_workloads_own_processes_work,
        an_inherited_network_is_had_and_reported_as_not_enforced,
        nothing_is_mounted_remounted_or_written_outside_of_the_workspace,
    ],
}

/// Prints a name and `open` or the name of the error per attempt. Numbers of calls are those of this machine.
const PRELUDE: &str = r#"
import ctypes, errno, fcntl, platform, socket
libc = ctypes.CDLL(None, use_errno=True)
arm = platform.machine() == "aarch64"
def call(name, x86, aarch64, *arguments):
    result = libc.syscall(aarch64 if arm else x86, *arguments)
    print(name, "open" if result >= 0 else errno.errorcode[ctypes.get_errno()])
def attempt(name, action):
    try:
        action()
        print(name, "open")
    except OSError as error:
        print(name, errno.errorcode[error.errno])
"#;

/// What a Python program prints inside, by its first word; `None` where there is no Python to run it with.
fn inside(case: &Case, network: &str, program: &str) -> Option<String> {
    if !Command::new("/usr/bin/python3").arg("--version").output().is_ok_and(|output| output.status.success()) {
        ignored("kernel interfaces from inside", "there is no /usr/bin/python3");
        return None;
    }
    let program = format!("{PRELUDE}{program}");
    let flags = ["--backend", case.backend.name(), "--network", network, "--unsafe-network"];
    let command = ["--", "/usr/bin/python3", "-c", &program];
    let run = case.project.isobox(&[&["run"], &flags[..], &command].concat());
    assert_eq!(run.code, 0, "{run:?}");
    Some(run.stdout)
}

fn assert_each(printed: &str, allowed: &[&str]) {
    assert!(printed.lines().count() > 2, "{printed}");
    for line in printed.lines() {
        let (name, result) = line.rsplit_once(' ').expect("a name and a result");
        assert!(allowed.contains(&result), "{name} is {result}, expected one of {allowed:?}, in {printed}");
    }
}

fn keyrings_io_uring_and_what_hands_out_kernel_memory_are_closed(case: &Case) {
    let program = "
call('io_uring_setup', 425, 425, 8, None)
call('keyctl', 250, 219, 0, -3, 0)
call('add_key', 248, 217, b'user', b'x', b'y', 1, -3)
call('request_key', 249, 218, b'user', b'x', None, 0)
call('userfaultfd', 323, 282, 0)
call('bpf', 321, 280, 0, None, 0)
call('perf_event_open', 298, 241, None, 0, -1, -1, 0)
call('init_module', 175, 105, None, 0, None)
";
    let Some(printed) = inside(case, "deny", program) else { return };
    assert_each(&printed, &["EPERM", "ENOSYS"]);
}

fn sockets_that_pass_every_namespace_or_filter_are_closed(case: &Case) {
    let program = "
attempt('vsock', lambda: socket.socket(40, socket.SOCK_STREAM))
attempt('packet', lambda: socket.socket(socket.AF_PACKET, socket.SOCK_RAW))
attempt('raw icmp', lambda: socket.socket(socket.AF_INET, socket.SOCK_RAW, socket.IPPROTO_ICMP))
attempt('mptcp', lambda: socket.socket(socket.AF_INET, socket.SOCK_STREAM, 262))
attempt('bluetooth', lambda: socket.socket(31, socket.SOCK_RAW))
";
    for network in ["deny", "inherited"] {
        let Some(printed) = inside(case, network, program) else { return };
        assert_each(&printed, &["EPERM", "EPROTONOSUPPORT", "EAFNOSUPPORT", "EACCES"]);
    }
}

fn input_cannot_be_pushed_into_a_terminal(case: &Case) {
    let program = "
for name, request in (('TIOCSTI', 0x5412), ('TIOCLINUX', 0x541C), ('TIOCSTI with high bits', 0x100005412)):
    result = libc.ioctl(0, ctypes.c_ulong(request), b'x')
    print(name, 'open' if result >= 0 else errno.errorcode[ctypes.get_errno()])
";
    // Without the filter it would be ENOTTY, since standard input is no terminal.
    let Some(printed) = inside(case, "deny", program) else { return };
    assert_each(&printed, &["EPERM"]);
}

fn a_denied_network_lets_nothing_out_by_any_protocol(case: &Case) {
    let tcp = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).expect("listen");
    let udp = UdpSocket::bind((Ipv4Addr::LOCALHOST, 0)).expect("listen");
    udp.set_nonblocking(true).expect("a socket that does not wait");
    let ports = (tcp.local_addr().expect("an address").port(), udp.local_addr().expect("an address").port());
    let program = format!(
        "
attempt('tcp', lambda: socket.create_connection(('192.0.2.1', 80), 5))
attempt('udp', lambda: socket.socket(socket.AF_INET, socket.SOCK_DGRAM).sendto(b'x', ('192.0.2.1', 53)))
attempt('tcp 6', lambda: socket.socket(socket.AF_INET6).connect(('2001:db8::1', 80)))
attempt('udp 6', lambda: socket.socket(socket.AF_INET6, socket.SOCK_DGRAM).sendto(b'x', ('2001:db8::1', 53)))
attempt('loopback of the host', lambda: socket.create_connection(('127.0.0.1', {}), 5))
attempt('multicast', lambda: socket.socket(socket.AF_INET, socket.SOCK_DGRAM).sendto(b'x', ('224.0.0.251', 5353)))
",
        ports.0
    );
    let Some(printed) = inside(case, "deny", &program) else { return };
    assert_each(&printed, &["ENETUNREACH", "EADDRNOTAVAIL", "EAFNOSUPPORT", "ECONNREFUSED", "EHOSTUNREACH"]);
    let program = format!(
        "
socket.socket(socket.AF_INET, socket.SOCK_DGRAM).sendto(b'x', ('127.0.0.1', {}))
print('one sent'); print('two sent'); print('three sent')
",
        ports.1
    );
    inside(case, "deny", &program);
    assert!(udp.recv(&mut [0]).is_err(), "a datagram came out");
}

fn loopback_and_socket_pairs_between_the_workloads_own_processes_work(case: &Case) {
    let program = "
def echo(family, kind, address):
    server = socket.socket(family, kind)
    server.bind(address)
    server.listen(1)
    client = socket.socket(family, kind)
    client.connect(server.getsockname())
    server.accept()[0].sendall(b'x')
    if client.recv(1) != b'x':
        raise OSError(errno.EIO, 'lost')
def pair():
    one, other = socket.socketpair()
    one.sendall(b'x')
    other.recv(1)
attempt('tcp', lambda: echo(socket.AF_INET, socket.SOCK_STREAM, ('127.0.0.1', 0)))
attempt('unix', lambda: echo(socket.AF_UNIX, socket.SOCK_STREAM, '/tmp/socket'))
attempt('abstract', lambda: echo(socket.AF_UNIX, socket.SOCK_STREAM, '\\0name'))
attempt('pair', pair)
attempt('netlink', lambda: socket.socket(socket.AF_NETLINK, socket.SOCK_RAW, 0))
";
    let Some(printed) = inside(case, "deny", program) else { return };
    assert_each(&printed, &["open"]);
}

fn an_inherited_network_is_had_and_reported_as_not_enforced(case: &Case) {
    let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).expect("listen");
    let port = listener.local_addr().expect("an address").port();
    let program = format!(
        "
client = socket.create_connection(('127.0.0.1', {port}), 10)
client.sendall(b'hello')
print('a b')
"
    );
    let accepting = thread::spawn(move || {
        let mut heard = String::new();
        let (mut peer, _) = listener.accept().expect("a connection");
        peer.read_to_string(&mut heard).expect("read");
        heard
    });
    if inside(case, "inherited", &program).is_none() {
        return;
    }
    assert_eq!(accepting.join().expect("heard"), "hello");
    let controls = case.record()["effective_policy"].to_string();
    assert!(controls.contains("the policy lets the workload use the host's network"), "{controls}");
}

fn nothing_is_mounted_remounted_or_written_outside_of_the_workspace(case: &Case) {
    let attempts = [
        "mount -o remount,rw /etc",
        "mount -o remount,rw,bind /usr",
        "mount -t tmpfs none /mnt",
        "umount -l /usr",
        "unshare --user --map-root-user mount -t tmpfs none /tmp",
        "unshare --mount true",
        "touch /usr/probe",
        "touch /etc/probe",
        // Opened alone: where the promise is broken, the host is not to suffer for the test.
        ": >> /proc/sys/kernel/hostname",
        ": >> /proc/sys/kernel/core_pattern",
        ": >> /proc/sysrq-trigger",
        "mknod /tmp/probe b 8 0",
        "chroot / true",
        "hostname probe",
    ];
    let script: String =
        attempts.iter().map(|attempt| format!("({attempt}) 2> /dev/null && echo '{attempt}';")).collect();
    let run = case.run(&format!("{script} true"));
    assert_eq!((run.code, run.stdout.as_str()), (0, ""), "{}: {run:?}", case.backend.name());
}
