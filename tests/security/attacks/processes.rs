//! Every process of the workload ends with the attempt, and host processes are out of reach.

use super::attack::{Attack, Verdict, python, python_with_effect};
use super::canary::Process;
use isobox_tests::Case;
use std::fs;
use std::thread::sleep;
use std::time::Duration;

/// What the reports of backends that share the host's processes say.
const REACHED: &[&str] = &["see and signal", "signal"];
const SEEN: &[&str] = &["see ", "command lines", "/proc"];

pub(crate) const ATTACKS: &[Attack] = &[
    Attack { name: "a_process_of_the_host_is_signalled", named: REACHED, attempt: send_signal },
    Attack { name: "a_process_of_the_host_is_signalled_by_descriptor", named: REACHED, attempt: signal_by_descriptor },
    Attack { name: "a_process_of_the_host_is_seen", named: SEEN, attempt: see },
    Attack { name: "a_process_of_the_host_is_traced", named: &["see and signal", "trace"], attempt: trace },
    Attack { name: "the_memory_of_a_host_process_is_read", named: &["see and signal", "trace"], attempt: memory },
    Attack {
        name: "a_host_process_is_given_other_priorities",
        named: &["signal", "priorit", "slowed"],
        attempt: priority,
    },
    Attack { name: "a_daemon_outlives_its_parent", named: &[], attempt: daemon },
    Attack { name: "a_daemon_escapes_between_forks", named: &[], attempt: fleeing },
    Attack { name: "the_stage_is_killed", named: &["isobox's own", "the stage included"], attempt: kill_stage },
    Attack { name: "the_stage_is_traced", named: &["isobox's own", "signal"], attempt: trace_stage },
];

fn send_signal(case: &Case) -> Verdict {
    let mut canary = Process::of(case);
    let program = format!(
        "
for number in (signal.SIGTERM, signal.SIGKILL):
    attempt('signal', lambda: os.kill({0}, number))
attempt('signal of a thread', lambda: call(200, 130, {0}, 9))
attempt('signal with a value', lambda: call(129, 138, {0}, 9, b'\\0' * 128))
",
        canary.pid()
    );
    python_with_effect(case, &program, || dead(&mut canary))
}

fn dead(canary: &mut Process) -> Option<String> {
    // A signal is on its way for a moment.
    sleep(Duration::from_millis(50));
    canary.is_dead().then(|| "a process of the host was ended".to_owned())
}

fn signal_by_descriptor(case: &Case) -> Verdict {
    let mut canary = Process::of(case);
    let program = format!(
        "attempt('signal by descriptor', lambda: signal.pidfd_send_signal(os.pidfd_open({}), signal.SIGKILL))",
        canary.pid()
    );
    python_with_effect(case, &program, || dead(&mut canary))
}

fn see(case: &Case) -> Verdict {
    let canary = Process::of(case);
    python(
        case,
        &format!(
            "
def command_lines():
    found = False
    for name in os.listdir('/proc'):
        try:
            found = found or name.isdigit() and b'sleep\\x0031540' in read('/proc/' + name + '/cmdline')
        except OSError:
            pass
    return found
attempt('read the command line of a process of the host', command_lines)
attempt('read the state of a process of the host', lambda: read('/proc/{0}/stat'))
attempt('asked whether a process of the host is there', lambda: os.kill({0}, 0))
",
            canary.pid()
        ),
    )
}

fn trace(case: &Case) -> Verdict {
    let canary = Process::of(case);
    python(
        case,
        &format!(
            "
def traced(request):
    ctypes.set_errno(0)
    checked(libc.ptrace(request, {0}, None, None))
    release({0}, request)
attempt('traced a process of the host', lambda: traced(16))
attempt('seized a process of the host', lambda: traced(0x4206))
attempt('took a descriptor of a process of the host', lambda: call(438, 438, os.pidfd_open({0}), 0, 0))
attempt('compared itself with a process of the host', lambda: call(312, 272, os.getpid(), {0}, 0, 0, 0))
",
            canary.pid()
        ),
    )
}

fn memory(case: &Case) -> Verdict {
    let canary = Process::of(case);
    python(
        case,
        &format!(
            "
attempt('opened the memory of a process of the host', lambda: os.open('/proc/{0}/mem', os.O_RDWR))
attempt('read the maps of a process of the host', lambda: bool(read('/proc/{0}/maps')))
buffer = ctypes.create_string_buffer(8)
def vectors():
    ours = struct.pack('QQ', ctypes.addressof(buffer), 8)
    theirs = struct.pack('QQ', int(read('/proc/{0}/maps').split(b'-')[0], 16), 8)
    call(310, 270, {0}, ours, 1, theirs, 1, 0)
attempt('read the memory of a process of the host', vectors)
",
            canary.pid()
        ),
    )
}

fn priority(case: &Case) -> Verdict {
    let canary = Process::of(case);
    python(
        case,
        &format!(
            "
attempt('made a process of the host wait', lambda: os.setpriority(os.PRIO_PROCESS, {0}, 19))
attempt('bound a process of the host to a processor', lambda: os.sched_setaffinity({0}, {{0}}))
attempt('set a limit of a process of the host', lambda: call(302, 261, {0}, 7, struct.pack('QQ', 64, 64), None))
",
            canary.pid()
        ),
    )
}

/// Whether a process is there whose arguments end in `word`.
fn lives(word: &str) -> bool {
    let processes = fs::read_dir("/proc").expect("/proc").flatten();
    let mut lines = processes.filter_map(|process| fs::read(process.path().join("cmdline")).ok());
    lines.any(|line| line.windows(word.len()).any(|part| part == word.as_bytes()))
}

/// A word that no other test uses.
fn mark(case: &Case) -> String {
    let home = case.project.home();
    let name = home.parent().and_then(|folder| folder.file_name()).expect("a name");
    format!("daemon-of-{}", name.to_string_lossy())
}

fn daemon(case: &Case) -> Verdict {
    let mark = mark(case);
    let program = format!(
        "
def away():
    if os.fork():
        return
    os.setsid()
    if os.fork():
        os._exit(0)
    for number in range(1, 32):
        try:
            signal.signal(number, signal.SIG_IGN)
        except OSError:
            pass
    libc.prctl(1, 0)
    nothing = os.open('/dev/null', os.O_RDWR)
    for number in (0, 1, 2):
        os.dup2(nothing, number)
    os.execv('/usr/bin/python3', ['python3', '-c', 'import signal, time; signal.signal(15, signal.SIG_IGN); time.sleep(600)', '{mark}'])
attempt('left a daemon', away)
time.sleep(0.3)
"
    );
    python_with_effect(case, &program, || still_there(&mark))
}

fn still_there(mark: &str) -> Option<String> {
    sleep(Duration::from_millis(300));
    lives(mark).then(|| "a daemon outlived the attempt".to_owned())
}

/// Forks all the time, so that whoever lists processes to kill them comes late.
fn fleeing(case: &Case) -> Verdict {
    let mark = mark(case);
    let inner = "import os, time\\ndeadline = time.time() + 20\\nos.setsid()\\nwhile time.time() < deadline:\\n    if os.fork(): os._exit(0)\\n";
    let program = format!(
        "
def away():
    nothing = os.open('/dev/null', os.O_RDWR)
    subprocess.Popen(['/usr/bin/python3', '-c', '{inner}', '{mark}'], stdin=nothing, stdout=nothing, stderr=nothing, start_new_session=False)
for _ in range(4):
    attempt('fled', away)
time.sleep(0.3)
"
    );
    python_with_effect(case, &program, || still_there(&mark))
}

/// Whoever ends the Stage ends the supervision.
fn kill_stage(case: &Case) -> Verdict {
    let program = super::inside::program(
        "
attempt('killed', lambda: os.kill(os.getppid(), signal.SIGKILL))
attempt('stopped', lambda: os.kill(os.getppid(), signal.SIGSTOP))
attempt('thread', lambda: call(200, 130, os.getppid(), 9))
time.sleep(0.2)
sys.exit(17)
",
    );
    let run = case.run_command(&["/usr/bin/python3", "-c", &program]);
    match run.code {
        17 => Verdict::Stopped(run.stdout),
        _ => Verdict::GotThrough(format!("the stage was ended: {run:?}")),
    }
}

fn trace_stage(case: &Case) -> Verdict {
    python(
        case,
        "
stage = os.getppid()
attempt('opened the memory of the stage', lambda: os.open('/proc/%d/mem' % stage, os.O_RDWR))
attempt('looked at the socket of the stage', lambda: os.readlink('/proc/%d/fd/3' % stage))
attempt('opened the output of the stage', lambda: os.open('/proc/%d/fd/1' % stage, os.O_WRONLY))
attempt('took a descriptor of the stage', lambda: call(438, 438, os.pidfd_open(stage), 3, 0))
def traced():
    ctypes.set_errno(0)
    checked(libc.ptrace(16, stage, None, None))
    release(stage, 16)
attempt('traced the stage', traced)
attempt('set a limit of the stage', lambda: call(302, 261, stage, 7, struct.pack('QQ', 64, 64), None))
",
    )
}
