//! Host credentials, agents and their sockets are out of reach.

use super::attack::{Attack, Verdict, python, python_with_effect};
use super::canary;
use isobox_tests::Case;
use std::os::linux::net::SocketAddrExt;
use std::os::unix::net::{SocketAddr, UnixDatagram, UnixListener};

pub(crate) const ATTACKS: &[Attack] = &[
    Attack { name: "keys_and_tokens_of_the_user_are_read", named: &[], attempt: files },
    Attack { name: "an_agents_socket_is_connected_to", named: &["socket"], attempt: pathname },
    Attack { name: "an_agents_datagram_socket_is_written_to", named: &["socket"], attempt: datagram },
    Attack { name: "an_abstract_socket_is_connected_to", named: &["abstract"], attempt: abstract_name },
    Attack { name: "sockets_of_the_host_are_listed", named: &["socket", "abstract"], attempt: listed },
    Attack { name: "a_token_in_the_repositorys_configuration_is_read", named: &[], attempt: token },
    Attack { name: "keys_of_the_kernel_are_listed", named: &["key"], attempt: keys },
];

fn files(case: &Case) -> Verdict {
    let names = [".ssh/id_ed25519", ".netrc", ".config/gh/hosts.yml", ".aws/credentials", ".git-credentials"];
    let paths: Vec<String> = names.iter().map(|name| format!("'{}'", canary::file(case, name).display())).collect();
    python(
        case,
        &format!(
            "
for path in ({},):
    attempt('read ' + os.path.basename(path), lambda: read(path))
for name in {names:?}:
    attempt('read ' + name + ' at home', lambda: read(os.path.join(os.environ['HOME'], name)))
",
            paths.join(", ")
        )
        .replace("for name in [", "for name in ["),
    )
}

fn pathname(case: &Case) -> Verdict {
    let path = case.project.home().join("agent.sock");
    let listener = UnixListener::bind(&path).expect("bind");
    listener.set_nonblocking(true).expect("a socket that does not wait");
    open_to_all(&path);
    let program = format!(
        "
def connect(path):
    socket.socket(socket.AF_UNIX).connect(path)
attempt('connect', lambda: connect('{0}'))
os.symlink('{0}', 'agent')
attempt('connect through a link', lambda: connect('agent'))
attempt('connect through proc', lambda: connect('/proc/self/root{0}'))
",
        path.display()
    );
    python_with_effect(case, &program, || {
        listener.accept().ok().map(|_| "the socket of an agent was connected to".to_owned())
    })
}

fn open_to_all(path: &std::path::Path) {
    use std::os::unix::fs::PermissionsExt;
    std::fs::set_permissions(path, std::fs::Permissions::from_mode(0o777)).expect("chmod");
}

fn datagram(case: &Case) -> Verdict {
    let path = case.project.home().join("log.sock");
    let receiver = UnixDatagram::bind(&path).expect("bind");
    receiver.set_nonblocking(true).expect("a socket that does not wait");
    open_to_all(&path);
    let program = format!(
        "attempt('send', lambda: socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM).sendto(b'x', '{}'))",
        path.display()
    );
    python_with_effect(case, &program, || {
        receiver.recv(&mut [0; 8]).ok().map(|_| "the socket of an agent was written to".to_owned())
    })
}

fn abstract_name(case: &Case) -> Verdict {
    let name = format!("isobox-attack-{}", case.project.home().display());
    let address = SocketAddr::from_abstract_name(&name).expect("an address");
    let listener = UnixListener::bind_addr(&address).expect("bind");
    listener.set_nonblocking(true).expect("a socket that does not wait");
    let program = format!("attempt('connect', lambda: socket.socket(socket.AF_UNIX).connect('\\0{name}'))");
    python_with_effect(case, &program, || {
        listener.accept().ok().map(|_| "an abstract socket of the host was connected to".to_owned())
    })
}

fn listed(case: &Case) -> Verdict {
    let path = case.project.home().join("agent.sock");
    let _listener = UnixListener::bind(&path).expect("bind");
    python(
        case,
        &format!("attempt('listed the sockets of the host', lambda: b'{}' in read('/proc/net/unix'))", path.display()),
    )
}

fn token(case: &Case) -> Verdict {
    let url = format!("https://user:{}@example.com/repository", canary::SECRET);
    case.project.git(&["config", "remote.origin.url", &url]);
    case.project.git(&["config", "http.extraHeader", &format!("Authorization: {}", canary::SECRET)]);
    let trusted = case.project.repository().join(".git/config");
    let program = format!(
        "
for path in ('.git/config', '{}', os.environ['HOME'] + '/.gitconfig', '/etc/gitconfig'):
    attempt('read a token in ' + path, lambda: b'host-secret-17' in read(path))
",
        trusted.display()
    );
    python(case, &program)
}

fn keys(case: &Case) -> Verdict {
    python(
        case,
        "
attempt('listed keys', lambda: bool(read('/proc/keys')))
attempt('found the keyring of the user', lambda: call(250, 219, 0, -4, 0))
",
    )
}
