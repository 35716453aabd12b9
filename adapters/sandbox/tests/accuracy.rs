//! How far a workload gets over each limit on each backend, and what it costs isobox to look after one on memory, beside a
//! Sandbox without limits. It needs a quiet machine and a release build:
//! `cargo test --release -p isobox-sandbox --test accuracy -- --ignored --nocapture`, as root and as an ordinary user.

mod stand;

use isobox_domain::enforcement::Enforcement;
use isobox_domain::limit::{Limit, Limits};
use isobox_ports::{MemorySize, RuntimeBackend};
use isobox_sandbox::{BubblewrapBackend, HostBackend, LandlockBackend};
use libtest_mimic::{Arguments, Failed, Trial};
use nix::sys::resource::{UsageWho, getrusage};
use nix::sys::time::TimeValLike;
use stand::Stand;
use std::io::Write;
use std::time::{Duration, Instant};

/// Runs of each; odd, so that there is a median.
const RUNS: usize = 5;
/// How long the processes sleep that are looked after, in seconds.
const SECONDS: u64 = 5;

/// What takes as much of something as it gets, and writes a dot for each unit of it.
struct Hog {
    limit: Limit,
    value: &'static str,
    /// What a dot stands for, in the unit of the limit's value as a number.
    unit: u64,
    python: &'static str,
}

const WRITE: &str = "
file = os.open('bomb', os.O_WRONLY | os.O_CREAT)
for _ in range(1000):
    os.write(file, b'x' * (1 << 14))
    dot()";

/// Each ends by itself at several times what it may have.
const HOGS: &[Hog] = &[
    Hog {
        limit: Limit::Memory,
        value: "64MiB",
        unit: 1 << 20,
        python: "
held = []
for _ in range(4000):
    held.append(b'x' * (1 << 20))
    dot()",
    },
    Hog {
        limit: Limit::Processes,
        value: "40",
        unit: 1,
        python: "
dot()
for _ in range(200):
    try:
        child = os.fork()
    except OSError:
        break
    if child == 0:
        time.sleep(1)
        os._exit(0)
    dot()",
    },
    Hog {
        limit: Limit::CpuTime,
        value: "1s",
        unit: 10,
        python: "
done = 0
while done < 400:
    while time.process_time() < done * 0.01:
        pass
    done += 1
    dot()",
    },
    Hog {
        limit: Limit::Cpu,
        value: "0.25",
        unit: 10,
        python: "
begun = time.monotonic()
while time.monotonic() < begun + 3:
    pass
for _ in range(round(100 * time.process_time() / (time.monotonic() - begun))):
    dot()",
    },
    Hog { limit: Limit::Disk, value: "4MiB", unit: 1 << 14, python: WRITE },
    Hog { limit: Limit::FileSize, value: "1MiB", unit: 1 << 14, python: WRITE },
    Hog {
        limit: Limit::OpenFiles,
        value: "64",
        unit: 1,
        python: "
for _ in range(3):
    dot()
for _ in range(500):
    os.open('/dev/null', os.O_RDONLY)
    dot()",
    },
    Hog {
        limit: Limit::Time,
        value: "1s",
        unit: 10,
        python: "
begun = time.monotonic()
for done in range(500):
    time.sleep(max(0, begun + done * 0.01 - time.monotonic()))
    dot()",
    },
    // It says nothing until it is told to end.
    Hog {
        limit: Limit::IdleTime,
        value: "1s",
        unit: 10,
        python: "
import signal
begun = time.monotonic()
def end(*_):
    for _ in range(int(100 * (time.monotonic() - begun))):
        dot()
    os._exit(0)
signal.signal(signal.SIGTERM, end)
time.sleep(10)",
    },
];

fn main() {
    isobox_sandbox::stage::enter_if_asked();
    let trials = vec![
        Trial::test("how_far_a_hog_gets_over", hogs).with_ignored_flag(true),
        Trial::test("what_looking_after_memory_costs", watching).with_ignored_flag(true),
    ];
    libtest_mimic::run(&Arguments { test_threads: Some(1), ..Arguments::from_args() }, trials).exit();
}

fn backends() -> Vec<(&'static str, Box<dyn RuntimeBackend>)> {
    let all: [(_, Box<dyn RuntimeBackend>); 3] = [
        ("bubblewrap", Box::new(BubblewrapBackend::new())),
        ("landlock", Box::new(LandlockBackend::new())),
        ("host", Box::new(HostBackend::new())),
    ];
    all.into_iter().filter(|(_, backend)| backend.capabilities().unavailable.is_none()).collect()
}

fn print(line: &str) -> Result<(), Failed> {
    Ok(writeln!(std::io::stdout(), "{line}")?)
}

fn hogs() -> Result<(), Failed> {
    print(&format!("| limit | backend | held by | asked | got, median and most of {RUNS} |\n|---|---|---|---|---|"))?;
    for hog in HOGS {
        for (name, backend) in backends() {
            let asked = hog.limit.parse_value(hog.value)?.ok_or("a hog has a limit")?;
            let Some(holder) = holder(&*backend, hog.limit, asked) else {
                print(&format!("| {} | {name} | nothing | | |", hog.limit.name()))?;
                continue;
            };
            let mut got = (0..RUNS).map(|_| feed(&*backend, hog, asked)).collect::<Result<Vec<_>, _>>()?;
            got.sort_unstable();
            let of_asked = |got: u64| format!("{:.2}", (got * hog.unit) as f64 / asked as f64);
            let (median, most) = (of_asked(got[RUNS / 2]), of_asked(got[RUNS - 1]));
            print(&format!("| {} | {name} | {holder} | {} | {median} × and {most} × |", hog.limit.name(), hog.value))?;
        }
    }
    Ok(())
}

/// What keeps the limit, as reports say it.
fn holder(backend: &dyn RuntimeBackend, limit: Limit, asked: u64) -> Option<String> {
    let limits = Limits::NONE.with(limit, Some(asked));
    match backend.limits(&limits).into_iter().next()?.enforcement {
        Enforcement::Enforced { mechanism } => Some(mechanism),
        Enforcement::PartiallyEnforced { mechanism, .. } => Some(format!("{mechanism}, in part")),
        Enforcement::NotEnforced { .. } => None,
    }
}

/// How many dots a hog comes to.
fn feed(backend: &dyn RuntimeBackend, hog: &Hog, asked: u64) -> Result<u64, Failed> {
    let mut stand = match hog.limit {
        Limit::Disk => {
            let kind = backend.overlay(None).map_err(Failed::from)?;
            Stand::on_overlay(backend, kind, Some(MemorySize { bytes: asked, inodes: 1000 }))?
        }
        _ => Stand::new(backend)?,
    };
    stand.policy.limits = stand.policy.limits.with(hog.limit, Some(asked));
    let program = format!("import os, time\ndef dot():\n    os.write(1, b'.')\n{}", hog.python);
    let (_, heard) = stand.run(&["/usr/bin/python3", "-c", &program])?;
    match heard.stdout.len() as u64 {
        0 => Err(format!("{} of {}: {}", hog.limit.name(), hog.value, heard.complaints()).into()),
        dots => Ok(dots),
    }
}

fn watching() -> Result<(), Failed> {
    print("| processes | backend | held by | isobox, without the limit ms/s | with it ms/s |")?;
    print("|---|---|---|---|---|")?;
    for (name, backend) in backends() {
        let Some(holder) = holder(&*backend, Limit::Memory, 4 << 30) else { continue };
        for processes in [1, 10, 100] {
            let without = busy(&*backend, processes, None)?;
            let with = busy(&*backend, processes, Some(4 << 30))?;
            let per_second = |busy: Duration| busy.as_secs_f64() * 1e3 / SECONDS as f64;
            let (without, with) = (per_second(without), per_second(with));
            print(&format!("| {processes} | {name} | {holder} | {without:.2} | {with:.2} |"))?;
        }
    }
    Ok(())
}

/// The processor time that this process takes while it looks after so many that sleep.
fn busy(backend: &dyn RuntimeBackend, processes: u64, memory: Option<u64>) -> Result<Duration, Failed> {
    let mut stand = Stand::new(backend)?;
    stand.policy.limits = stand.policy.limits.with(Limit::Memory, memory);
    let script = format!("for n in $(seq {processes}); do sleep {SECONDS} & done; wait");
    let (start, before) = (Instant::now(), own_time()?);
    stand.run(&["sh", "-c", &script])?;
    if start.elapsed() < Duration::from_secs(SECONDS) {
        return Err("they did not sleep".into());
    }
    Ok(own_time()?.saturating_sub(before))
}

fn own_time() -> Result<Duration, Failed> {
    let usage = getrusage(UsageWho::RUSAGE_SELF)?;
    let us = usage.user_time().num_microseconds() + usage.system_time().num_microseconds();
    Ok(Duration::from_micros(us.unsigned_abs()))
}
