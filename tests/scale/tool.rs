//! What a tool call costs beside a bare `bwrap`, in one run: a ratio of times, and a count of flushes.

use isobox_tests::{Project, User, ignored, isobox_program};
use std::fs;
use std::process::{Command, Stdio};
use std::thread;
use std::time::{Duration, Instant};

/// Interleaved runs of each in one round; odd, so that there is a median.
const RUNS: usize = 21;
/// What else happens on a machine only adds to the ratio: the lowest of so many rounds counts.
const ROUNDS: usize = 3;
/// A tool call may cost this many times what a bare `bwrap` costs.
const HIGHEST_RATIO: f64 = 3.0;
/// An ext4 without a journal looks at every inode that was removed in the last 6 minutes and passes it over, each time that it
/// needs a free one. `bwrap` makes none. After so long, it has forgotten those that others removed.
const FORGOTTEN: Duration = Duration::from_secs(6 * 60 + 5);
/// Flushes of a Task without large artifacts.
const MOST_FLUSHES: usize = 2;

#[test]
fn a_tool_call_costs_at_most_three_times_a_bare_bwrap() {
    if isobox_program().components().any(|part| part.as_os_str() == "debug") {
        ignored("the cost of a tool call", "a debug build says nothing about speed; set ISOBOX_BIN to a release build");
        return;
    }
    let project = Project::initialised(User::Current);
    let bare = || {
        let mut command = project.command("bwrap");
        command.args(["--ro-bind", "/", "/", "--unshare-all", "--dev", "/dev", "--proc", "/proc", "true"]);
        command
    };
    let tool = || project.isobox_command(&["tool", "--", "true"]);
    let host = || project.command("true");
    for command in [bare(), tool()] {
        time(command);
    }
    let mut ratios = Vec::new();
    while ratios.len() < 2 * ROUNDS && ratios.iter().all(|ratio| *ratio > HIGHEST_RATIO) {
        if ratios.len() == ROUNDS {
            thread::sleep(FORGOTTEN);
        }
        ratios.push(round(&host, &bare, &tool));
    }
    let lowest = ratios.iter().copied().fold(f64::INFINITY, f64::min);
    assert!(lowest <= HIGHEST_RATIO, "a tool call costs {ratios:.2?} times a bare bwrap");
}

/// Runs each in turn, prints the medians, and returns how many times as long as `bare` the `tool` took.
#[expect(clippy::print_stdout, reason = "the measurement is to be seen")]
fn round(host: &dyn Fn() -> Command, bare: &dyn Fn() -> Command, tool: &dyn Fn() -> Command) -> f64 {
    let (mut host_times, mut bare_times, mut tool_times) = (Vec::new(), Vec::new(), Vec::new());
    for _ in 0..RUNS {
        bare_times.push(time(bare()));
        tool_times.push(time(tool()));
        host_times.push(time(host()));
    }
    let bare = median(bare_times);
    println!("| median of {RUNS} interleaved runs | ms | times bare bwrap |");
    println!("|---|---|---|");
    let mut ratio = 0.0;
    for (name, took) in
        [("true", median(host_times)), ("bwrap … true", bare), ("isobox tool -- true", median(tool_times))]
    {
        ratio = took.as_secs_f64() / bare.as_secs_f64();
        println!("| {name} | {:.2} | {ratio:.2} |", took.as_secs_f64() * 1e3);
    }
    ratio
}

#[test]
fn a_task_without_large_artifacts_is_flushed_at_most_twice() {
    let project = Project::initialised(User::Current);
    project.isobox(&["tool", "--", "true"]);
    let log = project.scratch().join("flushes.log");
    let mut command = project.command("strace");
    command.args(["-f", "-q", "-o"]).arg(&log).arg("--trace=fsync,fdatasync,sync,syncfs,sync_file_range,msync");
    command.arg(isobox_program()).args(["tool", "--", "sh", "-c", "echo said; echo changed >> README.md"]);
    let output = command.stdin(Stdio::null()).output().expect("run strace");
    assert!(output.status.success(), "{output:?}");
    let trace = fs::read_to_string(&log).expect("a trace");
    let flushes = trace.lines().filter(|line| line.contains("sync") && line.ends_with("= 0")).count();
    println!("flushes a task: {flushes}");
    assert!((1..=MOST_FLUSHES).contains(&flushes), "{trace}");
}

fn time(mut command: Command) -> Duration {
    command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
    let start = Instant::now();
    let status = command.status().expect("run a command");
    let took = start.elapsed();
    assert!(status.success(), "{command:?}: {status}");
    took
}

fn median(mut times: Vec<Duration>) -> Duration {
    times.sort();
    times[times.len() / 2]
}
