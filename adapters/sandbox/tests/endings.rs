//! However an attempt ends, nothing of it goes on: isobox killed, interrupted, or flooded.
//!
//! The program of this test is also the supervisor that gets killed: started again with a script, it supervises that.
#![allow(unsafe_code, reason = "processes are forked, watched and killed by hand")]

mod stand;

use isobox_domain::outcome::{Exit, MemoryScope};
use isobox_ports::{Content, EndCause, Flow, RuntimeBackend, Streams};
use isobox_sandbox::{BubblewrapBackend, HostBackend, LandlockBackend};
use libtest_mimic::{Arguments, Failed, Trial};
use stand::Stand;
use std::io::{BufRead, BufReader, Read, Write};
use std::os::fd::{FromRawFd, OwnedFd};
use std::os::unix::process::CommandExt;
use std::process::{Child, Command, Stdio};
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::{Duration, Instant};

/// Longest that anything here may take on a busy machine, except what must never be waited for.
const PROMPTLY: Duration = Duration::from_secs(30);

/// Peak of memory that every process of isobox keeps under, in KiB.
const PEAK_KIB: u64 = 64 * 1024;

type Case = fn(&str) -> Result<(), Failed>;

const CASES: &[(&str, Case)] = &[
    ("a_killed_supervisor_takes_the_workload_with_it", a_killed_supervisor_takes_the_workload_with_it),
    ("a_supervisor_killed_at_any_moment_leaves_nothing", a_supervisor_killed_at_any_moment_leaves_nothing),
    ("every_ending_signal_interrupts", every_ending_signal_interrupts),
    ("a_signal_that_the_caller_ignores_is_ignored", a_signal_that_the_caller_ignores_is_ignored),
    ("a_thousand_daemons_are_counted_and_killed", a_thousand_daemons_are_counted_and_killed),
    ("a_flood_of_output_takes_constant_memory", a_flood_of_output_takes_constant_memory),
    ("a_workload_that_signals_its_group_ends_by_itself", a_workload_that_signals_its_group_ends_by_itself),
    ("usage_is_measured", usage_is_measured),
];

const BACKENDS: [&str; 4] = ["bubblewrap", "landlock", "alone", "host"];

fn main() {
    isobox_sandbox::stage::enter_if_asked();
    let words: Vec<String> = std::env::args().collect();
    match words.get(1).map(String::as_str) {
        Some("supervise") => supervise(&words[2], &words[3]),
        Some("kill-many") => kill_many(&words[2]).expect("supervisors can be started and killed"),
        _ => run_cases(),
    }
}

fn run_cases() {
    let arguments = Arguments::from_args();
    let mut trials = Vec::new();
    for on in BACKENDS {
        let unavailable = backend(on).capabilities().unavailable;
        trials.extend(CASES.iter().map(|&(name, case)| match &unavailable {
            None => Trial::test(format!("{on}::{name}"), move || case(on)),
            Some(reason) => Trial::test(format!("{on}::{name} ({reason})"), || Ok(())).with_ignored_flag(true),
        }));
    }
    trials.push(Trial::test("host::a_killed_stage_is_an_error", a_killed_stage_is_an_error));
    libtest_mimic::run(&arguments, trials).exit();
}

fn backend(name: &str) -> Box<dyn RuntimeBackend> {
    match name {
        "host" => Box::new(HostBackend::new()),
        "landlock" => Box::new(LandlockBackend::new()),
        "alone" => Box::new(LandlockBackend::alone()),
        _ => Box::new(BubblewrapBackend::new()),
    }
}

// ---- the supervisor ----

/// Passes lines of standard output on, drops standard error.
struct PassOn;

impl Streams for PassOn {
    fn stdin(&mut self) -> Option<Content> {
        None
    }

    fn stdout(&mut self, bytes: &[u8]) -> Flow {
        // A flood of zeroes is not passed on: it is there to be read.
        if bytes[0] != 0 {
            std::io::stdout().write_all(bytes).expect("standard output is open");
        }
        Flow::Continue
    }

    fn stderr(&mut self, _: &[u8]) -> Flow {
        Flow::Continue
    }
}

fn supervise(name: &str, script: &str) {
    let backend = backend(name);
    let stand = Stand::new(&*backend).expect("a temporary directory can be made");
    let mut sandbox = stand.launch(&["sh", "-c", script]).expect("the sandbox comes up");
    let ending = sandbox.supervise(&mut PassOn).expect("the sandbox can be watched");
    let status = std::fs::read_to_string("/proc/self/status").expect("/proc is there");
    let peak = status.lines().find_map(|line| line.strip_prefix("VmHWM:")).unwrap_or_default().trim();
    let mut stdout = std::io::stdout();
    writeln!(stdout, "{:?}\nkilled {:?}\npeak {peak}", ending.cause, ending.killed_processes).expect("stdout is open");
}

fn supervisor(backend: &str, script: &str) -> Result<Command, Failed> {
    let mut command = Command::new(std::env::current_exe()?);
    command.args(["supervise", backend, script]).stdout(Stdio::piped()).stdin(Stdio::null());
    Ok(command)
}

/// Kills supervisors at moments spread over the time that a Sandbox takes to come up and to end, and waits until
/// every process that became an orphan has ended. Killed itself if that takes too long.
fn kill_many(backend: &str) -> Result<(), Failed> {
    const KILLS: u32 = 40;
    const SPREAD: Duration = Duration::from_millis(40);
    // SAFETY: both calls take numbers; orphans of this process's descendants become its children.
    unsafe {
        libc::prctl(libc::PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0);
        libc::alarm(u32::try_from(PROMPTLY.as_secs())?);
    }
    for number in 0..KILLS {
        let mut child = supervisor(backend, "sleep 0.01 & setsid sleep 36000 & sleep 0.01")?.spawn()?;
        let moment = Instant::now() + SPREAD * number / KILLS;
        while Instant::now() < moment {
            std::hint::spin_loop();
        }
        child.kill()?;
        child.wait()?;
    }
    // SAFETY: a null status is allowed. Every other child was waited for above.
    while unsafe { libc::waitpid(-1, std::ptr::null_mut(), 0) } > 0 {}
    std::io::stdout().write_all(b"nothing left")?;
    Ok(())
}

// ---- processes ----

/// A time to sleep, in hours, that nobody else sleeps: so that the sleepers of one case can be found.
fn marker() -> String {
    static NEXT: AtomicU32 = AtomicU32::new(0);
    format!("{}.{:03}", 1_000_000 + std::process::id(), NEXT.fetch_add(1, Ordering::Relaxed))
}

/// Handles of the processes that sleep for `marker`.
fn sleepers(marker: &str) -> Result<Vec<OwnedFd>, Failed> {
    let expected = format!("sleep\0{marker}\0");
    let mut found = Vec::new();
    for entry in std::fs::read_dir("/proc")? {
        let path = entry?.path();
        let Some(pid) = path.file_name().and_then(|name| name.to_str()?.parse::<i32>().ok()) else { continue };
        if std::fs::read(path.join("cmdline")).is_ok_and(|line| line == expected.as_bytes()) {
            // SAFETY: pidfd_open takes two numbers, and returns a descriptor that nobody else owns.
            let fd = unsafe { libc::syscall(libc::SYS_pidfd_open, pid, 0) };
            if let Ok(fd @ 0..) = i32::try_from(fd) {
                // SAFETY: as above.
                found.push(unsafe { OwnedFd::from_raw_fd(fd) });
            }
        }
    }
    Ok(found)
}

fn assert_all_end(processes: &[OwnedFd]) -> Result<(), Failed> {
    use std::os::fd::AsRawFd;
    let deadline = Instant::now() + PROMPTLY;
    for process in processes {
        let mut ended = libc::pollfd { fd: process.as_raw_fd(), events: libc::POLLIN, revents: 0 };
        let left = deadline.saturating_duration_since(Instant::now()).as_millis();
        // SAFETY: one pollfd is passed, and it lives as long as the call.
        let count = unsafe { libc::poll(&mut ended, 1, i32::try_from(left)?) };
        assert_eq!(count, 1, "a process of the workload lives on");
    }
    Ok(())
}

fn signal(child: &Child, signal: i32) -> Result<(), Failed> {
    // SAFETY: kill(2) takes two numbers; the child has not been waited for, so that its PID is its own.
    assert_eq!(unsafe { libc::kill(i32::try_from(child.id())?, signal) }, 0);
    Ok(())
}

/// Starts a supervisor of three sleepers, one in a session of its own; returns when all are there.
fn with_sleepers(mut command: Command, marker: &str) -> Result<(Child, impl BufRead, Vec<OwnedFd>), Failed> {
    let mut child = command.spawn()?;
    let mut output = BufReader::new(child.stdout.take().ok_or("no pipe")?);
    let mut line = String::new();
    output.read_line(&mut line)?;
    assert_eq!(line, "up\n");
    let deadline = Instant::now() + PROMPTLY;
    // The shell says `up` when its children are forked, a moment before they have executed `sleep`.
    let mut found = sleepers(marker)?;
    while found.len() < 3 && Instant::now() < deadline {
        std::thread::yield_now();
        found = sleepers(marker)?;
    }
    assert_eq!(found.len(), 3);
    Ok((child, output, found))
}

fn sleeping(marker: &str) -> String {
    format!("sleep {marker} & setsid sleep {marker} & echo up; exec sleep {marker}")
}

// ---- cases ----

fn a_killed_supervisor_takes_the_workload_with_it(backend: &str) -> Result<(), Failed> {
    let marker = marker();
    // What the supervisor makes and cannot remove any more goes with this.
    let temporary = tempfile::TempDir::new()?;
    let mut command = supervisor(backend, &sleeping(&marker))?;
    command.env("TMPDIR", temporary.path());
    let (mut child, _output, sleepers) = with_sleepers(command, &marker)?;
    child.kill()?;
    child.wait()?;
    assert_all_end(&sleepers)
}

fn a_supervisor_killed_at_any_moment_leaves_nothing(backend: &str) -> Result<(), Failed> {
    let temporary = tempfile::TempDir::new()?;
    let output =
        Command::new(std::env::current_exe()?).args(["kill-many", backend]).env("TMPDIR", temporary.path()).output()?;
    assert_eq!(String::from_utf8_lossy(&output.stdout), "nothing left", "{output:?}");
    Ok(())
}

fn every_ending_signal_interrupts(backend: &str) -> Result<(), Failed> {
    for number in [libc::SIGINT, libc::SIGTERM, libc::SIGHUP] {
        let marker = marker();
        let (mut child, mut output, sleepers) = with_sleepers(supervisor(backend, &sleeping(&marker))?, &marker)?;
        signal(&child, number)?;
        signal(&child, number)?;
        let mut said = String::new();
        output.read_to_string(&mut said)?;
        assert_eq!(said.lines().next(), Some(format!("Interrupted {{ signal: {number} }}").as_str()), "{said}");
        child.wait()?;
        assert_all_end(&sleepers)?;
    }
    Ok(())
}

fn a_signal_that_the_caller_ignores_is_ignored(backend: &str) -> Result<(), Failed> {
    let marker = marker();
    let mut command = supervisor(backend, &sleeping(&marker))?;
    // SAFETY: signal(2) is async-signal-safe and runs no code of its own.
    unsafe {
        command.pre_exec(|| {
            libc::signal(libc::SIGHUP, libc::SIG_IGN);
            libc::signal(libc::SIGCHLD, libc::SIG_IGN);
            Ok(())
        })
    };
    let (mut child, mut output, sleepers) = with_sleepers(command, &marker)?;
    signal(&child, libc::SIGHUP)?;
    signal(&child, libc::SIGTERM)?;
    let mut said = String::new();
    output.read_to_string(&mut said)?;
    assert_eq!(said.lines().next(), Some("Interrupted { signal: 15 }"), "{said}");
    child.wait()?;
    assert_all_end(&sleepers)
}

fn a_thousand_daemons_are_counted_and_killed(name: &str) -> Result<(), Failed> {
    let backend = backend(name);
    let marker = marker();
    let script = format!("i=0; while [ $i -lt 1000 ]; do sleep {marker} & i=$((i + 1)); done; exit 5");
    let (ending, _) = Stand::new(&*backend)?.run(&["sh", "-c", &script])?;
    assert_eq!(ending.cause, EndCause::Exited(Exit::Code(5)));
    assert_eq!(ending.killed_processes, Some(1000));
    assert_eq!(sleepers(&marker)?.len(), 0);
    Ok(())
}

fn a_flood_of_output_takes_constant_memory(backend: &str) -> Result<(), Failed> {
    let mut child = supervisor(backend, "head -c 300000000 /dev/zero | tee /dev/stderr")?.spawn()?;
    let mut said = String::new();
    child.stdout.take().ok_or("no pipe")?.read_to_string(&mut said)?;
    child.wait()?;
    let peak = said.lines().find_map(|line| line.strip_prefix("peak ")?.strip_suffix(" kB")?.parse::<u64>().ok());
    assert!(peak.is_some_and(|peak| peak < PEAK_KIB), "{said}");
    Ok(())
}

fn a_workload_that_signals_its_group_ends_by_itself(name: &str) -> Result<(), Failed> {
    let backend = backend(name);
    let (ending, _) = Stand::new(&*backend)?.run(&["sh", "-c", "trap 'exit 4' TERM; kill -TERM 0; sleep 36000"])?;
    assert_eq!(ending.cause, EndCause::Exited(Exit::Code(4)));
    Ok(())
}

fn usage_is_measured(name: &str) -> Result<(), Failed> {
    const HELD_BYTES: u64 = 100_000_000;
    let backend = backend(name);
    // tail(1) keeps what may be its last bytes in memory.
    let script = format!("head -c {HELD_BYTES} /dev/zero | tail -c {HELD_BYTES} | cksum");
    let (ending, _) = Stand::new(&*backend)?.run(&["sh", "-c", &script])?;
    let usage = ending.usage;
    assert_eq!(usage.peak_memory_of, Some(MemoryScope::LargestProcess));
    assert!(usage.peak_memory_bytes.is_some_and(|peak| (HELD_BYTES..3 * HELD_BYTES).contains(&peak)), "{usage:?}");
    let cpu_us = usage.user_cpu_us.unwrap_or(0) + usage.system_cpu_us.unwrap_or(0);
    assert!((1_000..60_000_000).contains(&cpu_us), "{usage:?}");
    Ok(())
}

fn a_killed_stage_is_an_error() -> Result<(), Failed> {
    let backend = HostBackend::new();
    let stand = Stand::new(&backend)?;
    let mut sandbox = stand.launch(&["sh", "-c", "kill -KILL $PPID; exec sleep 36000"])?;
    let error = sandbox.supervise(&mut PassOn).err().ok_or("the sandbox ended well")?;
    assert_eq!(error.to_string(), "watch the sandbox");
    Ok(())
}
