//! Several processes at one store, and processes that are killed.

use isobox_domain::record::{TaskArtifacts, TaskRecord};
use isobox_ports::contract::sample::{draft, noise, record};
use isobox_ports::{Attempts, Publishing, RecordLog, Role};
use isobox_store::FsTaskStore;
use std::collections::BTreeSet;
use std::io::{BufRead, BufReader, Write};
use std::path::Path;
use std::process::{Child, Command, Stdio};

const RECORDS: &str = "ISOBOX_TEST_RECORDS";
const FIRST: &str = "ISOBOX_TEST_FIRST";
const COUNT: &str = "ISOBOX_TEST_COUNT";

/// What a child process does: publishes records and says so once each is durable. No test of its own.
#[test]
fn child() {
    let Ok(records) = std::env::var(RECORDS) else { return };
    let number = |name| std::env::var(name).unwrap().parse::<u64>().unwrap();
    let store = FsTaskStore::create(Path::new(&records)).unwrap();
    for n in number(FIRST)..number(FIRST) + number(COUNT) {
        publish(&store, n);
        let mut stdout = std::io::stdout().lock();
        writeln!(stdout, "acknowledged {n}").unwrap();
        stdout.flush().unwrap();
    }
}

fn publish(store: &FsTaskStore, n: u64) {
    let attempt = store.begin(&draft(n)).unwrap();
    let output = |role, length| {
        let mut writer = attempt.stage(role).unwrap();
        writer.write_all(&noise(n, length)).unwrap();
        Some(writer.finish().unwrap())
    };
    let (stdout, stderr) =
        (output(Role::Stdout, 20_000), output(Role::Stderr, if n.is_multiple_of(8) { 1 << 20 } else { 10 }));
    let artifacts = TaskArtifacts { stdout, stderr, ..TaskArtifacts::default() };
    store.publish(attempt, &TaskRecord { artifacts, ..record(n) }).unwrap();
}

fn spawn(records: &Path, first: u64, count: u64) -> Child {
    let mut command = Command::new(std::env::current_exe().unwrap());
    command.args(["--exact", "child", "--nocapture"]).stdout(Stdio::piped());
    command.env(RECORDS, records).env(FIRST, first.to_string()).env(COUNT, count.to_string()).spawn().unwrap()
}

/// The tasks that a child acknowledges from now on, until it ends.
fn acknowledged(child: &mut Child) -> impl Iterator<Item = u64> + use<> {
    let lines = BufReader::new(child.stdout.take().unwrap()).lines();
    lines.map_while(Result::ok).filter_map(|line| line.rsplit_once("acknowledged ")?.1.parse().ok())
}

fn listed(store: &FsTaskStore) -> Vec<u64> {
    let load = |entry: isobox_domain::record::RecordEntry| store.load(&entry.record).unwrap().unwrap().task;
    let tasks = store.list().unwrap().map(|entry| load(entry.unwrap()));
    tasks.map(|task| u64::from_be_bytes(*task.as_bytes())).collect()
}

#[test]
fn eight_processes_that_publish_at_once_lose_nothing() {
    let records = tempfile::tempdir().unwrap();
    let children: Vec<_> = (0..8).map(|n| spawn(records.path(), n * 1000, 15)).collect();
    for mut child in children {
        assert_eq!(acknowledged(&mut child).count(), 15);
        assert!(child.wait().unwrap().success());
    }
    let store = FsTaskStore::open(records.path()).unwrap().unwrap();
    let mut tasks = listed(&store);
    tasks.sort_unstable();
    assert_eq!(tasks, (0..8).flat_map(|n| n * 1000..n * 1000 + 15).collect::<Vec<_>>());
    assert!(store.abandoned().unwrap().is_empty());
}

#[test]
fn what_was_acknowledged_survives_kills_and_what_was_not_is_found_as_abandoned_once() {
    let records = tempfile::tempdir().unwrap();
    let mut expected = BTreeSet::new();
    for round in 0..25 {
        let mut child = spawn(records.path(), round * 1000, 1000);
        let mut acknowledgements = acknowledged(&mut child);
        // Killed at another moment after the first acknowledgements each time.
        expected.extend(acknowledgements.by_ref().take(1 + round as usize % 3));
        std::thread::sleep(std::time::Duration::from_micros(round * 337));
        child.kill().unwrap();
        expected.extend(acknowledgements);
        child.wait().unwrap();
        let store = FsTaskStore::create(records.path()).unwrap();
        for attempt in store.abandoned().unwrap() {
            if let Some(Publishing::Done(_)) = attempt.publishing() {
                attempt.discard().unwrap();
                continue;
            }
            let stdout = attempt.salvage(Role::Stdout).unwrap();
            let draft = attempt.draft().clone();
            let n = u64::from_be_bytes(*draft.task.as_bytes());
            assert!(!expected.contains(&n), "task {n} was acknowledged, and is abandoned too");
            expected.insert(n);
            let artifacts = TaskArtifacts { stdout, ..TaskArtifacts::default() };
            store.publish(attempt, &TaskRecord { artifacts, ..draft }).unwrap();
        }
        assert!(store.abandoned().unwrap().is_empty());
        let tasks = listed(&store);
        let found: BTreeSet<_> = tasks.iter().copied().collect();
        assert_eq!(found.len(), tasks.len(), "a task has two records");
        assert!(expected.is_subset(&found), "lost: {:?}", expected.difference(&found));
        expected = found;
        assert_eq!(std::fs::read_dir(records.path().join("store/tmp")).unwrap().count(), 0);
    }
}

#[test]
fn a_record_that_several_publish_at_once_is_listed_once() {
    let records = tempfile::tempdir().unwrap();
    let store = FsTaskStore::create(records.path()).unwrap();
    let barrier = std::sync::Barrier::new(4);
    std::thread::scope(|scope| {
        for _ in 0..4 {
            scope.spawn(|| {
                let store = FsTaskStore::create(records.path()).unwrap();
                for n in 0..30 {
                    let attempt = store.begin(&draft(n)).unwrap();
                    barrier.wait();
                    store.publish(attempt, &record(n)).unwrap();
                }
            });
        }
    });
    let mut tasks = listed(&store);
    tasks.sort_unstable();
    assert_eq!(tasks, (0..30).collect::<Vec<_>>());
}
