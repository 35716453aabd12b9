//! Figures of a store with many records. `cargo test -p isobox-store --test scale -- --ignored --nocapture`

use isobox_domain::record::{TaskArtifacts, TaskRecord};
use isobox_ports::contract::sample::{draft, noise, record};
use isobox_ports::{Attempts, RecordLog, Role};
use isobox_store::FsTaskStore;
use std::io::Write;
use std::path::Path;
use std::time::Instant;

const TASKS: u64 = 10_000;

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
    let ((), all_ms) = timed(|| (0..TASKS).for_each(|n| publish(&store, n)));
    let ((), fresh_ms) = timed(|| publish(&FsTaskStore::create(records.path()).unwrap(), TASKS));
    let (_, newest_ms) = timed(|| open(records.path()).list().unwrap().next().unwrap().unwrap());
    let (count, list_ms) = timed(|| open(records.path()).list().unwrap().count());
    println!("publish 10,000: {all_ms} ms; one by a fresh process: {fresh_ms} ms");
    println!("the newest record of a fresh process: {newest_ms} ms; all: {list_ms} ms");
    assert_eq!(count as u64, TASKS + 1);
}
