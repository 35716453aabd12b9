//! Trusted host files cannot be written, and only a minimal view of them can be read.

use super::attack::{Attack, Verdict, python, python_with_effect};
use super::canary::{self, SECRET};
use isobox_tests::Case;

pub(crate) const ATTACKS: &[Attack] = &[
    Attack { name: "a_file_of_the_host_is_read", named: &[], attempt: read },
    Attack { name: "a_file_of_the_host_is_read_through_a_link", named: &[], attempt: read_through_links },
    Attack { name: "a_file_of_the_host_is_read_by_climbing_up", named: &[], attempt: climb },
    Attack { name: "a_file_of_the_host_is_read_through_proc", named: &["/proc"], attempt: read_through_proc },
    Attack { name: "a_file_of_the_host_is_written", named: &[], attempt: write },
    Attack { name: "a_file_of_the_host_is_linked_into_the_workspace", named: &[], attempt: link },
    Attack { name: "a_file_of_the_host_is_moved_away", named: &[], attempt: move_away },
    Attack { name: "a_file_of_the_host_is_truncated", named: &[], attempt: truncate },
    Attack { name: "the_mode_of_a_host_file_is_changed", named: &["modes"], attempt: change_mode },
    Attack { name: "the_times_of_a_host_file_are_changed", named: &["times"], attempt: change_times },
    Attack { name: "an_attribute_of_a_host_file_is_set", named: &["extended attributes"], attempt: set_attribute },
    Attack { name: "names_and_sizes_of_host_files_are_found_out", named: &["names"], attempt: look },
    Attack { name: "a_directory_of_the_host_is_watched", named: &["watched"], attempt: watch },
    Attack { name: "the_trusted_repository_is_read", named: &[], attempt: read_repository },
    Attack { name: "the_repositorys_records_are_read", named: &[], attempt: read_store },
    Attack { name: "the_system_is_written", named: &[], attempt: write_system },
    Attack { name: "settings_of_the_kernel_are_written", named: &["/proc"], attempt: write_settings },
    Attack {
        name: "devices_of_the_host_are_opened_or_changed",
        named: &["/dev", "whatever the user owns"],
        attempt: devices,
    },
    Attack { name: "a_host_directory_is_mounted", named: &[], attempt: bind },
    Attack { name: "a_descriptor_of_the_caller_leads_out", named: &[], attempt: descriptors },
    Attack { name: "a_file_handle_leads_out", named: &[], attempt: handle },
    Attack { name: "accounts_of_the_system_are_read", named: &["accounts"], attempt: accounts },
    Attack { name: "secrets_of_the_system_are_read", named: &[], attempt: system_secrets },
];

fn read(case: &Case) -> Verdict {
    let path = canary::file(case, "secret");
    python(case, &format!("attempt('read a file of the host', lambda: read('{}'))", path.display()))
}

fn read_through_links(case: &Case) -> Verdict {
    let path = canary::file(case, "secret");
    let home = case.project.home();
    python(
        case,
        &format!(
            "
for place in ('.', os.environ.get('TMPDIR', '/tmp'), os.environ['HOME']):
    name = place + '/link-%d' % os.getpid()
    os.symlink('{}', name)
    attempt('read a file of the host through a link', lambda: read(name))
    os.unlink(name)
    os.symlink('{}', name)
    attempt('read a file of the host below a linked directory', lambda: read(name + '/secret'))
    os.unlink(name)
",
            path.display(),
            home.display()
        ),
    )
}

fn climb(case: &Case) -> Verdict {
    let path = canary::file(case, "secret");
    python(
        case,
        &format!(
            "
path = '{}'
attempt('climbed up from the workspace', lambda: read('../' * 40 + path[1:]))
def step_by_step():
    directory = os.open('.', os.O_RDONLY)
    for _ in range(40):
        directory = os.open('..', os.O_RDONLY, dir_fd=directory)
    return os.read(os.open(path[1:], os.O_RDONLY, dir_fd=directory), 1)
attempt('climbed up by descriptors', step_by_step)
",
            path.display()
        ),
    )
}

fn read_through_proc(case: &Case) -> Verdict {
    let path = canary::file(case, "secret");
    let process = canary::Process::of(case);
    python(
        case,
        &format!(
            "
for place in ('/proc/self/root', '/proc/1/root', '/proc/%d/root' % os.getppid(), '/proc/{}/root', '/proc/thread-self/root',
              '/proc/1/cwd/../../../../../../../..', '/proc/{}/cwd/../../../../../../../..'):
    attempt('read a file of the host through ' + place, lambda: read(place + '{}'))
",
            process.pid(),
            process.pid(),
            path.display()
        ),
    )
}

fn write(case: &Case) -> Verdict {
    let path = canary::file(case, "secret");
    let program = format!(
        "
path = '{}'
def put(name, flags):
    os.write(os.open(name, os.O_WRONLY | flags, 0o644), b'x')
attempt('wrote a file of the host', lambda: put(path, 0))
attempt('appended to a file of the host', lambda: put(path, os.O_APPEND))
attempt('made a file on the host', lambda: put(path + '.made', os.O_CREAT))
",
        path.display()
    );
    python_with_effect(case, &program, || {
        let is_made = path.with_extension("made").exists();
        canary::damage(&path).or_else(|| is_made.then(|| "a file was made on the host".to_owned()))
    })
}

fn link(case: &Case) -> Verdict {
    let path = canary::file(case, "secret");
    let program = format!(
        "
attempt('linked', lambda: os.link('{0}', 'linked'))
def through_a_descriptor():
    descriptor = os.open('{0}', os.O_PATH)
    os.link('/proc/self/fd/%d' % descriptor, 'linked', follow_symlinks=True)
attempt('linked through a descriptor', through_a_descriptor)
attempt('written', lambda: open('linked', 'r+').write('x'))
",
        path.display()
    );
    python_with_effect(case, &program, || canary::damage(&path))
}

fn move_away(case: &Case) -> Verdict {
    let path = canary::file(case, "secret");
    let program = format!(
        "
attempt('moved', lambda: os.rename('{0}', 'moved'))
attempt('removed', lambda: os.unlink('{0}'))
open('mine', 'w').write('x')
attempt('replaced', lambda: os.rename('mine', '{0}'))
",
        path.display()
    );
    python_with_effect(case, &program, || canary::damage(&path))
}

fn truncate(case: &Case) -> Verdict {
    let path = canary::file(case, "secret");
    let program = format!("attempt('truncated', lambda: os.truncate('{}', 1))", path.display());
    python_with_effect(case, &program, || canary::damage(&path))
}

fn change_mode(case: &Case) -> Verdict {
    let path = canary::file(case, "secret");
    let program = format!("attempt('changed the mode', lambda: os.chmod('{}', 0o666))", path.display());
    python_with_effect(case, &program, || canary::damage(&path))
}

fn change_times(case: &Case) -> Verdict {
    let path = canary::file(case, "secret");
    let program = format!("attempt('changed the times', lambda: os.utime('{}', (1, 1)))", path.display());
    python_with_effect(case, &program, || {
        let metadata = std::fs::metadata(&path).expect("metadata");
        let is_old = std::os::unix::fs::MetadataExt::mtime(&metadata) == 1;
        is_old.then(|| "the times of a file of the host were changed".to_owned())
    })
}

fn set_attribute(case: &Case) -> Verdict {
    let path = canary::file(case, "secret");
    python(
        case,
        &format!(
            "attempt('set an attribute of a file of the host', lambda: os.setxattr('{}', 'user.mine', b'x'))",
            path.display()
        ),
    )
}

fn look(case: &Case) -> Verdict {
    let path = canary::file(case, "secret");
    let link = case.project.home().join("link");
    std::os::unix::fs::symlink("somewhere", &link).expect("a link");
    let program = format!(
        "
path = '{}'
attempt('asked for the size of a file of the host', lambda: os.stat(path))
attempt('asked where a link of the host leads', lambda: os.readlink('{}'))
attempt('listed a directory of the host', lambda: os.listdir(os.path.dirname(path)))
",
        path.display(),
        link.display()
    );
    python(case, &program)
}

/// Whoever watches a directory is told the names of what changes in it.
fn watch(case: &Case) -> Verdict {
    let home = case.project.home();
    python(
        case,
        &format!(
            "
def watched():
    checked(libc.inotify_add_watch(checked(libc.inotify_init()), b'{}', 0x102))
attempt('watched a directory of the host', watched)
",
            home.display()
        ),
    )
}

fn read_repository(case: &Case) -> Verdict {
    let repository = case.project.repository();
    let program = format!(
        "
for name in ('README.md', '.git/config', '.git/HEAD'):
    attempt('read ' + name + ' of the trusted repository', lambda: read('{}/' + name))
",
        repository.display()
    );
    python(case, &program)
}

fn read_store(case: &Case) -> Verdict {
    let store = case.project.repository().join(".git/isobox/store");
    let program = format!(
        "
def found():
    for root in ('{}', '/.git', os.getcwd() + '/.git/isobox'):
        for place, _, names in os.walk(root):
            for name in names:
                if read(os.path.join(place, name)):
                    return True
    return False
attempt('read a record', found)
",
        store.display()
    );
    python(case, &program)
}

fn write_system(case: &Case) -> Verdict {
    // Opened alone: where the promise is broken, the host is not to suffer for the test.
    python(
        case,
        "
def opened(path):
    os.close(os.open(path, os.O_WRONLY | os.O_APPEND))
for path in ('/etc/passwd', '/etc/hosts', '/usr/lib/os-release', '/etc/ld.so.cache', '/proc/1/exe', '/.isobox/isobox-stage'):
    attempt('opened ' + path + ' to write to it', lambda: opened(path))
for path in ('/usr', '/usr/bin', '/etc', '/'):
    name = path + '/isobox-attack'
    attempt('made a directory in ' + path, lambda: (os.mkdir(name), os.rmdir(name)))
",
    )
}

fn write_settings(case: &Case) -> Verdict {
    python(
        case,
        "
def opened(path):
    os.close(os.open(path, os.O_WRONLY))
for path in ('/proc/sys/kernel/core_pattern', '/proc/sys/kernel/hostname', '/proc/sysrq-trigger', '/proc/sys/vm/drop_caches',
             '/sys/kernel/uevent_helper', '/sys/fs/cgroup/cgroup.procs', '/proc/sys/net/ipv4/ip_forward'):
    attempt('opened ' + path + ' to write to it', lambda: opened(path))
",
    )
}

fn devices(case: &Case) -> Verdict {
    python(
        case,
        "
for path in ('/dev/vda', '/dev/sda', '/dev/nvme0n1', '/dev/mem', '/dev/kmsg', '/dev/loop-control', '/dev/fuse', '/dev/kvm'):
    attempt('opened ' + path, lambda: os.open(path, os.O_RDONLY))
def same_mode():
    os.chmod('/dev/null', os.stat('/dev/null').st_mode & 0o7777)
attempt('set the mode of /dev/null', same_mode)
attempt('made a device', lambda: os.mknod('/tmp/isobox-attack-%d' % os.getpid(), 0o600 | 0o060000, os.makedev(8, 0)))
try:
    os.unlink('/tmp/isobox-attack-%d' % os.getpid())
except OSError:
    pass
",
    )
}

fn bind(case: &Case) -> Verdict {
    let path = canary::file(case, "secret");
    python(
        case,
        &format!(
            "
home = '{}'
os.mkdir('target')
def mounted(source, kind, flags):
    checked(libc.mount(source, b'target', kind, ctypes.c_ulong(flags), None))
    try:
        return os.listdir('target')
    finally:
        libc.umount2(b'target', 2)
attempt('bound a directory of the host', lambda: mounted(home.encode(), None, 4096))
attempt('bound its own root', lambda: mounted(b'/', None, 4096 | 16384))
attempt('mounted a proc', lambda: mounted(b'proc', b'proc', 0))
attempt('mounted a tmpfs', lambda: mounted(b'none', b'tmpfs', 0))
attempt('opened a tree', lambda: call(428, 428, -100, home.encode(), 1))
attempt('opened a file system', lambda: call(430, 430, b'tmpfs', 0))
attempt('took a mount away', lambda: checked(libc.umount2(b'/proc/isobox-no-such-mount', 0)))
def in_a_namespace():
    in_a_child(lambda: (checked(libc.unshare(0x10020000)), mounted(home.encode(), None, 4096)))
attempt('bound a directory of the host in a namespace of its own', in_a_namespace)
",
            path.parent().expect("a parent").display()
        ),
    )
}

fn descriptors(case: &Case) -> Verdict {
    let path = canary::file(case, "secret");
    let inner = super::inside::program(
        "
def found():
    for name in os.listdir('/proc/self/fd'):
        number = int(name)
        try:
            if number > 2 and b'host-secret-17' in os.pread(number, 100, 0):
                return True
        except OSError:
            pass
        for climb in ('secret', '../home/secret', '../../secret'):
            try:
                if b'host-secret-17' in os.read(os.open(climb, os.O_RDONLY, dir_fd=number), 100):
                    return True
            except OSError:
                pass
    return False
attempt('read through a descriptor of the caller', found)
",
    );
    // The shell leaves a file and a directory of the host open.
    let script = format!(
        "exec 7< '{0}' 33< '{0}' 8< '{1}'; exec '{2}' run --backend {3} -- /usr/bin/python3 -c \"$PROGRAM\"",
        path.display(),
        case.project.home().display(),
        isobox_tests::isobox_program().display(),
        case.backend.name()
    );
    let mut command = case.project.command("bash");
    command.args(["-c", &script]).env("PROGRAM", inner).stdin(std::process::Stdio::null());
    let run = case.output(command);
    assert_eq!(run.code, 0, "{run:?}");
    match run.stdout.starts_with("through") || run.stdout.contains(SECRET) {
        true => Verdict::GotThrough(run.stdout),
        false => Verdict::Stopped(run.stdout),
    }
}

fn handle(case: &Case) -> Verdict {
    let path = canary::file(case, "secret");
    // The handle is made outside, as by somebody who knows how such a file system numbers its files.
    let made = case
        .project
        .command("/usr/bin/python3")
        .args([
            "-c",
            &super::inside::program(&format!(
                "
buffer = ctypes.create_string_buffer(struct.pack('Ii', 120, 0) + bytes(120), 128)
mount = ctypes.c_int()
call(303, 264, -100, b'{}', ctypes.byref(buffer), ctypes.byref(mount), 0)
print(buffer.raw.hex())
",
                path.display()
            )),
        ])
        .output()
        .expect("run python");
    let Some(handle) = String::from_utf8(made.stdout).ok().filter(|hex| hex.len() > 100) else {
        return Verdict::Untried("this file system makes no handles".to_owned());
    };
    python(
        case,
        &format!(
            "
buffer = ctypes.create_string_buffer(bytes.fromhex('{}'), 128)
for place in ('.', '/usr', '/tmp', '/', '/etc/alternatives'):
    def opened():
        return os.read(call(304, 265, os.open(place, os.O_RDONLY), ctypes.byref(buffer), os.O_RDONLY), 1)
    attempt('opened a file of the host by its handle from ' + place, opened)
",
            handle.trim()
        ),
    )
}

fn accounts(case: &Case) -> Verdict {
    python(
        case,
        "
own = [line for line in open('/etc/passwd') if not line.startswith(('root:', 'nobody:', 'isobox:'))]
attempt('read the accounts of this machine', lambda: bool(own))
",
    )
}

/// What `/proc` tells of keys is an attack on credentials.
fn system_secrets(case: &Case) -> Verdict {
    python(
        case,
        "
for path in ('/etc/shadow', '/etc/gshadow', '/etc/sudoers', '/etc/machine-id', '/root/.bashrc', '/proc/kcore',
             '/etc/hostname', '/var/log/dpkg.log', '/run/utmp', '/boot', '/sys/class'):
    attempt('opened ' + path, lambda: os.open(path, os.O_RDONLY))
",
    )
}
