//! What a launch of `true` costs on each backend, from its start until it was waited for, beside a bare `bwrap` and a plain
//! process, in one interleaved run. It needs a quiet machine and a release build:
//! `cargo test --release -p isobox-sandbox --test launches -- --ignored`.

mod stand;

use isobox_ports::RuntimeBackend;
use isobox_sandbox::{BubblewrapBackend, HostBackend, LandlockBackend};
use libtest_mimic::{Arguments, Failed, Trial};
use stand::Stand;
use std::io::Write;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

/// Runs of each; odd, so that there is a median.
const RUNS: usize = 101;
/// A launch of `landlock` may take this part of one of `bubblewrap`.
const HIGHEST_RATIO: f64 = 0.8;

const BARE: [&str; 9] = ["--ro-bind", "/", "/", "--unshare-all", "--dev", "/dev", "--proc", "/proc", "true"];

fn main() {
    isobox_sandbox::stage::enter_if_asked();
    let trials = vec![Trial::test("landlock_takes_at_most_0.8_of_bubblewrap", compare).with_ignored_flag(true)];
    libtest_mimic::run(&Arguments::from_args(), trials).exit();
}

fn compare() -> Result<(), Failed> {
    let (landlock, bubblewrap, host) = (LandlockBackend::new(), BubblewrapBackend::new(), HostBackend::new());
    let backends: [(&str, &dyn RuntimeBackend); 3] =
        [("landlock", &landlock), ("bubblewrap", &bubblewrap), ("host", &host)];
    let usable = backends.into_iter().filter(|(_, backend)| backend.capabilities().unavailable.is_none());
    let stands = usable.map(|(name, backend)| Ok((name, Stand::new(backend)?))).collect::<Result<Vec<_>, Failed>>()?;
    let mut times = vec![Vec::new(); stands.len() + 2];
    for _ in 0..RUNS {
        for ((_, stand), times) in stands.iter().zip(&mut times) {
            let start = Instant::now();
            stand.run(&["true"])?;
            times.push(start.elapsed());
        }
        times[stands.len()].push(time(Command::new("bwrap").args(BARE))?);
        times[stands.len() + 1].push(time(&mut Command::new("true"))?);
    }
    let names = stands.iter().map(|(name, _)| *name).chain(["bwrap … true", "true"]);
    let medians: Vec<(&str, Duration)> = names.zip(times.into_iter().map(median)).collect();
    print(&medians)?;
    let of = |name: &str| medians.iter().find(|(known, _)| *known == name).map(|(_, took)| took.as_secs_f64());
    match of("landlock").zip(of("bubblewrap")) {
        Some((landlock, bubblewrap)) if landlock > HIGHEST_RATIO * bubblewrap => {
            Err(format!("it takes {:.2} of a launch of bubblewrap", landlock / bubblewrap).into())
        }
        _ => Ok(()),
    }
}

fn time(command: &mut Command) -> Result<Duration, Failed> {
    let start = Instant::now();
    command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null()).status()?;
    Ok(start.elapsed())
}

fn median(mut times: Vec<Duration>) -> Duration {
    times.sort();
    times[times.len() / 2]
}

fn print(medians: &[(&str, Duration)]) -> Result<(), Failed> {
    let mut table = format!("| median of {RUNS} interleaved launches | ms |\n|---|---|\n");
    for (name, took) in medians {
        table.push_str(&format!("| {name} | {:.2} |\n", took.as_secs_f64() * 1e3));
    }
    Ok(std::io::stdout().write_all(table.as_bytes())?)
}
