//! Sweeping beside others, beside damage, and after a kill.

mod support;

use isobox_domain::content::ContentId;
use isobox_domain::record::{TaskArtifacts, TaskRecord};
use isobox_domain::verification::Thoroughness;
use isobox_ports::contract::sample::{draft, noise, pruned, record};
use isobox_ports::{Attempts, Collector, Compactor, ObjectStore, RecordLog, Role, StoreErrorKind, Verifier};
use isobox_store::FsTaskStore;
use std::io::{Read, Write};
use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};

fn publish(store: &FsTaskStore, n: u64, stdout: &[u8]) -> ContentId {
    let attempt = store.begin(&draft(n)).unwrap();
    let mut writer = attempt.stage(Role::Stdout).unwrap();
    writer.write_all(stdout).unwrap();
    let artifacts = TaskArtifacts { stdout: Some(writer.finish().unwrap()), ..TaskArtifacts::default() };
    store.publish(attempt, &TaskRecord { artifacts, ..record(n) }).unwrap()
}

fn prune(store: &FsTaskStore, n: u64, id: ContentId) {
    store.append(&pruned(n, id, None)).unwrap();
}

fn stdout(store: &FsTaskStore, id: &ContentId) -> Option<Vec<u8>> {
    let record = store.load(id).unwrap()?;
    let mut bytes = Vec::new();
    store.open(&record.artifacts.stdout.unwrap().id).unwrap()?.read_to_end(&mut bytes).unwrap();
    Some(bytes)
}

fn open(records: &Path) -> FsTaskStore {
    FsTaskStore::create(records).unwrap()
}

fn stored_bytes(records: &Path) -> u64 {
    support::packs(records).iter().map(|pack| std::fs::metadata(pack).unwrap().len()).sum()
}

#[test]
fn the_room_of_what_was_pruned_is_given_back_and_the_store_verifies() {
    let records = tempfile::tempdir().unwrap();
    let store = open(records.path());
    let ids: Vec<_> = (0..50).map(|n| publish(&store, n, &noise(n, 20_000))).collect();
    for is_compacted in [false, true] {
        if is_compacted {
            store.compact(isobox_domain::compaction::Scope::All, &|_| {}).unwrap();
        }
        let before = stored_bytes(records.path());
        let half = if is_compacted { 20..40 } else { 0..20 };
        half.clone().for_each(|n| prune(&store, n, ids[n as usize]));
        let swept = store.sweep(&|_| {}).unwrap();
        assert_eq!((swept.records, swept.objects), (20, 40));
        let after = stored_bytes(records.path());
        assert!(after + 19 * 20_000 < before, "{before} bytes became {after}");
        let found = open(records.path()).verify(Thoroughness::Deep, &|_| {}).unwrap();
        assert_eq!(found.defects, []);
    }
    for (n, id) in ids.iter().enumerate().skip(40) {
        assert_eq!(stdout(&store, id), Some(noise(n as u64, 20_000)));
    }
}

#[test]
fn nothing_goes_while_a_record_that_stays_is_damaged() {
    let records = tempfile::tempdir().unwrap();
    let store = open(records.path());
    let (first, second) = (publish(&store, 1, &noise(1, 3000)), publish(&store, 2, &noise(2, 3000)));
    prune(&store, 1, first);
    support::damage(records.path(), &second);
    let store = open(records.path());
    let refused = store.sweep(&|_| {}).unwrap_err();
    assert_eq!(refused.kind, StoreErrorKind::Damaged);
    assert_eq!(stdout(&store, &first), Some(noise(1, 3000)));
}

#[test]
fn writers_that_need_again_what_is_pruned_never_lose_it() {
    let records = tempfile::tempdir().unwrap();
    let (path, is_over) = (records.path(), AtomicBool::new(false));
    // All of them write one of few outputs, so that what one pruned is what the next one counts as stored.
    let output = |n: u64| noise(n % 5, 4000);
    let kept: Vec<(u64, ContentId)> = std::thread::scope(|scope| {
        let writers: Vec<_> = (0..3u64)
            .map(|writer| {
                scope.spawn(move || {
                    let store = open(path);
                    let mut kept = Vec::new();
                    for n in (0..40).map(|n| writer * 1000 + n) {
                        let id = publish(&store, n, &output(n));
                        match n % 3 {
                            0 => kept.push((n, id)),
                            _ => prune(&store, n, id),
                        }
                    }
                    kept
                })
            })
            .collect();
        scope.spawn(|| {
            let store = open(records.path());
            while !is_over.load(Ordering::Relaxed) {
                store.sweep(&|_| {}).unwrap();
            }
        });
        let kept = writers.into_iter().flat_map(|writer| writer.join().unwrap()).collect();
        is_over.store(true, Ordering::Relaxed);
        kept
    });
    let store = open(records.path());
    store.sweep(&|_| {}).unwrap();
    for (n, id) in kept {
        assert_eq!(stdout(&store, &id), Some(output(n)), "task {n}");
    }
    assert_eq!(store.verify(Thoroughness::Deep, &|_| {}).unwrap().defects, []);
}

#[test]
fn large_files_that_nothing_refers_to_go_with_a_sweep() {
    let records = tempfile::tempdir().unwrap();
    let store = open(records.path());
    let kept = publish(&store, 1, &noise(1, 1 << 20));
    let stray = records.path().join("store/large/00");
    std::fs::create_dir_all(&stray).unwrap();
    std::fs::write(stray.join("0".repeat(62)), noise(2, 5000)).unwrap();
    let swept = store.sweep(&|_| {}).unwrap();
    assert_eq!((swept.objects, swept.large_bytes), (0, 5000));
    assert_eq!(stdout(&store, &kept), Some(noise(1, 1 << 20)));
}
