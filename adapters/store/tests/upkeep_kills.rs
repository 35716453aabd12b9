//! Writers, compactions and sweeps that are killed at any moment: nothing that was acknowledged is lost.
//!
//! A thousand kills: `ISOBOX_KILLS=1000 cargo test --release -p isobox-store --test upkeep_kills`.

use isobox_domain::compaction::Scope;
use isobox_domain::content::ContentId;
use isobox_domain::record::{TaskArtifacts, TaskRecord};
use isobox_domain::verification::Thoroughness;
use isobox_ports::contract::sample::{draft, noise, pruned, record};
use isobox_ports::{Attempts, Collector, Compactor, ObjectStore, RecordLog, Role, StoreErrorKind, Verifier};
use isobox_store::FsTaskStore;
use std::collections::BTreeMap;
use std::io::{BufRead, BufReader, Read, Write};
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::Duration;

const RECORDS: &str = "ISOBOX_TEST_RECORDS";
const ROLE: &str = "ISOBOX_TEST_ROLE";
const FIRST: &str = "ISOBOX_TEST_FIRST";
const KILLS: &str = "ISOBOX_KILLS";
/// Kills of the run that is part of every test run.
const FEW: u64 = 24;

/// What a child process does until it is killed. No test of its own.
#[test]
fn child() {
    let Ok(records) = std::env::var(RECORDS) else { return };
    let store = FsTaskStore::create(Path::new(&records)).unwrap();
    match std::env::var(ROLE).unwrap().as_str() {
        "write" => write(&store, std::env::var(FIRST).unwrap().parse().unwrap()),
        _ => keep_up(&store),
    }
}

/// Publishes for ever, prunes two of three, and says so once that is durable.
fn write(store: &FsTaskStore, first: u64) {
    for n in first.. {
        let id = publish(store, n);
        say(&format!("published {n} {}", id.to_hex()));
        if n % 3 != 0 {
            store.append(&pruned(n, id, None)).unwrap();
            say(&format!("pruned {n}"));
        }
    }
}

fn say(line: &str) {
    let mut stdout = std::io::stdout().lock();
    writeln!(stdout, "told {line}").unwrap();
    stdout.flush().unwrap();
}

/// Compacts and sweeps in turn for ever.
fn keep_up(store: &FsTaskStore) {
    loop {
        done(store.compact(Scope::All, &|_| {}).map(drop));
        done(store.sweep(&|_| {}).map(drop));
    }
}

fn done(upkeep: Result<(), isobox_ports::StoreError>) {
    match upkeep {
        // The one before was killed and holds the lock until it is gone.
        Err(error) if error.kind == StoreErrorKind::Locked => {}
        done => done.unwrap(),
    }
}

/// One of few outputs, so that what one pruned is what the next one needs; now and then a large one.
fn output(n: u64) -> Vec<u8> {
    noise(n % 7, if n.is_multiple_of(10) { 1 << 20 } else { 6000 })
}

fn publish(store: &FsTaskStore, n: u64) -> ContentId {
    let attempt = store.begin(&draft(n)).unwrap();
    let mut writer = attempt.stage(Role::Stdout).unwrap();
    writer.write_all(&output(n)).unwrap();
    let artifacts = TaskArtifacts { stdout: Some(writer.finish().unwrap()), ..TaskArtifacts::default() };
    store.publish(attempt, &TaskRecord { artifacts, ..record(n) }).unwrap()
}

fn spawn(records: &Path, role: &str, first: u64) -> Child {
    let mut command = Command::new(std::env::current_exe().unwrap());
    command.args(["--exact", "child", "--nocapture"]).stdout(Stdio::piped());
    command.env(RECORDS, records).env(ROLE, role).env(FIRST, first.to_string()).spawn().unwrap()
}

/// What a writer said: the digests of what it published, and whether it said that it pruned it.
fn told(child: &mut Child) -> BTreeMap<u64, (String, bool)> {
    let mut all = BTreeMap::new();
    for line in BufReader::new(child.stdout.take().unwrap()).lines().map_while(Result::ok) {
        let Some((_, words)) = line.rsplit_once("told ") else { continue };
        match words.split(' ').collect::<Vec<_>>()[..] {
            ["published", n, digest] => drop(all.insert(n.parse().unwrap(), (digest.to_owned(), false))),
            ["pruned", n] => all.get_mut(&n.parse().unwrap()).unwrap().1 = true,
            _ => {}
        }
    }
    all
}

fn assert_kept(records: &Path, kept: &BTreeMap<u64, (String, bool)>) {
    let store = FsTaskStore::create(records).unwrap();
    for attempt in store.abandoned().unwrap() {
        attempt.discard().unwrap();
    }
    let found = store.verify(Thoroughness::Full, &|_| {}).unwrap();
    assert_eq!((found.defects.as_slice(), found.untold), (&[][..], 0));
    let listed: BTreeMap<String, ()> =
        store.list().unwrap().map(|entry| (entry.unwrap().record.to_hex(), ())).collect();
    for (n, (digest, is_pruned)) in kept {
        if *is_pruned {
            assert!(!listed.contains_key(digest), "task {n} was pruned");
        } else if listed.contains_key(digest) {
            let id: ContentId = format!("b3:{digest}").parse().unwrap();
            let stdout = store.load(&id).unwrap().expect("it is listed").artifacts.stdout.unwrap();
            let mut bytes = Vec::new();
            store.open(&stdout.id).unwrap().expect("it is referred to").read_to_end(&mut bytes).unwrap();
            assert!(bytes == output(*n), "task {n} reads otherwise");
        } else {
            // The prune may be durable without having been told.
            assert!(n % 3 != 0, "task {n} was acknowledged and is lost");
        }
    }
}

#[test]
fn whoever_is_killed_nothing_that_was_acknowledged_is_lost() {
    let kills = std::env::var(KILLS).map_or(FEW, |kills| kills.parse().unwrap());
    let records = tempfile::tempdir().unwrap();
    let mut kept = BTreeMap::new();
    for round in 0..kills / 2 {
        let mut writer = spawn(records.path(), "write", round * 10_000);
        let mut upkeep = spawn(records.path(), "keep up", 0);
        // Killed at another moment each time: between a few milliseconds and a quarter of a second.
        std::thread::sleep(Duration::from_micros(3_000 + (round * 7_919) % 250_000));
        let first_to_go = if round % 2 == 0 { &mut upkeep } else { &mut writer };
        first_to_go.kill().unwrap();
        std::thread::sleep(Duration::from_micros((round * 1_237) % 20_000));
        upkeep.kill().unwrap();
        writer.kill().unwrap();
        kept.extend(told(&mut writer));
        upkeep.wait().unwrap();
        writer.wait().unwrap();
        if round % 4 == 3 || round + 1 == kills / 2 {
            assert_kept(records.path(), &kept);
        }
    }
    assert!(kept.len() as u64 > kills / 4, "{} were published", kept.len());
    let store = FsTaskStore::create(records.path()).unwrap();
    store.sweep(&|_| {}).unwrap();
    store.compact(Scope::All, &|_| {}).unwrap();
    assert_kept(records.path(), &kept);
    let left = std::fs::read_dir(records.path().join("store/cache")).unwrap();
    assert_eq!(left.filter(|e| e.as_ref().unwrap().file_name().to_str().unwrap().starts_with("compact-")).count(), 0);
}
