//! Figures of a store with many records. `cargo test --release -p isobox-store --test scale -- --ignored --nocapture`

#[path = "support/signer.rs"]
mod signer;
mod support;
#[path = "support/synthetic.rs"]
mod synthetic;

use isobox_domain::record::{TaskArtifacts, TaskRecord};
use isobox_ports::contract::sample::{draft, noise, record};
use isobox_ports::{Attempts, Gaps, LogUpdates, ObjectStore, RecordLog, Role, TransparencyLog};
use isobox_store::FsTaskStore;
use signer::TestSigner;
use std::io::Write;
use std::path::Path;
use std::process::Command;
use std::time::Instant;
use synthetic::Synthesis;

const TASKS: u64 = 10_000;
/// 64 MiB in KiB, the peak that every process of isobox stays under.
const MOST_KIB: u64 = 64 * 1024;
const RECORDS: &str = "ISOBOX_TEST_RECORDS";
const LOGGED: &str = "ISOBOX_TEST_LOGGED";

fn publish(store: &FsTaskStore, n: u64) {
    let attempt = store.begin(&draft(n)).unwrap();
    let mut writer = attempt.stage(Role::Stdout).unwrap();
    writer.write_all(&noise(n, 8_000)).unwrap();
    let artifacts = TaskArtifacts { stdout: Some(writer.finish().unwrap()), ..TaskArtifacts::default() };
    store.publish(attempt, &TaskRecord { artifacts, ..record(n) }).unwrap();
}

/// What `work` returns, and how long it took in milliseconds.
fn timed<T>(work: impl FnOnce() -> T) -> (T, u128) {
    let start = Instant::now();
    let result = work();
    (result, start.elapsed().as_millis())
}

fn open(records: &Path) -> FsTaskStore {
    FsTaskStore::open(records).unwrap().unwrap()
}

#[test]
#[ignore = "takes a minute; prints figures"]
fn ten_thousand_records() {
    let records = tempfile::tempdir().unwrap();
    let store = FsTaskStore::create(records.path()).unwrap();
    for start in (0..TASKS).step_by(2_000) {
        let ((), ms) = timed(|| (start..start + 2_000).for_each(|n| publish(&store, n)));
        println!("publish 2,000 after {start}: {ms} ms");
    }
    let ((), fresh_ms) = timed(|| publish(&FsTaskStore::create(records.path()).unwrap(), TASKS));
    let (_, newest_ms) = timed(|| open(records.path()).list().unwrap().next().unwrap().unwrap());
    let (count, list_ms) = timed(|| open(records.path()).list().unwrap().count());
    println!("one by a fresh process: {fresh_ms} ms");
    println!("the newest record of a fresh process: {newest_ms} ms; all: {list_ms} ms");
    assert_eq!(count as u64, TASKS + 1);
}

/// What a process does whose memory is measured. No test of its own.
#[test]
fn child() {
    let Ok(records) = std::env::var(RECORDS) else { return };
    let records = Path::new(&records);
    let (store, open_ms) = timed(|| FsTaskStore::create(records).unwrap());
    let ((), newest_ms) = timed(|| {
        for entry in store.list().unwrap().take(50) {
            store.load(&entry.unwrap().record).unwrap().unwrap();
        }
    });
    let newest_kib = peak_kib();
    let ((), publish_ms) = timed(|| publish(&store, 1 << 40));
    let (count, all_ms) = timed(|| store.list().unwrap().count());
    let (_, miss_ms) = timed(|| assert!(store.open(&record_id(7)).unwrap().is_none()));
    let descriptors = std::fs::read_dir("/proc/self/fd").unwrap().count();
    println!("open {open_ms} ms, newest 50 {newest_ms} ms ({newest_kib} KiB), publish {publish_ms} ms");
    println!("all {count} {all_ms} ms, a miss {miss_ms} ms, {descriptors} descriptors");
    println!("peak: {} KiB", peak_kib());
}

/// What a process does whose memory is measured while it logs. No test of its own.
#[test]
fn logging_child() {
    let Ok(records) = std::env::var(LOGGED) else { return };
    let store = open(Path::new(&records));
    let signer = TestSigner::new(1);
    let (all, all_ms) = timed(|| store.extend(&signer, Gaps::Stop).unwrap());
    publish(&store, 1 << 40);
    let (one, one_ms) = timed(|| open(Path::new(&records)).extend(&signer, Gaps::Stop).unwrap());
    let first = store.list().unwrap().last().unwrap().unwrap();
    let (_, find_ms) = timed(|| store.find(&one.head, &first.record).unwrap().unwrap());
    let (compared, compare_ms) = timed(|| store.compare(&one.head, &|_| {}).unwrap());
    assert_eq!((one.added, compared.leaves, compared.defects.len()), (1, all.added + 1, 0));
    println!(
        "log {} {all_ms} ms, one more {one_ms} ms, prove the oldest {find_ms} ms, compare {compare_ms} ms",
        all.added
    );
    println!("peak: {} KiB", peak_kib());
}

#[test]
#[ignore = "takes minutes; prints figures"]
fn memory_does_not_grow_with_what_is_logged() {
    let records = tempfile::tempdir().unwrap();
    FsTaskStore::create(records.path()).unwrap();
    let mut synthesis = Synthesis::new(records.path());
    (0..50).for_each(|pack| synthesis.pack(pack * 20_000..(pack + 1) * 20_000, 0));
    let peak = measured("logging_child", LOGGED, records.path());
    assert!(peak < MOST_KIB, "{peak} KiB");
}

fn record_id(n: u8) -> isobox_domain::content::ContentId {
    isobox_domain::content::ContentId::new([n; 32])
}

fn peak_kib() -> u64 {
    let status = std::fs::read_to_string("/proc/self/status").unwrap();
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:")).unwrap();
    line.trim().trim_end_matches(" kB").parse().unwrap()
}

/// Runs a child at `records`: the peak of its memory in KiB.
#[allow(clippy::print_stdout, reason = "it shows the figures that the child prints")]
fn measured(child: &str, variable: &str, records: &Path) -> u64 {
    let mut command = Command::new(std::env::current_exe().unwrap());
    let output = command.args(["--exact", child, "--nocapture"]).env(variable, records).output().unwrap();
    let printed = String::from_utf8(output.stdout).unwrap();
    assert!(output.status.success(), "{printed}{}", String::from_utf8_lossy(&output.stderr));
    let shown = printed.lines().filter(|line| line.contains(" ms") || line.contains("peak"));
    shown.for_each(|line| println!("  {line}"));
    let peak = printed.lines().find_map(|line| line.split_once("peak: ")).unwrap().1;
    peak.trim_end_matches(" KiB").parse().unwrap()
}

#[test]
#[ignore = "takes a minute; prints figures"]
fn memory_does_not_grow_with_records_packs_and_files() {
    for (packs, tasks, files) in [(10, 20_000, 0), (800, 250, 0), (4, 1, 130_000)] {
        let records = tempfile::tempdir().unwrap();
        FsTaskStore::create(records.path()).unwrap();
        let mut synthesis = Synthesis::new(records.path());
        (0..packs).for_each(|pack| synthesis.pack(pack * tasks..(pack + 1) * tasks, files));
        println!("{packs} packs of {tasks} records with {files} files each");
        for state in ["without tables", "with tables"] {
            println!(" {state}");
            let peak = measured("child", RECORDS, records.path());
            assert!(peak < MOST_KIB, "{peak} KiB {state}");
        }
    }
}
