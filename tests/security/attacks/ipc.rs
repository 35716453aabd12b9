//! System V and POSIX IPC, host name and cgroup view are the Sandbox's own.

use super::attack::{Attack, Verdict, python};
use isobox_tests::{Case, outcome};

pub(crate) const ATTACKS: &[Attack] = &[
    Attack { name: "a_queue_of_the_host_is_found", named: &["IPC", "System V"], attempt: queue },
    Attack { name: "shared_memory_of_the_host_is_found", named: &["IPC", "System V"], attempt: memory },
    Attack { name: "a_posix_queue_of_the_host_is_opened", named: &["IPC", "POSIX"], attempt: posix_queue },
    Attack { name: "shared_memory_files_of_the_host_are_found", named: &["IPC", "/dev/shm"], attempt: memory_file },
    Attack { name: "the_name_of_the_machine_is_found_out", named: &["host name"], attempt: name },
    Attack { name: "the_cgroup_on_the_host_is_found_out", named: &["cgroup"], attempt: cgroup },
];

/// What a Python program of the user's prints on the host.
fn outside(case: &Case, program: &str) -> String {
    let mut command = case.project.command("/usr/bin/python3");
    command.args(["-c", &super::inside::program(program)]);
    let run = outcome(command.output().expect("run python"));
    assert_eq!(run.code, 0, "{run:?}");
    run.stdout.trim().to_owned()
}

/// A key that no other test uses.
fn key(case: &Case) -> u32 {
    mark(case).bytes().fold(std::process::id(), |key, byte| key.wrapping_mul(31).wrapping_add(byte.into())) | 1
}

fn queue(case: &Case) -> Verdict {
    let key = key(case);
    let id = outside(case, &format!("print(call(68, 186, {key}, 0o666 | 0o1000))"));
    let found = python(
        case,
        &format!(
            "
attempt('found a queue of the host', lambda: call(68, 186, {key}, 0))
attempt('used a queue of the host', lambda: call(71, 187, {id}, 2, ctypes.create_string_buffer(256)))
"
        ),
    );
    outside(case, &format!("call(71, 187, {id}, 0, None)"));
    found
}

fn memory(case: &Case) -> Verdict {
    let key = key(case);
    let id = outside(case, &format!("print(call(29, 194, {key}, 4096, 0o666 | 0o1000))"));
    let found = python(
        case,
        &format!(
            "
attempt('found shared memory of the host', lambda: call(29, 194, {key}, 0, 0))
attempt('listed shared memory of the host', lambda: len(open('/proc/sysvipc/shm').readlines()) > 1)
"
        ),
    );
    outside(case, &format!("call(31, 195, {id}, 0, None)"));
    found
}

fn posix_queue(case: &Case) -> Verdict {
    let name = format!("isobox-attack-{}-{}", std::process::id(), mark(case));
    let made = format!("call(240, 180, b'{name}', os.O_CREAT | os.O_RDWR, 0o666, None)");
    outside(case, &made);
    let found = python(
        case,
        &format!("attempt('opened a queue of the host', lambda: call(240, 180, b'{name}', os.O_RDWR, 0, None))"),
    );
    outside(case, &format!("call(241, 181, b'{name}')"));
    found
}

fn mark(case: &Case) -> String {
    let home = case.project.home();
    let folder = home.parent().and_then(|folder| folder.file_name()).expect("a name");
    folder.to_string_lossy().replace('.', "")
}

fn memory_file(case: &Case) -> Verdict {
    let path = format!("/dev/shm/isobox-attack-{}", mark(case));
    std::fs::write(&path, "x").expect("write");
    let found = python(case, &format!("attempt('read shared memory of the host', lambda: read('{path}'))"));
    std::fs::remove_file(&path).expect("remove");
    found
}

fn name(case: &Case) -> Verdict {
    let name = std::fs::read_to_string("/proc/sys/kernel/hostname").expect("a name");
    let name = name.trim();
    python(
        case,
        &format!(
            "attempt('found out the name of the machine', lambda: '{name}' in (os.uname().nodename, socket.gethostname()))"
        ),
    )
}

fn cgroup(case: &Case) -> Verdict {
    python(
        case,
        "
def shown():
    paths = [line.rstrip().split(':', 2)[2] for line in open('/proc/self/cgroup')]
    return any(path != '/' for path in paths) or os.path.exists('/sys/fs/cgroup')
attempt('found out its cgroup on the host', shown)
",
    )
}
