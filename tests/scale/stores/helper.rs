//! What this program does when it is started once more by itself: it works on a store of isobox, or measures a program.

use crate::work::{GivenTask, offsets_in, task_at, tasks_in};
use isobox_domain::compaction::Scope;
use isobox_domain::outcome::Outcome;
use isobox_domain::record::{TaskArtifacts, TaskRecord};
use isobox_domain::verification::Thoroughness;
use isobox_ports::contract::sample::{noise, record};
use isobox_ports::{Attempts, Compactor, ObjectStore, RecordLog, Role, Verifier};
use isobox_store::FsTaskStore;
use nix::sys::resource::{UsageWho, getrusage};
use std::ffi::OsString;
use std::fs::{self, File};
use std::io::{self, BufReader, Read, Write};
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::{Duration, Instant};

/// The first argument of a helper.
pub(crate) const HELPER: &str = "helper";
/// What a writer says when it is ready, awaits, and says when all is durable.
pub(crate) const READY: &str = "ready";
pub(crate) const GO: &str = "go";
pub(crate) const DONE: &str = "done";

/// So much of a large artifact is read at once.
const CHUNK: usize = 1 << 16;

/// A command that starts this program as the helper `what`.
pub(crate) fn helper(what: &str) -> Command {
    let mut command = Command::new(std::env::current_exe().expect("the test's own path"));
    command.args([HELPER, what]);
    command
}

/// Does what the arguments say.
pub(crate) fn help(mut arguments: impl Iterator<Item = OsString>) {
    let what = arguments.next().and_then(|what| what.into_string().ok()).expect("what to do");
    let paths: Vec<PathBuf> = arguments.map(PathBuf::from).collect();
    match (what.as_str(), paths.as_slice()) {
        ("bare", _) => {}
        ("meter", [out, program, rest @ ..]) => meter(out, Command::new(program).args(rest)),
        ("put", [records, parts @ ..]) => put_all(records, parts),
        ("each", [records, parts @ ..]) => put_each(records, parts),
        ("one", [records, part, offset]) => put_one(records, part, offset),
        ("large", [records, file]) => put_large(records, file),
        ("list", [records]) => list(records),
        ("verify", [records]) => verify(records),
        ("compact", [records]) => compact(records),
        ("read", [records, parts @ ..]) => read_back(records, parts),
        other => panic!("{other:?} is nothing to do"),
    }
}

/// Runs a program; the peak of its memory in KiB goes to a file.
fn meter(out: &Path, command: &mut Command) {
    let status = command.status().expect("run a program");
    assert!(status.success(), "{command:?}: {status}");
    let usage = getrusage(UsageWho::RUSAGE_CHILDREN).expect("the usage of a program that ended");
    fs::write(out, usage.max_rss().to_string()).expect("write a figure");
}

#[expect(clippy::print_stdout, reason = "the other side waits for it")]
fn put_all(records: &Path, parts: &[PathBuf]) {
    println!("{READY}");
    io::stdin().read_line(&mut String::new()).expect("a word to go");
    let store = FsTaskStore::create(records).expect("a store");
    parts.iter().flat_map(|part| tasks_in(part)).for_each(|task| put(&store, task));
    println!("{DONE}");
}

fn put_one(records: &Path, part: &Path, offset: &Path) {
    let offset = offset.to_str().and_then(|offset| offset.parse().ok()).expect("an offset");
    put(&FsTaskStore::create(records).expect("a store"), task_at(part, offset));
}

/// Starts a process for each task, and one that does nothing beside it; prints both times in milliseconds.
#[expect(clippy::print_stdout, reason = "the figures are for the other side")]
fn put_each(records: &Path, parts: &[PathBuf]) {
    let (mut with, mut bare) = (Duration::ZERO, Duration::ZERO);
    let mut count = 0;
    for part in parts {
        for offset in offsets_in(part) {
            with += time(helper("one").arg(records).arg(part).arg(offset.to_string()));
            bare += time(helper("bare").arg(records).arg(part).arg(offset.to_string()));
            count += 1;
        }
    }
    let ms = |all: Duration| all.as_secs_f64() * 1e3 / f64::from(count);
    println!("{} {}", ms(with), ms(bare));
}

fn time(command: &mut Command) -> Duration {
    let start = Instant::now();
    let status = command.status().expect("run a helper");
    let took = start.elapsed();
    assert!(status.success(), "{command:?}: {status}");
    took
}

/// A record of ours that carries what the generator made as an extension.
fn record_of(task: &GivenTask) -> TaskRecord {
    let salt = noise(u64::from_be_bytes(*task.id.as_bytes()), 16);
    TaskRecord {
        task: task.id,
        salt: salt.try_into().expect("16 bytes"),
        probes: Vec::new(),
        extensions: vec![("bench".into(), task.record.clone())],
        ..record(0)
    }
}

fn put(store: &FsTaskStore, task: GivenTask) {
    let record = record_of(&task);
    let draft = TaskRecord { outcome: Outcome::Interruption, exit: None, extensions: Vec::new(), ..record.clone() };
    let attempt = store.begin(&draft).expect("an attempt");
    let mut stdout = attempt.stage(Role::Stdout).expect("an output");
    stdout.write_all(&task.stdout).expect("write an output");
    let stdout = Some(stdout.finish().expect("a staged output"));
    let mut capture = attempt.capture_sink().expect("a capture");
    capture.patch().write_all(&task.patch).expect("write a patch");
    let patch = capture.finish().expect("a staged patch").patch;
    let artifacts = TaskArtifacts { stdout, patch, ..TaskArtifacts::default() };
    store.publish(attempt, &TaskRecord { artifacts, ..record }).expect("a published record");
}

fn put_large(records: &Path, file: &Path) {
    let store = FsTaskStore::create(records).expect("a store");
    let attempt = store.begin(&record(0)).expect("an attempt");
    let mut stdout = attempt.stage(Role::Stdout).expect("an output");
    let mut file = BufReader::with_capacity(CHUNK, File::open(file).expect("a large file"));
    io::copy(&mut file, &mut stdout).expect("write an output");
    let stdout = Some(stdout.finish().expect("a staged output"));
    let artifacts = TaskArtifacts { stdout, ..TaskArtifacts::default() };
    store.publish(attempt, &TaskRecord { artifacts, ..record(0) }).expect("a published record");
}

fn open(records: &Path) -> FsTaskStore {
    FsTaskStore::open(records).expect("a store that opens").expect("a store")
}

#[expect(clippy::print_stdout, reason = "it is what a listing does")]
fn list(records: &Path) {
    for entry in open(records).list().expect("a listing") {
        let entry = entry.expect("an entry");
        println!("{} {} {} {}", entry.task, entry.attempt, entry.committed_at.unix_ms(), entry.record);
    }
}

fn verify(records: &Path) {
    let found = open(records).verify(Thoroughness::Full, &|_| {}).expect("a verification");
    assert!(found.is_sound(), "{found:?}");
}

fn compact(records: &Path) {
    let done = open(records).compact(Scope::All, &|_| {}).expect("a compaction");
    assert!(done.passed_by.is_empty(), "{done:?}");
}

/// Compares what the store holds with what was put.
fn read_back(records: &Path, parts: &[PathBuf]) {
    let store = open(records);
    let mut listed: std::collections::HashMap<_, _> = store
        .list()
        .expect("a listing")
        .map(|entry| entry.expect("an entry"))
        .map(|entry| (entry.task, entry.record))
        .collect();
    for task in parts.iter().flat_map(|part| tasks_in(part)) {
        let record = listed.remove(&task.id).unwrap_or_else(|| panic!("{} is not there", task.id));
        let record = store.load(&record).expect("a record that loads").expect("a record");
        assert_eq!(record.extensions, [("bench".to_owned(), task.record)], "{}", task.id);
        for (content, given) in [(record.artifacts.stdout, task.stdout), (record.artifacts.patch, task.patch)] {
            let mut found = Vec::new();
            let content = content.expect("an artifact");
            let mut opened = store.open(&content.id).expect("an artifact that opens").expect("an artifact");
            opened.read_to_end(&mut found).expect("read an artifact");
            assert!(found == given, "{} of {}", content.id, task.id);
        }
    }
    assert!(listed.is_empty(), "{} tasks that nobody put", listed.len());
}
