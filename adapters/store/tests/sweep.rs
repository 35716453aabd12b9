//! Sweeping beside others, beside damage, and after a kill.

mod support;

use isobox_domain::change::{After, Change, ChangeLine, Mode};
use isobox_domain::compaction::Scope;
use isobox_domain::content::ContentId;
use isobox_domain::record::{TaskArtifacts, TaskRecord};
use isobox_domain::repo_path::RepoPath;
use isobox_domain::verification::Thoroughness;
use isobox_ports::contract::sample::{draft, noise, pruned, record};
use isobox_ports::{Attempts, Collector, Compactor, Measurer, ObjectStore, RecordLog, StoreErrorKind, Verifier};
use isobox_store::FsTaskStore;
use std::fs::{self, File};
use std::io::Read;
use std::path::{Path, PathBuf};
use support::{Busy, publish_stdout};

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
    let ids: Vec<_> = (0..50).map(|n| publish_stdout(&store, n, &noise(n, 20_000))).collect();
    for is_compacted in [false, true] {
        if is_compacted {
            store.compact(Scope::All, &|_| {}).unwrap();
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
    let (first, second) = (publish_stdout(&store, 1, &noise(1, 3000)), publish_stdout(&store, 2, &noise(2, 3000)));
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
    let path = records.path();
    // All of them write one of few outputs, so that what one pruned is what the next one counts as stored.
    let output = |n: u64| noise(n % 5, 4000);
    let write = &|writer: u64| {
        let store = open(path);
        let mut kept = Vec::new();
        for n in (0..40).map(|n| writer * 1000 + n) {
            let id = publish_stdout(&store, n, &output(n));
            match n % 3 {
                0 => kept.push((n, id)),
                _ => prune(&store, n, id),
            }
        }
        kept
    };
    let sweep: Busy<'_> = &|store| drop(store.sweep(&|_| {}).unwrap());
    let kept: Vec<(u64, ContentId)> = support::beside(path, &[sweep], || {
        std::thread::scope(|scope| {
            let writers: Vec<_> = (0..3).map(|writer| scope.spawn(move || write(writer))).collect();
            writers.into_iter().flat_map(|writer| writer.join().unwrap()).collect()
        })
    });
    let store = open(path);
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
    let kept = publish_stdout(&store, 1, &noise(1, 1 << 20));
    let stray = records.path().join("store/large/00");
    std::fs::create_dir_all(&stray).unwrap();
    std::fs::write(stray.join("0".repeat(62)), noise(2, 5000)).unwrap();
    let swept = store.sweep(&|_| {}).unwrap();
    assert_eq!((swept.objects, swept.large_bytes), (0, 5000));
    assert_eq!(stdout(&store, &kept), Some(noise(1, 1 << 20)));
}

#[test]
fn nothing_goes_while_the_bytes_of_a_record_that_stays_are_missing() {
    let records = tempfile::tempdir().unwrap();
    let store = open(records.path());
    let first = publish_stdout(&store, 1, &noise(1, 3000));
    store.compact(Scope::All, &|_| {}).unwrap();
    // It relies on what is in the pack, and stands in a lane.
    let second = publish_stdout(&store, 2, &noise(1, 3000));
    prune(&store, 1, first);
    cut_out(&records.path().join("store/lanes/lane-00.pack"), &second);
    let store = open(records.path());
    assert_eq!(store.load(&second).unwrap(), None);
    let refused = store.sweep(&|_| {}).map_err(|error| error.kind);
    assert_eq!(refused, Err(StoreErrorKind::Damaged));
    assert_eq!(stdout(&open(records.path()), &first), Some(noise(1, 3000)));
}

/// Takes the entry of `id` out of a pack, so that nothing is damaged there and its COMMIT stays.
fn cut_out(pack: &Path, id: &ContentId) {
    let mut bytes = fs::read(pack).unwrap();
    let (at, header) = support::objects(&bytes).into_iter().find(|(_, header)| header.id == *id).unwrap();
    bytes.drain(at..at + header.entry_length() as usize);
    fs::write(pack, bytes).unwrap();
}

/// The one sealed pack.
fn sealed(records: &Path) -> PathBuf {
    let mut packs = support::packs(records).into_iter().filter(|pack| pack.parent().unwrap().ends_with("packs"));
    packs.next().unwrap()
}

#[test]
fn no_large_file_goes_while_a_pack_that_may_refer_to_it_is_lost() {
    let records = tempfile::tempdir().unwrap();
    let store = open(records.path());
    let id = publish_stdout(&store, 1, &noise(1, 1 << 20));
    store.compact(Scope::All, &|_| {}).unwrap();
    publish_stdout(&store, 2, b"in a lane that goes on");
    let lost = sealed(records.path());
    let aside = records.path().join("aside");
    fs::rename(&lost, &aside).unwrap();
    let swept = open(records.path()).sweep(&|_| {}).unwrap();
    assert_eq!(swept.large_bytes, 0);
    fs::rename(&aside, &lost).unwrap();
    assert_eq!(stdout(&open(records.path()), &id), Some(noise(1, 1 << 20)));
}

/// Publishes the n-th record, which changed one file, and made it that long.
fn publish_change(store: &FsTaskStore, n: u64, content: &[u8]) -> ContentId {
    let attempt = store.begin(&draft(n)).unwrap();
    let mut sink = attempt.capture_sink().unwrap();
    let content = sink.content(&mut &*content).unwrap();
    let after = Some(After { mode: Mode::File, content, binary: true });
    let path = RepoPath::parse("large").unwrap();
    let change = Change { path, before: None, after, renamed_from: None, submodule: None };
    sink.line(ChangeLine::Change(change)).unwrap();
    let artifacts = TaskArtifacts { change_set: sink.finish().unwrap().change_set, ..TaskArtifacts::default() };
    store.publish(attempt, &TaskRecord { artifacts, ..record(n) }).unwrap()
}

#[test]
fn a_pruned_record_that_is_needed_to_find_a_large_file_again_keeps_all_that_leads_there() {
    let records = tempfile::tempdir().unwrap();
    let store = open(records.path());
    let large = noise(1, 1 << 20);
    let held = |lane: &str| {
        let lock = File::create(records.path().join("store/locks").join(lane)).unwrap();
        lock.lock().unwrap();
        lock
    };
    let first = publish_change(&store, 1, &large);
    // What stands in a lane that is not sealed does not count as stored for another.
    let busy = held("lane-00");
    let second = publish_stdout(&store, 2, &large);
    drop(busy);
    prune(&store, 1, first);
    prune(&store, 2, second);
    let busy = held("lane-01");
    let swept = store.sweep(&|_| {}).unwrap();
    assert_eq!((swept.records, swept.objects, swept.large_bytes), (0, 0, 0));
    let change_set = store.load(&first).unwrap().expect("it stays").artifacts.change_set.unwrap();
    assert_eq!(store.changes(&change_set).unwrap().map(Result::unwrap).count(), 1);
    drop(busy);
    let swept = store.sweep(&|_| {}).unwrap();
    assert!(swept.records == 2 && swept.large_bytes > 0, "{swept:?}");
    assert_eq!((store.load(&first).unwrap(), store.load(&second).unwrap()), (None, None));
}

#[test]
fn what_is_in_a_pack_that_stays_is_not_counted_as_gone() {
    let records = tempfile::tempdir().unwrap();
    let store = open(records.path());
    let first = publish_stdout(&store, 1, &noise(1, 3000));
    store.compact(Scope::All, &|_| {}).unwrap();
    let pack = sealed(records.path());
    // A pack that is not what it is named after cannot be written anew.
    let misnamed = pack.with_file_name(format!("{}.pack", "07".repeat(32)));
    fs::rename(&pack, &misnamed).unwrap();
    let store = open(records.path());
    let second = publish_stdout(&store, 2, &noise(2, 3000));
    prune(&store, 1, first);
    prune(&store, 2, second);
    for gone in [(1, 2), (0, 0)] {
        let swept = store.sweep(&|_| {}).unwrap();
        assert_eq!((swept.records, swept.objects, swept.passed_by.len()), (gone.0, gone.1, 1));
    }
    assert_eq!(stdout(&store, &first), Some(noise(1, 3000)));
}

#[test]
fn a_measurement_counts_as_pruned_what_a_sweep_removes() {
    let records = tempfile::tempdir().unwrap();
    let store = open(records.path());
    let ids: Vec<_> = (0..6).map(|n| publish_stdout(&store, n, &noise(n, 3000))).collect();
    (0..5).for_each(|n| prune(&store, n, ids[n as usize]));
    let counted = store.measure(&|_| {}).unwrap().unreferenced.pruned.count;
    let swept = store.sweep(&|_| {}).unwrap();
    assert_eq!((counted, swept.objects), (10, 10));
    assert_eq!(store.measure(&|_| {}).unwrap().unreferenced.pruned.count, 0);
}
