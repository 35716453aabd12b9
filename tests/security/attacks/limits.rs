//! What is limited cannot be had in excess: by taking it, by taking it where nobody counts, or by asking a process of the host.

use super::attack::{Attack, Verdict};
use super::inside;
use isobox_tests::Case;
use libtest_mimic::Failed;
use std::fs;
use std::io::Write;
use std::os::unix::fs::PermissionsExt;
use std::os::unix::net::UnixListener;
use std::time::{Duration, Instant};

/// What a report says where nothing contains the workload.
const ESCAPING: &str = "escaping";

const fn direct(named: &'static [&'static str], attempt: fn(&Case) -> Verdict) -> Attack {
    Attack { name: "more_is_taken", named, attempt }
}

const fn asked(attempt: fn(&Case) -> Verdict) -> Attack {
    Attack { name: "a_process_of_the_host_is_asked_for_more", named: &[ESCAPING], attempt }
}

pub(crate) const TIME: &[Attack] = &[
    direct(&[ESCAPING], |case| took(case, &["time=1s"], &stubborn("print('tick', flush=True)"))),
    asked(|case| outside(case, &["time=30s"])),
];

pub(crate) const IDLE_TIME: &[Attack] = &[
    direct(&[ESCAPING], |case| took(case, &["idle_time=1s"], &stubborn(""))),
    asked(|case| outside(case, &["idle_time=30s"])),
];

pub(crate) const MEMORY: &[Attack] = &[
    direct(&[ESCAPING, "in between"], |case| took(case, &["memory=64MiB"], HEAP)),
    Attack {
        name: "more_is_taken_in_a_file_without_a_name",
        named: &[ESCAPING, "what the kernel keeps for them"],
        attempt: |case| took(case, &["memory=64MiB"], NAMELESS),
    },
    asked(|case| outside(case, &["memory=64MiB"])),
];

pub(crate) const PROCESSES: &[Attack] = &[
    direct(&[ESCAPING, "for a moment"], |case| took(case, &["processes=20"], FORKS)),
    asked(|case| outside(case, &["processes=20"])),
];

pub(crate) const CPU: &[Attack] =
    &[direct(&[ESCAPING], |case| took(case, &["cpu=0.1"], BURN)), asked(|case| outside(case, &["cpu=0.1"]))];

pub(crate) const CPU_TIME: &[Attack] = &[
    direct(&[ESCAPING], |case| took(case, &["cpu_time=1s"], COMPUTE)),
    Attack {
        name: "more_is_taken_by_children_that_nobody_waits_for",
        named: &[ESCAPING, "children that nobody waits for"],
        attempt: |case| took(case, &["cpu_time=1s"], UNWAITED),
    },
    asked(|case| outside(case, &["cpu_time=30s"])),
];

pub(crate) const DISK: &[Attack] =
    &[direct(&[ESCAPING], |case| took(case, &["disk=4MiB"], WRITE)), asked(|case| outside(case, &["disk=4MiB"]))];

pub(crate) const INODES: &[Attack] = &[
    direct(&[ESCAPING], |case| took(case, &["disk=16MiB", "inodes=200"], FILES)),
    asked(|case| outside(case, &["disk=16MiB", "inodes=200"])),
];

pub(crate) const OPEN_FILES: &[Attack] = &[
    direct(&[ESCAPING], |case| took(case, &["open_files=64"], OPEN)),
    asked(|case| outside(case, &["open_files=64"])),
];

pub(crate) const FILE_SIZE: &[Attack] = &[
    direct(&[ESCAPING], |case| took(case, &["file_size=1MiB"], LONG)),
    asked(|case| outside(case, &["file_size=1MiB"])),
];

/// `through WHAT` and `stopped WHY` are what is listened to; what says nothing was ended.
const PRELUDE: &str = r#"
import resource
def through(what):
    print("through", what, flush=True)
def burn(seconds):
    end = time.process_time() + seconds
    while time.process_time() < end:
        pass
def raised(limit):
    try:
        resource.setrlimit(limit, (resource.RLIM_INFINITY, resource.RLIM_INFINITY))
    except (OSError, ValueError):
        pass
"#;

/// Goes on for longer than it may, whatever it is sent.
fn stubborn(sign_of_life: &str) -> String {
    format!(
        "
for number in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP):
    signal.signal(number, signal.SIG_IGN)
for _ in range(20):
    time.sleep(1)
    {sign_of_life}
    pass
through('went on for twenty seconds')"
    )
}

const HEAP: &str = "
held = [bytearray(os.urandom(1 << 20)) for _ in range(400)]
time.sleep(1)
through('held 400 MiB')";

const NAMELESS: &str = "
file = os.memfd_create('bomb')
piece = os.urandom(1 << 20)
for _ in range(200):
    os.write(file, piece)
time.sleep(1)
through('kept 200 MiB')";

const FORKS: &str = "
raised(resource.RLIMIT_NPROC)
def fork():
    try:
        child = os.fork()
    except OSError:
        return 0
    if child == 0:
        time.sleep(2)
        os._exit(0)
    return child
children = [child for child in (fork() for _ in range(60)) if child]
if len(children) > 20:
    through(f'had {len(children)} processes')
else:
    print('stopped at', len(children), flush=True)";

const BURN: &str = "
began = time.monotonic()
while time.monotonic() < began + 3:
    pass
share = time.process_time() / (time.monotonic() - began)
if share > 0.2:
    through(f'had {share:.2f} of a processor')
else:
    print(f'stopped at {share:.2f}', flush=True)";

const COMPUTE: &str = "
burn(6)
through('computed for six seconds')";

const UNWAITED: &str = "
signal.signal(signal.SIGCHLD, signal.SIG_IGN)
for _ in range(6):
    child = os.fork()
    if child == 0:
        burn(0.7)
        os._exit(0)
    while os.path.exists(f'/proc/{child}/stat'):
        time.sleep(0.02)
through('computed for four seconds')";

const WRITE: &str = "
with open('bomb', 'wb') as file:
    for _ in range(32):
        file.write(os.urandom(1 << 20))
through('wrote 32 MiB')";

const FILES: &str = "
for number in range(1000):
    open(f'bomb{number}', 'w').close()
through('made 1,000 files')";

const OPEN: &str = "
raised(resource.RLIMIT_NOFILE)
held = [open('/dev/null') for _ in range(200)]
through('opened 200 files')";

const LONG: &str = "
raised(resource.RLIMIT_FSIZE)
signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
with open('long', 'wb') as file:
    file.write(os.urandom(4 << 20))
through('wrote a file of 4 MiB')";

/// A program that is broken would look like one that was stopped: each gets through where nothing limits it.
pub(crate) fn all_get_through_without_limits(case: &Case) -> Result<(), Failed> {
    let stubborn = stubborn("");
    for program in [HEAP, NAMELESS, FORKS, BURN, COMPUTE, UNWAITED, WRITE, FILES, OPEN, LONG, &stubborn] {
        if let Verdict::Stopped(how) | Verdict::Untried(how) = took(&case.another(), &[], program) {
            return Err(format!("{program}\n{how}").into());
        }
    }
    Ok(())
}

/// What came of a program under `limits`.
fn took(case: &Case, limits: &[&str], program: &str) -> Verdict {
    let program = inside::program(&format!("{PRELUDE}{program}"));
    let mut arguments = vec!["run", "--backend", case.backend.name()];
    arguments.extend(limits.iter().flat_map(|limit| ["--limit", limit]));
    arguments.extend(["--", "/usr/bin/python3", "-c", &program]);
    let run = case.output(case.project.isobox_command(&arguments));
    assert!(run.code != 125, "{run:?}");
    match run.stdout.lines().find_map(|line| line.strip_prefix("through ")) {
        Some(what) => Verdict::GotThrough(format!("the workload {what} under {}", limits.join(", "))),
        None => Verdict::Stopped(format!("code {}: {}", run.code, run.stderr.lines().last().unwrap_or("silently"))),
    }
}

/// A process of the host that does for others what it is asked for, as a server of terminals does: nothing limits that.
fn outside(case: &Case, limits: &[&str]) -> Verdict {
    let socket = case.marks().join("server");
    let listener = UnixListener::bind(&socket).expect("bind");
    fs::set_permissions(&socket, fs::Permissions::from_mode(0o777)).expect("chmod");
    listener.set_nonblocking(true).expect("a listener");
    let server = std::thread::spawn(move || {
        let patience = Instant::now() + Duration::from_secs(20);
        while Instant::now() < patience {
            match listener.accept() {
                Ok((mut asking, _)) => return drop(asking.write_all(b"done")),
                Err(_) => std::thread::sleep(Duration::from_millis(10)),
            }
        }
    });
    let program = format!(
        "
server = socket.socket(socket.AF_UNIX)
server.connect({:?})
if server.recv(4) == b'done':
    through('had a process of the host do it')",
        socket.display().to_string()
    );
    let verdict = took(case, limits, &program);
    // Nobody else will ask: this ends the server.
    drop(std::os::unix::net::UnixStream::connect(&socket));
    server.join().expect("the server ends");
    fs::remove_file(&socket).expect("remove");
    verdict
}
