//! What a tool call costs beside a bare `bwrap`, in one run: a ratio of times, and a count of flushes.

use isobox_tests::{Project, User, ignored, isobox_program};
use std::fs;
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

/// Interleaved runs of each in one round; odd, so that there is a median.
const RUNS: usize = 21;
/// What else happens on a machine only adds to the ratio: the lowest of so many rounds counts.
const ROUNDS: usize = 3;
/// A tool call may cost this many times what a bare `bwrap` costs.
const HIGHEST_RATIO: f64 = 3.0;
/// Where the median of `bwrap` is so many times its minimum, other processes take the processors: nothing can be measured.
const RESTLESS: f64 = 1.3;
/// A file system in memory. What a tool call costs beyond the limit on disk and not here, the disk's file system costs: an
/// ext4 without a journal passes over every inode that was removed in the last minutes, each time that it needs a free one.
const MEMORY: &str = "/dev/shm";
/// Flushes of a Task without large artifacts.
const MOST_FLUSHES: usize = 2;

#[test]
fn a_tool_call_costs_at_most_three_times_a_bare_bwrap() {
    if isobox_program().components().any(|part| part.as_os_str() == "debug") {
        ignored("the cost of a tool call", "a debug build says nothing about speed; set ISOBOX_BIN to a release build");
        return;
    }
    let on_disk = rounds(&Project::initialised(User::Current));
    let lowest = lowest(&on_disk);
    if lowest <= HIGHEST_RATIO {
        return;
    }
    match restless(&on_disk).or_else(|| slow_disk(lowest)) {
        Some(reason) => ignored("the cost of a tool call", &reason),
        None => panic!("a tool call costs at least {lowest:.2} times a bare bwrap"),
    }
}

/// Measures in `project` until a round holds.
fn rounds(project: &Project) -> Vec<Round> {
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
    let mut rounds: Vec<Round> = Vec::new();
    while rounds.len() < ROUNDS && rounds.iter().all(|round| round.ratio > HIGHEST_RATIO) {
        rounds.push(round(&host, &bare, &tool));
    }
    rounds
}

fn lowest(rounds: &[Round]) -> f64 {
    rounds.iter().map(|round| round.ratio).fold(f64::INFINITY, f64::min)
}

/// What one round measured.
struct Round {
    /// How many times as long as `bwrap` a tool call took.
    ratio: f64,
    /// Every `bwrap`, in order of its time.
    bare: Vec<Duration>,
}

impl Round {
    /// How many times as long as it can a `bwrap` took.
    fn restlessness(&self) -> f64 {
        self.bare[RUNS / 2].as_secs_f64() / self.bare[0].as_secs_f64()
    }
}

/// Why nothing can be measured, if there was no calm round.
fn restless(rounds: &[Round]) -> Option<String> {
    let calmest = rounds.iter().map(Round::restlessness).fold(f64::INFINITY, f64::min);
    (calmest > RESTLESS)
        .then(|| format!("the machine is busy: a bare bwrap takes {calmest:.2} times as long as it can"))
}

/// The same, if it is the file system that takes the time.
fn slow_disk(on_disk: f64) -> Option<String> {
    let memory = Path::new(MEMORY);
    let in_memory = lowest(&rounds(&Project::initialised_below(memory, User::Current)));
    (in_memory <= HIGHEST_RATIO).then(|| {
        format!("it is {on_disk:.2} times a bwrap on this disk, and {in_memory:.2} in memory: its file system is slow")
    })
}

/// Runs each in turn, and prints the medians.
#[expect(clippy::print_stdout, reason = "the measurement is to be seen")]
fn round(host: &dyn Fn() -> Command, bare: &dyn Fn() -> Command, tool: &dyn Fn() -> Command) -> Round {
    let (mut host_times, mut bare_times, mut tool_times) = (Vec::new(), Vec::new(), Vec::new());
    for _ in 0..RUNS {
        bare_times.push(time(bare()));
        tool_times.push(time(tool()));
        host_times.push(time(host()));
    }
    bare_times.sort();
    let bare = bare_times[RUNS / 2];
    println!("| median of {RUNS} interleaved runs | ms | times bare bwrap |");
    println!("|---|---|---|");
    let mut ratio = 0.0;
    for (name, took) in
        [("true", median(host_times)), ("bwrap … true", bare), ("isobox tool -- true", median(tool_times))]
    {
        ratio = took.as_secs_f64() / bare.as_secs_f64();
        println!("| {name} | {:.2} | {ratio:.2} |", took.as_secs_f64() * 1e3);
    }
    Round { ratio, bare: bare_times }
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
