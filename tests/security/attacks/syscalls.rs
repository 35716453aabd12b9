//! Kernel interfaces outside the Sandbox's model are closed: keyrings, io_uring, vsock, terminal injection.

use super::attack::{Attack, Verdict, python, python_with_effect};
use isobox_tests::Case;
use nix::fcntl::{FcntlArg, OFlag, fcntl};
use nix::pty::openpty;
use std::fs::File;
use std::io::Read;

pub(crate) const ATTACKS: &[Attack] = &[
    Attack { name: "a_keyring_is_reached", named: &["keyring"], attempt: keyrings },
    Attack { name: "a_ring_of_io_uring_is_made", named: &["io_uring"], attempt: io_uring },
    Attack { name: "a_call_with_a_history_of_holes_is_answered", named: &[], attempt: holes },
    Attack { name: "a_family_of_sockets_that_nobody_needs_is_open", named: &["sockets"], attempt: families },
    Attack { name: "input_is_typed_into_a_terminal_of_the_host", named: &["terminal"], attempt: typed },
    Attack { name: "a_request_to_type_is_let_through", named: &["terminal"], attempt: request_to_type },
];

fn keyrings(case: &Case) -> Verdict {
    python(
        case,
        "
attempt('found the session keyring', lambda: call(250, 219, 0, -3, 0))
attempt('made a keyring', lambda: call(250, 219, 1, b'isobox-attack'))
attempt('added a key', lambda: call(248, 217, b'user', b'isobox-attack', b'x', 1, -2))
attempt('asked for a key', lambda: call(249, 218, b'user', b'isobox-attack', None, 0))
",
    )
}

fn io_uring(case: &Case) -> Verdict {
    python(case, "attempt('made a ring', lambda: call(425, 425, 1, ctypes.create_string_buffer(120)))")
}

/// Asked in a way that does nothing: whoever may is told that the arguments are wrong.
fn holes(case: &Case) -> Verdict {
    python(
        case,
        "
def answered(x86, aarch64, *arguments):
    try:
        call(x86, aarch64, *arguments)
    except OSError as error:
        if error.errno in (errno.EPERM, errno.ENOSYS, errno.EACCES):
            raise
attempt('handled page faults', lambda: answered(323, 282, 1))
attempt('counted events of the kernel', lambda: answered(298, 241, struct.pack('IIQ', 1, 112, 0) + bytes(96), 0, -1, -1, 0))
attempt('asked the kernel to run a program', lambda: answered(321, 280, 0, bytes(128), 128))
attempt('read the log of the kernel', lambda: answered(103, 116, 10, None, 0))
attempt('watched a file system', lambda: answered(300, 262, 0, 0))
attempt('opened by handle', lambda: answered(304, 265, -1, b'', 0))
",
    )
}

fn families(case: &Case) -> Verdict {
    python(
        case,
        "
for name, family, kind, protocol in (('vsock', 40, 1, 0), ('packet', 17, 3, 0), ('crypto', 38, 5, 0), ('bluetooth', 31, 3, 1),
                                     ('can', 29, 3, 1), ('tipc', 30, 5, 0), ('key', 15, 3, 2), ('xdp', 44, 3, 0), ('rds', 21, 5, 0)):
    attempt('opened a socket of the family ' + name, lambda: socket.socket(family, kind, protocol))
",
    )
}

/// A terminal of the same user's, which the workload knows by name.
fn typed(case: &Case) -> Verdict {
    let pty = openpty(None, None).expect("a terminal");
    let name = nix::unistd::ttyname(&pty.slave).expect("a name");
    let owner = std::fs::metadata(case.project.home()).expect("metadata");
    std::os::unix::fs::chown(&name, Some(std::os::unix::fs::MetadataExt::uid(&owner)), None).expect("chown");
    let program = format!(
        "
name = '{}'
def take(request):
    descriptor = os.open(name, os.O_RDWR)
    try:
        fcntl.ioctl(descriptor, 0x540E, 0)
    except OSError:
        pass
    fcntl.ioctl(descriptor, request, b'x')
attempt('typed', lambda: take(0x5412))
def taken_in_a_session():
    os.setsid()
    take(0x5412)
attempt('typed from a session of its own', lambda: in_a_child(taken_in_a_session))
attempt('typed into the terminal of the caller', lambda: fcntl.ioctl(os.open('/dev/tty', os.O_RDWR), 0x5412, b'x'))
",
        name.display()
    );
    let mut slave = File::from(pty.slave);
    fcntl(&slave, FcntlArg::F_SETFL(OFlag::O_NONBLOCK)).expect("a terminal that does not wait");
    // Typed characters arrive as they come, not by lines.
    let mut settings = nix::sys::termios::tcgetattr(&slave).expect("settings");
    nix::sys::termios::cfmakeraw(&mut settings);
    nix::sys::termios::tcsetattr(&slave, nix::sys::termios::SetArg::TCSANOW, &settings).expect("settings");
    python_with_effect(case, &program, || {
        let read = slave.read(&mut [0; 8]);
        read.is_ok_and(|length| length > 0).then(|| "input was typed into a terminal of the host".to_owned())
    })
}

/// Standard input is no terminal: what is not refused says so.
fn request_to_type(case: &Case) -> Verdict {
    python(
        case,
        "
def let_through(request):
    result = libc.ioctl(0, ctypes.c_ulong(request), b'x')
    return result >= 0 or ctypes.get_errno() == errno.ENOTTY
for name, request in (('TIOCSTI', 0x5412), ('TIOCLINUX', 0x541C), ('TIOCSTI with high bits', 0x100005412)):
    attempt('asked for ' + name, lambda: let_through(request))
",
    )
}
