//! Measuring: how long commands take in turn, and how much memory the hungriest process of one has.

use crate::open::Open;
use crate::repository::Size;
use isobox_tests::User;
use nix::sys::resource::{UsageWho, getrusage};
use std::collections::{BTreeMap, BTreeSet};
use std::ffi::OsString;
use std::fs;
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

/// The first argument of this program when it is to measure the memory of a command.
pub(crate) const METER: &str = "meter";

/// What was measured in a repository of one size.
pub(crate) struct Measured {
    pub(crate) size: Size,
    /// The median of each contestant, in milliseconds.
    pub(crate) medians: BTreeMap<&'static str, f64>,
    /// The most memory that a process of isobox had, by contestant.
    pub(crate) peaks_kib: BTreeMap<&'static str, u64>,
    /// What many open Workspaces cost.
    pub(crate) open: Open,
}

impl Measured {
    /// The median of `contestant`.
    pub(crate) fn ms(&self, contestant: &str) -> f64 {
        self.medians[contestant]
    }

    /// The highest peak.
    pub(crate) fn peak_mib(&self) -> f64 {
        self.peaks_kib.values().max().copied().unwrap_or_default() as f64 / 1024.0
    }
}

/// Runs a command to its end.
pub(crate) fn time(mut command: Command) -> Duration {
    command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::piped());
    let start = Instant::now();
    let output = command.output().expect("run a command");
    let took = start.elapsed();
    assert!(output.status.success(), "{command:?}: {}", String::from_utf8_lossy(&output.stderr));
    took
}

/// The median in milliseconds.
pub(crate) fn median(times: &[Duration]) -> f64 {
    let mut times = times.to_vec();
    times.sort();
    times[times.len() / 2].as_secs_f64() * 1e3
}

/// The most memory that a process of `command` has, in KiB.
pub(crate) fn peak_kib(command: &Command, scratch: &Path) -> u64 {
    let figure = scratch.join("peak");
    let mut metered = Command::new(std::env::current_exe().expect("the test's own path"));
    metered.arg(METER).arg(&figure).arg(command.get_program()).args(command.get_args()).env_clear();
    metered.envs(command.get_envs().filter_map(|(name, value)| Some((name, value?))));
    metered.current_dir(command.get_current_dir().unwrap_or(Path::new("/")));
    time(metered);
    fs::read_to_string(&figure).expect("a figure").parse().expect("a number")
}

/// Runs the command that the arguments name after a file, which gets the figure.
pub(crate) fn meter(mut arguments: impl Iterator<Item = OsString>) {
    let figure = arguments.next().expect("a file for the figure");
    let status = Command::new(arguments.next().expect("a program")).args(arguments).status().expect("run a program");
    assert!(status.success(), "{status}");
    let usage = getrusage(UsageWho::RUSAGE_CHILDREN).expect("the usage of a program that ended");
    fs::write(figure, usage.max_rss().to_string()).expect("write a figure");
}

/// Prints the medians of every size.
#[expect(clippy::print_stdout, reason = "the figures are to be seen")]
pub(crate) fn print(user: User, runs: usize, measured: &[Measured]) {
    let sizes: Vec<_> = measured.iter().map(|at| format!("{:?}, {} files", at.size, at.size.files())).collect();
    println!("\n{user:?}: ms, median of {runs} interleaved runs\n");
    println!("| | {} |\n|---|{}", sizes.join(" | "), "---|".repeat(sizes.len()));
    let names: BTreeSet<_> = measured.iter().flat_map(|at| at.medians.keys()).collect();
    for name in names {
        row(shown(name), measured, |at| match at.medians.get(name) {
            None => "–".to_owned(),
            Some(ms) => format!("{ms:.1}"),
        });
    }
    let peaks: BTreeSet<_> = measured.iter().flat_map(|at| at.peaks_kib.keys()).collect();
    for name in peaks {
        row(&format!("peak MiB: {}", shown(name)), measured, |at| {
            at.peaks_kib.get(name).map_or_else(|| "–".to_owned(), |kib| format!("{:.1}", *kib as f64 / 1024.0))
        });
    }
    row("open at once: MB on disk", measured, |at| format!("{:.1}", at.open.disk_bytes as f64 / 1e6));
    row("open at once: MB in memory, of isobox", measured, |at| format!("{:.1}", at.open.memory_bytes as f64 / 1e6));
    println!();
}

/// A contestant without what orders it.
fn shown(name: &str) -> &str {
    name.split_once(' ').map_or(name, |(_, shown)| shown)
}

#[expect(clippy::print_stdout, reason = "the figures are to be seen")]
fn row(name: &str, measured: &[Measured], cell: impl Fn(&Measured) -> String) {
    let cells: Vec<_> = measured.iter().map(cell).collect();
    println!("| {name} | {} |", cells.join(" | "));
}
