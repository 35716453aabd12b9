//! Network traffic is what the network policy says: by default, none leaves the Sandbox.

use super::attack::{Attack, Verdict, python, python_with_effect};
use isobox_tests::Case;
use std::net::{Ipv4Addr, SocketAddr, TcpListener, UdpSocket};

pub(crate) const ATTACKS: &[Attack] = &[
    Attack { name: "a_service_on_the_hosts_loopback_is_reached", named: &["TCP", "loopback"], attempt: tcp },
    Attack { name: "a_connection_hides_in_its_first_packet", named: &["TCP", "loopback"], attempt: fast_open },
    Attack { name: "a_connection_hides_in_another_protocol", named: &["TCP", "loopback"], attempt: multipath },
    Attack { name: "a_datagram_reaches_the_hosts_loopback", named: &["UDP"], attempt: udp },
    Attack { name: "a_name_is_asked_for_by_udp", named: &["UDP"], attempt: dns },
    Attack { name: "a_packet_is_sent_to_a_far_address", named: &["UDP"], attempt: far },
    Attack { name: "raw_and_packet_sockets_are_opened", named: &["raw"], attempt: raw },
    Attack { name: "a_virtual_machines_host_is_called", named: &["vsock"], attempt: vsock },
    Attack { name: "the_hosts_interfaces_are_listed", named: &["interfaces", "names"], attempt: interfaces },
    Attack { name: "the_host_reaches_a_service_inside", named: &["TCP", "bind", "loopback"], attempt: serve },
];

fn listener() -> (TcpListener, u16) {
    let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).expect("listen");
    listener.set_nonblocking(true).expect("a socket that does not wait");
    let port = listener.local_addr().expect("an address").port();
    (listener, port)
}

fn heard(listener: &TcpListener) -> Option<String> {
    listener.accept().ok().map(|_| "a service on the host's loopback was reached".to_owned())
}

fn tcp(case: &Case) -> Verdict {
    let (listener, port) = listener();
    let program = format!(
        "
for address in ('127.0.0.1', '127.0.0.2', '0.0.0.0', '::ffff:127.0.0.1'):
    attempt('connect to ' + address, lambda: socket.create_connection((address, {port}), 5))
"
    );
    python_with_effect(case, &program, || heard(&listener))
}

/// A connection that never calls connect(2).
fn fast_open(case: &Case) -> Verdict {
    let (listener, port) = listener();
    let program = format!(
        "attempt('send without a connection', lambda: socket.socket().sendto(b'x', 0x20000000, ('127.0.0.1', {port})))"
    );
    python_with_effect(case, &program, || heard(&listener))
}

fn multipath(case: &Case) -> Verdict {
    let (listener, port) = listener();
    let program = format!(
        "
def connect(protocol, kind):
    opened = socket.socket(socket.AF_INET, kind, protocol)
    opened.settimeout(5)
    opened.connect(('127.0.0.1', {port}))
attempt('multipath TCP', lambda: connect(262, socket.SOCK_STREAM))
attempt('SMC', lambda: connect(256, socket.SOCK_STREAM))
attempt('SCTP', lambda: connect(132, socket.SOCK_STREAM))
"
    );
    python_with_effect(case, &program, || heard(&listener))
}

fn udp(case: &Case) -> Verdict {
    let listening = UdpSocket::bind((Ipv4Addr::LOCALHOST, 0)).expect("listen");
    listening.set_nonblocking(true).expect("a socket that does not wait");
    let port = listening.local_addr().expect("an address").port();
    let program = format!(
        "
def datagram():
    return socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
attempt('send a datagram', lambda: datagram().sendto(b'x', ('127.0.0.1', {port})))
def connected():
    one = datagram()
    one.connect(('127.0.0.1', {port}))
    one.send(b'x')
attempt('send a datagram to a peer', connected)
attempt('send a light datagram', lambda: socket.socket(socket.AF_INET, socket.SOCK_DGRAM, 136).sendto(b'x', ('127.0.0.1', {port})))
"
    );
    python_with_effect(case, &program, || {
        listening.recv(&mut [0; 8]).ok().map(|_| "a datagram reached the host's loopback".to_owned())
    })
}

fn dns(case: &Case) -> Verdict {
    // `example` is no name of anybody; what counts is whether the question leaves.
    python(
        case,
        "
question = b'\\x12\\x34\\x01\\x00\\x00\\x01\\x00\\x00\\x00\\x00\\x00\\x00\\x07example\\x00\\x00\\x01\\x00\\x01'
servers = {'192.0.2.53', '127.0.0.53'}
try:
    servers |= {line.split()[1] for line in open('/etc/resolv.conf') if line.startswith('nameserver')}
except OSError:
    pass
def ask(server):
    family = socket.AF_INET6 if ':' in server else socket.AF_INET
    socket.socket(family, socket.SOCK_DGRAM).sendto(question, (server, 53))
    return server != '127.0.0.53'
for server in sorted(servers):
    attempt('asked a name server', lambda: ask(server))
",
    )
}

fn far(case: &Case) -> Verdict {
    let has_route = UdpSocket::bind("0.0.0.0:0").and_then(|socket| {
        let to: SocketAddr = "192.0.2.1:9".parse().expect("an address");
        socket.connect(to)
    });
    if has_route.is_err() {
        return Verdict::Untried("this machine has no route to anywhere".to_owned());
    }
    python(
        case,
        "
def send(family, address):
    socket.socket(family, socket.SOCK_DGRAM).sendto(b'x', (address, 9))
attempt('sent a packet to 192.0.2.1', lambda: send(socket.AF_INET, '192.0.2.1'))
attempt('sent a packet to 2001:db8::1', lambda: send(socket.AF_INET6, '2001:db8::1'))
attempt('sent a packet to everybody in the network', lambda: send(socket.AF_INET, '224.0.0.251'))
def start():
    opened = socket.socket()
    opened.setblocking(False)
    return opened.connect_ex(('192.0.2.1', 9)) == errno.EINPROGRESS
attempt('began a connection to 192.0.2.1', start)
",
    )
}

fn raw(case: &Case) -> Verdict {
    python(
        case,
        "
attempt('opened a raw socket', lambda: socket.socket(socket.AF_INET, socket.SOCK_RAW, socket.IPPROTO_ICMP))
attempt('opened a raw socket of IPv6', lambda: socket.socket(socket.AF_INET6, socket.SOCK_RAW, 58))
attempt('opened a packet socket', lambda: socket.socket(socket.AF_PACKET, socket.SOCK_RAW))
attempt('opened a packet socket for datagrams', lambda: socket.socket(socket.AF_PACKET, socket.SOCK_DGRAM))
def ping():
    socket.socket(socket.AF_INET, socket.SOCK_DGRAM, socket.IPPROTO_ICMP).sendto(b'\\x08\\0\\0\\0\\0\\0\\0\\0', ('192.0.2.1', 0))
attempt('sent an echo request', ping)
",
    )
}

fn vsock(case: &Case) -> Verdict {
    python(
        case,
        "
attempt('opened a vsock', lambda: socket.socket(40, socket.SOCK_STREAM))
attempt('opened a vsock for datagrams', lambda: socket.socket(40, socket.SOCK_DGRAM))
attempt('opened a hypervisor socket', lambda: socket.socket(40 + (1 << 16), socket.SOCK_STREAM))
",
    )
}

fn interfaces(case: &Case) -> Verdict {
    let of_host = std::fs::read_dir("/sys/class/net").map(|names| names.count()).unwrap_or_default();
    if of_host < 2 {
        return Verdict::Untried("this machine has no interface but the loopback".to_owned());
    }
    python(
        case,
        "
attempt('listed the interfaces of the host', lambda: any(name != 'lo' for _, name in socket.if_nameindex()))
",
    )
}

/// A service inside that anybody on the host can use.
fn serve(case: &Case) -> Verdict {
    let free = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).expect("listen");
    let port = free.local_addr().expect("an address").port();
    drop(free);
    let connecting = std::thread::spawn(move || {
        let deadline = std::time::Instant::now() + std::time::Duration::from_secs(3);
        while std::time::Instant::now() < deadline {
            if std::net::TcpStream::connect((Ipv4Addr::LOCALHOST, port)).is_ok() {
                return Some("a service inside was reached from the host".to_owned());
            }
            std::thread::sleep(std::time::Duration::from_millis(10));
        }
        None
    });
    let program = format!(
        "
def wait():
    server = socket.create_server(('127.0.0.1', {port}))
    server.settimeout(3)
    server.accept()
attempt('serve', wait)
"
    );
    python_with_effect(case, &program, || connecting.join().expect("a thread"))
}
