//! No privilege is held or can be gained: capabilities, set-user-ID programs, nested namespaces.

use super::attack::{Attack, Verdict, python};
use isobox_tests::Case;

pub(crate) const ATTACKS: &[Attack] = &[
    Attack { name: "capabilities_are_held", named: &[], attempt: capabilities },
    Attack { name: "a_set_user_id_program_gains_its_owners_rights", named: &["set-user-ID"], attempt: set_user_id },
    Attack { name: "a_namespace_is_made", named: &["namespace"], attempt: namespaces },
    Attack { name: "a_namespace_of_the_host_is_joined", named: &["namespace"], attempt: join },
    Attack { name: "a_mount_is_changed", named: &["mount"], attempt: remount },
    Attack { name: "another_root_is_entered", named: &[], attempt: another_root },
    Attack { name: "another_user_is_become", named: &[], attempt: another_user },
    Attack { name: "the_clock_or_the_name_of_the_machine_is_set", named: &[], attempt: machine },
    Attack { name: "kernel_code_is_loaded", named: &[], attempt: modules },
];

fn capabilities(case: &Case) -> Verdict {
    python(
        case,
        "
status = dict(line.split(':', 1) for line in open('/proc/self/status'))
for name in ('CapInh', 'CapPrm', 'CapEff', 'CapAmb'):
    attempt('held capabilities of ' + name, lambda: int(status[name], 16) != 0)
attempt('could gain capabilities up to CapBnd', lambda: int(status['CapBnd'], 16) != 0 and status['NoNewPrivs'].strip() == '0')
attempt('raised a capability', lambda: call(126, 91, struct.pack('Ii', 0x20080522, 0), struct.pack('6I', 1, 1, 0, 0, 0, 0)))
",
    )
}

fn set_user_id(case: &Case) -> Verdict {
    python(
        case,
        "
attempt('executed programs that may gain privileges', lambda: 'NoNewPrivs:\\t0' in open('/proc/self/status').read())
def becomes_another():
    # It waits for a password, and so can be looked at.
    child = subprocess.Popen(['/bin/su', '-c', 'true'], stdin=subprocess.PIPE, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    try:
        for _ in range(100):
            users = [line for line in open('/proc/%d/status' % child.pid) if line.startswith('Uid:')][0].split()
            if int(users[2]) == 0 and os.getuid() != 0:
                return True
            time.sleep(0.002)
    except (OSError, IndexError):
        pass
    finally:
        child.kill()
        child.wait()
    return False
attempt('became root by a set-user-ID program', becomes_another)
",
    )
}

fn namespaces(case: &Case) -> Verdict {
    python(
        case,
        "
for name, flag in (('user', 0x10000000), ('mount', 0x20000), ('pid', 0x20000000), ('network', 0x40000000), ('ipc', 0x8000000),
                   ('host name', 0x4000000), ('cgroup', 0x2000000), ('time', 0x80)):
    attempt('made a ' + name + ' namespace', lambda: in_a_child(lambda: checked(libc.unshare(flag))))
def cloned(number_x86, number_arm, *arguments):
    child = call(number_x86, number_arm, *arguments)
    if child == 0:
        os._exit(0)
    os.waitpid(child, 0)
attempt('cloned into a user namespace', lambda: cloned(56, 220, 0x10000000 | 17, 0, 0, 0, 0))
arguments = struct.pack('11Q', 0x10000000, 0, 0, 0, 17, 0, 0, 0, 0, 0, 0)
attempt('cloned into a user namespace by the newer call', lambda: cloned(435, 435, arguments, len(arguments)))
",
    )
}

fn join(case: &Case) -> Verdict {
    python(
        case,
        "
for process in ('1', str(os.getppid()), 'self'):
    for name in ('user', 'mnt', 'net', 'pid'):
        def joined():
            descriptor = os.open('/proc/%s/ns/%s' % (process, name), os.O_RDONLY)
            in_a_child(lambda: checked(libc.setns(descriptor, 0)))
        attempt('joined the %s namespace of %s' % (name, process), joined)
",
    )
}

fn remount(case: &Case) -> Verdict {
    python(
        case,
        "
def changed(path, flags):
    # In a namespace of its own, so that the host does not suffer for the test.
    def inner():
        try:
            checked(libc.unshare(0x20000))
        except OSError:
            checked(libc.unshare(0x10020000))
        checked(libc.mount(b'none', path, None, ctypes.c_ulong(flags), None))
    in_a_child(inner)
for path in (b'/', b'/usr', b'/etc', b'/proc', b'/dev', b'/tmp'):
    attempt('remounted ' + path.decode(), lambda: changed(path, 32 | 4096))
attempt('made mounts private', lambda: changed(b'/', 16384 | (1 << 18)))
attempt('mounted over a directory', lambda: in_a_child(lambda: (checked(libc.unshare(0x10020000)), checked(libc.mount(b'none', b'/tmp', b'tmpfs', 0, None)))))
# Without flags it is asked for, and nothing is changed.
attempt('set attributes of a mount', lambda: call(442, 442, -100, b'/', 0, struct.pack('4Q', 0, 0, 0, 0), 32))
",
    )
}

fn another_root(case: &Case) -> Verdict {
    python(
        case,
        "
attempt('entered another root', lambda: in_a_child(lambda: os.chroot('/usr')))
attempt('exchanged the root', lambda: in_a_child(lambda: (checked(libc.unshare(0x20000)), call(155, 41, b'/', b'/'))))
",
    )
}

fn another_user(case: &Case) -> Verdict {
    python(
        case,
        "
other = 65531
attempt('became another user', lambda: in_a_child(lambda: os.setuid(other)))
attempt('became another group', lambda: in_a_child(lambda: os.setgid(other)))
attempt('left its groups', lambda: in_a_child(lambda: os.setgroups([other])))
open('owned', 'w').close()
attempt('gave a file away', lambda: os.chown('owned', other, other))
if os.getuid() != 0:
    attempt('became root', lambda: in_a_child(lambda: os.setuid(0)))
",
    )
}

fn machine(case: &Case) -> Verdict {
    // Set to what they are: where the promise is broken, the host is not to suffer for the test.
    python(
        case,
        "
name = os.uname().nodename.encode()
attempt('set the name of the machine', lambda: checked(libc.sethostname(name, len(name))))
attempt('set the clock', lambda: time.clock_settime(time.CLOCK_REALTIME, time.time()))
attempt('opened ports of the processor', lambda: arm is False and in_a_child(lambda: call(172, -1, 3)))
attempt('asked for accounting to end', lambda: call(163, 89, b'/isobox-no-such-file'))
",
    )
}

fn modules(case: &Case) -> Verdict {
    // Empty and closed: whoever may do it is told that there is nothing to load, and not that it is refused.
    python(
        case,
        "
def permitted(x86, aarch64, *arguments):
    try:
        call(x86, aarch64, *arguments)
    except OSError as error:
        if error.errno in (errno.EPERM, errno.ENOSYS, errno.EACCES):
            raise
attempt('loaded a module', lambda: permitted(175, 105, b'', 0, b''))
attempt('loaded a module from a file', lambda: permitted(313, 273, -1, b'', 0))
attempt('removed a module', lambda: permitted(176, 106, b'isobox_no_such_module', 0))
attempt('loaded a program into the kernel', lambda: permitted(321, 280, 5, b'\\0' * 128, 128))
",
    )
}
