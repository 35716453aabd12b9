//! Measuring: how long programs take, how much memory, how many flushes, how much room.

use crate::helper::{DONE, GO, READY, helper};
use std::fs;
use std::io::{BufRead, BufReader, Write};
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdout, Command, Stdio};
use std::time::{Duration, Instant};

/// What a program took.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Took {
    /// From its start, or the word to go, to its end.
    pub(crate) time: Duration,
    /// The most memory that it, or a program that it started, had at once.
    pub(crate) peak_kib: u64,
}

/// What a directory takes on the disk.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Room {
    /// Bytes of all blocks.
    pub(crate) bytes: u64,
    /// Files and directories, itself included.
    pub(crate) inodes: u64,
}

/// Where programs leave what a measurement needs.
pub(crate) struct Bench {
    scratch: PathBuf,
}

impl Bench {
    /// Keeps figures below `scratch`.
    pub(crate) fn new(scratch: &Path) -> Self {
        Self { scratch: scratch.to_owned() }
    }

    /// Runs a program to its end.
    pub(crate) fn run(&self, command: &Command) -> Took {
        self.ask(command).0
    }

    /// Runs a program to its end; what it printed, too.
    pub(crate) fn ask(&self, command: &Command) -> (Took, String) {
        let figure = self.scratch.join("peak");
        let mut metered = metered(command, &figure);
        let start = Instant::now();
        let output = metered.stdin(Stdio::null()).output().expect("run a program");
        let time = start.elapsed();
        assert!(output.status.success(), "{command:?}: {}", String::from_utf8_lossy(&output.stderr));
        (Took { time, peak_kib: read_figure(&figure) }, String::from_utf8_lossy(&output.stdout).into_owned())
    }

    /// Lets writers go at once, and waits until all is durable.
    pub(crate) fn race(&self, commands: &[Command]) -> Took {
        let figure = |n: usize| self.scratch.join(format!("peak-{n}"));
        let mut writers: Vec<_> =
            commands.iter().enumerate().map(|(n, command)| Writer::start(&mut metered(command, &figure(n)))).collect();
        let start = Instant::now();
        writers.iter_mut().for_each(Writer::go);
        writers.iter_mut().for_each(|writer| writer.expect(DONE));
        let time = start.elapsed();
        writers.into_iter().for_each(Writer::end);
        let peak_kib = (0..commands.len()).map(|n| read_figure(&figure(n))).max().expect("a writer");
        Took { time, peak_kib }
    }

    /// How many flushes a writer waits for.
    pub(crate) fn flushes(&self, writer: &Command) -> usize {
        let (log, mut traced) = self.traced(writer);
        let mut writer = Writer::start(&mut traced);
        writer.go();
        writer.expect(DONE);
        writer.end();
        count_flushes(&log)
    }

    /// How many flushes a program waits for that starts by itself.
    pub(crate) fn flushes_of(&self, command: &Command) -> usize {
        let (log, mut traced) = self.traced(command);
        let output = traced.stdin(Stdio::null()).output().expect("run strace");
        assert!(output.status.success(), "{command:?}: {output:?}");
        count_flushes(&log)
    }

    fn traced(&self, command: &Command) -> (PathBuf, Command) {
        let log = self.scratch.join("flushes");
        let mut strace = Command::new("strace");
        strace.args(["-f", "-q", "-o"]).arg(&log).arg("--trace=fsync,fdatasync,sync,syncfs,sync_file_range,msync");
        (log, started_by(strace, command))
    }
}

fn count_flushes(log: &Path) -> usize {
    let trace = fs::read_to_string(log).expect("a trace");
    trace.lines().filter(|line| line.contains("sync") && line.ends_with("= 0")).count()
}

fn metered(command: &Command, figure: &Path) -> Command {
    let mut meter = helper("meter");
    meter.arg(figure);
    started_by(meter, command)
}

/// `starter`, which starts `command` with its own environment and in its own directory.
fn started_by(mut starter: Command, command: &Command) -> Command {
    starter.arg(command.get_program()).args(command.get_args());
    starter.envs(command.get_envs().filter_map(|(name, value)| Some((name, value?))));
    if let Some(directory) = command.get_current_dir() {
        starter.current_dir(directory);
    }
    starter
}

fn read_figure(path: &Path) -> u64 {
    fs::read_to_string(path).expect("a figure").parse().expect("a number")
}

/// A process that waits for the word to go.
struct Writer {
    child: Child,
    lines: BufReader<ChildStdout>,
}

impl Writer {
    fn start(command: &mut Command) -> Self {
        let mut child = command.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().expect("start a writer");
        let lines = BufReader::new(child.stdout.take().expect("a pipe"));
        let mut writer = Self { child, lines };
        writer.expect(READY);
        writer
    }

    fn go(&mut self) {
        writeln!(self.child.stdin.as_mut().expect("a pipe"), "{GO}").expect("tell a writer");
    }

    fn expect(&mut self, word: &str) {
        let mut line = String::new();
        self.lines.read_line(&mut line).expect("hear a writer");
        assert_eq!(line.trim_end(), word, "a writer failed");
    }

    fn end(mut self) {
        let status = self.child.wait().expect("wait");
        assert!(status.success(), "a writer: {status}");
    }
}

/// The room that `path` takes, with everything in it.
pub(crate) fn room(path: &Path) -> Room {
    let metadata = fs::symlink_metadata(path).expect("look at a file");
    let own = Room { bytes: 512 * metadata.blocks(), inodes: 1 };
    if !metadata.is_dir() {
        return own;
    }
    let entries = fs::read_dir(path).expect("list a directory").map(|entry| room(&entry.expect("an entry").path()));
    entries.fold(own, |sum, room| Room { bytes: sum.bytes + room.bytes, inodes: sum.inodes + room.inodes })
}
