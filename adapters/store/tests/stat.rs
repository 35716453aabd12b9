//! What a measurement counts, against the bytes that are there.

mod support;

use isobox_domain::change::{After, Change, ChangeLine, Mode};
use isobox_domain::compaction::Scope;
use isobox_domain::measurement::{Amount, ContentKind, Measurement};
use isobox_domain::record::{TaskArtifacts, TaskRecord};
use isobox_domain::repo_path::RepoPath;
use isobox_ports::contract::sample::{draft, noise, pruned, record, rejected};
use isobox_ports::{Attempts, Collector, Compactor, Measurer, RecordLog, Role};
use isobox_store::FsTaskStore;
use isobox_store_format::entry::EntryKind;
use isobox_store_format::frame::Compressor;
use std::fs::{self, OpenOptions};
use std::io::Write;
use std::path::Path;
use tempfile::TempDir;

/// Publishes the n-th record with an output of so many bytes, and three changed files of which two are alike.
fn publish(store: &FsTaskStore, n: u64, length: usize) {
    let attempt = store.begin(&draft(n)).unwrap();
    let mut stdout = attempt.stage(Role::Stdout).unwrap();
    stdout.write_all(&noise(n, length)).unwrap();
    let mut sink = attempt.capture_sink().unwrap();
    for (path, seed) in [("a", 0), ("b", 0), ("c", 1)] {
        let content = sink.content(&mut noise(1000 + 2 * n + seed, 300).as_slice()).unwrap();
        let after = Some(After { mode: Mode::File, content, binary: true });
        let path = RepoPath::parse(path).unwrap();
        sink.line(ChangeLine::Change(Change { path, before: None, after, renamed_from: None, submodule: None }))
            .unwrap();
    }
    sink.patch().write_all(b"diff").unwrap();
    let captured = sink.finish().unwrap();
    let artifacts = TaskArtifacts {
        stdout: Some(stdout.finish().unwrap()),
        change_set: captured.change_set,
        patch: captured.patch,
        ..TaskArtifacts::default()
    };
    store.publish(attempt, &TaskRecord { artifacts, ..record(n) }).unwrap();
}

/// A store with three records, one with a large output, and an event.
fn store() -> TempDir {
    let records = tempfile::tempdir().unwrap();
    let store = FsTaskStore::create(records.path()).unwrap();
    publish(&store, 1, 500);
    publish(&store, 2, 1 << 20);
    publish(&store, 3, 500);
    let subject = store.list().unwrap().next().unwrap().unwrap().record;
    store.append(&rejected(3, subject, None)).unwrap();
    records
}

fn measure(records: &Path) -> Measurement {
    FsTaskStore::open(records).unwrap().unwrap().measure(&|_| {}).unwrap()
}

/// Every byte of lanes and packs is content, the header of an entry, or of no use.
fn assert_all_bytes_are_told(found: &Measurement) {
    let content = found.total().stored_bytes - found.of(ContentKind::Large).stored_bytes;
    let none = &found.unreferenced;
    let useless = none.abandoned.stored_bytes + none.damaged_bytes + none.pruned.stored_bytes;
    assert_eq!(content + found.header_bytes + useless, found.files.lanes.bytes + found.files.packs.bytes, "{found:#?}");
}

fn seal(records: &Path) {
    let lane = records.join("store/lanes/lane-00.pack");
    let id = blake3::hash(&fs::read(&lane).unwrap()).to_hex();
    fs::rename(lane, records.join(format!("store/packs/{id}.pack"))).unwrap();
}

#[test]
fn everything_is_told_by_its_kind_in_lanes_and_in_sealed_packs() {
    let records = store();
    let open = measure(records.path());
    seal(records.path());
    let sealed = measure(records.path());
    for found in [&open, &sealed] {
        assert_all_bytes_are_told(found);
        let counts = ContentKind::ALL.map(|kind| found.of(kind).count);
        // Each Change Set is an index and a chunk; a policy is kept twice; one patch and one large output are of all.
        assert_eq!(counts, [3, 1, 2, 2, 1, 6, 6, 0, 0, 1, 4]);
        assert_eq!(found.of(ContentKind::File).raw_bytes, 6 * 300);
        assert_eq!(found.of(ContentKind::Large).raw_bytes, 1 << 20);
        // A policy, an output, a Change Set of two parts, a patch and three files each.
        assert_eq!(found.referred.count, 3 * 8);
        assert_eq!(found.unreferenced.duplicates.count, 1, "the second copy of the policy");
        assert_eq!((found.unreferenced.abandoned, found.unreferenced.large), Default::default());
        assert_eq!(found.unread_change_sets, 0);
    }
    assert_eq!((open.files.lanes.count, open.files.packs.count), (1, 0));
    assert_eq!((sealed.files.lanes.count, sealed.files.packs.count, sealed.files.tables.count), (0, 1, 1));
    assert_eq!((open.total(), open.referred), (sealed.total(), sealed.referred));
}

#[test]
fn every_inode_is_counted() {
    fn count(directory: &Path) -> u64 {
        let entries = fs::read_dir(directory).unwrap().map(|entry| entry.unwrap().path());
        1 + entries.map(|path| if path.is_dir() { count(&path) } else { 1 }).sum::<u64>()
    }
    let records = store();
    assert_eq!(measure(records.path()).files.inodes(), count(&records.path().join("store")));
}

#[test]
fn what_a_killed_writer_left_is_of_no_use() {
    let records = store();
    let before = measure(records.path());
    let (header, stored) = Compressor::new().unwrap().entry(EntryKind::Artifact, &noise(9, 700)).unwrap();
    let mut lane = OpenOptions::new().append(true).open(records.path().join("store/lanes/lane-00.pack")).unwrap();
    lane.write_all(&header.encode()).unwrap();
    lane.write_all(&stored).unwrap();
    let folder = records.path().join("store/large").join("00");
    fs::create_dir_all(&folder).unwrap();
    fs::write(folder.join("0".repeat(62)), noise(1, 5000)).unwrap();
    let found = measure(records.path());
    assert_all_bytes_are_told(&found);
    assert_eq!(found.unreferenced.abandoned.stored_bytes, header.entry_length());
    assert_eq!(found.unreferenced.large, Amount { count: 1, raw_bytes: 5000, stored_bytes: 5000 });
    assert_eq!((found.total(), found.referred), (before.total(), before.referred));
    seal(records.path());
    assert_eq!(measure(records.path()).unreferenced.abandoned.count, 1);
}

#[test]
fn copies_are_of_no_use() {
    let records = store();
    let before = measure(records.path());
    let lanes = records.path().join("store/lanes");
    fs::copy(lanes.join("lane-00.pack"), lanes.join("lane-01.pack")).unwrap();
    let found = measure(records.path());
    assert_all_bytes_are_told(&found);
    let pieces = before.total().count - before.of(ContentKind::Commit).count - before.of(ContentKind::Large).count;
    assert_eq!(found.unreferenced.duplicates.count, pieces + 1);
}

#[test]
fn damage_is_told_and_hides_nothing_else() {
    let records = store();
    let before = measure(records.path());
    let lane = records.path().join("store/lanes/lane-00.pack");
    let (at, _) = support::entries(&fs::read(&lane).unwrap())[3];
    support::flip(&lane, at + 5);
    let found = measure(records.path());
    assert_all_bytes_are_told(&found);
    assert!(found.unreferenced.damaged_bytes > 0);
    assert_eq!(found.of(ContentKind::Record), before.of(ContentKind::Record));
}

#[test]
fn members_of_blocks_count_as_what_they_are_with_their_share_of_the_block() {
    let records = store();
    let before = measure(records.path());
    FsTaskStore::create(records.path()).unwrap().compact(Scope::All, &|_| {}).unwrap();
    let found = measure(records.path());
    assert_all_bytes_are_told(&found);
    assert_eq!(found.files.packs.count, 1);
    for kind in ContentKind::ALL {
        let (before, after) = (before.of(kind), found.of(kind));
        assert_eq!((before.count, before.raw_bytes), (after.count, after.raw_bytes), "{}", kind.name());
        assert!(after.stored_bytes > 0 || after.count == 0, "{}", kind.name());
    }
    assert_eq!((found.referred, found.unread_change_sets), (before.referred, 0));
    assert_eq!(found.unreferenced.duplicates.count, 1, "the second copy of the policy");
    assert_eq!((found.unreferenced.abandoned, found.unreferenced.large), Default::default());
    assert_eq!(found.unreferenced.duplicates.raw_bytes, before.unreferenced.duplicates.raw_bytes);
}

#[test]
fn what_only_pruned_records_refer_to_is_of_no_use_until_it_is_swept() {
    let records = store();
    let store = FsTaskStore::create(records.path()).unwrap();
    let before = measure(records.path());
    // The second of the three has the large output.
    let entry = store.list().unwrap().map(Result::unwrap).nth(1).unwrap();
    store.append(&pruned(2, entry.record, None)).unwrap();
    for is_compacted in [false, true] {
        if is_compacted {
            store.compact(Scope::All, &|_| {}).unwrap();
        }
        let found = measure(records.path());
        assert_all_but_large_are_told(&found);
        let kinds = [ContentKind::Record, ContentKind::Event, ContentKind::ChangeSet, ContentKind::File];
        assert_eq!(kinds.map(|kind| found.of(kind).count), [2, 2, 4, 4]);
        assert_eq!((found.of(ContentKind::Large).count, found.pruned_records), (0, 1));
        // The record, its output, an index and a chunk, and two files.
        assert_eq!(found.unreferenced.pruned.count, 6);
        assert!(found.unreferenced.pruned.raw_bytes > 1 << 20);
        assert_eq!(found.referred.count, before.referred.count - 8);
    }
    store.sweep(&|_| {}).unwrap();
    let swept = measure(records.path());
    assert_all_bytes_are_told(&swept);
    assert_eq!((swept.unreferenced.pruned.count, swept.pruned_records, swept.unread_change_sets), (0, 1, 0));
    assert_eq!((swept.of(ContentKind::Record).count, swept.of(ContentKind::Commit).count), (2, 5));
}

/// As above, where a large artifact is among what is of no use.
fn assert_all_but_large_are_told(found: &Measurement) {
    let mut found = *found;
    found.unreferenced.pruned.stored_bytes -= found.files.large.bytes;
    assert_all_bytes_are_told(&found);
}
