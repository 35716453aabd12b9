//! Compaction: what it saves, what damage costs afterwards, and that nothing ends it halfway.

mod support;

use isobox_domain::compaction::Scope;
use isobox_domain::content::{ContentId, ContentRef};
use isobox_domain::listing::Direction;
use isobox_domain::measurement::ContentKind;
use isobox_domain::record::{TaskArtifacts, TaskRecord};
use isobox_domain::verification::{DefectKind, Thoroughness};
use isobox_ports::contract::sample::{draft, noise, record};
use isobox_ports::{Attempts, Compactor, Listings, Measurer, ObjectStore, RecordLog, Role, StoreErrorKind, Verifier};
use isobox_store::FsTaskStore;
use isobox_store_format::entry::{EntryKind, HEADER_LEN};
use std::collections::BTreeSet;
use std::fs;
use std::io::{Read, Write};
use std::path::{Path, PathBuf};
use support::Busy;
use tempfile::TempDir;

fn new_store() -> (TempDir, FsTaskStore) {
    let records = tempfile::tempdir().unwrap();
    let store = FsTaskStore::create(records.path()).unwrap();
    (records, store)
}

/// An output with much in it that others have too, as logs of builds are.
fn log(n: u64) -> Vec<u8> {
    let shared = (0..30).flat_map(|line| noise(line, 64));
    n.to_le_bytes().into_iter().chain(shared).collect()
}

fn publish(store: &FsTaskStore, n: u64, stdout: &[u8]) -> (ContentId, ContentRef) {
    let attempt = store.begin(&draft(n)).unwrap();
    let mut writer = attempt.stage(Role::Stdout).unwrap();
    writer.write_all(stdout).unwrap();
    let stdout = writer.finish().unwrap();
    let artifacts = TaskArtifacts { stdout: Some(stdout), ..TaskArtifacts::default() };
    (store.publish(attempt, &TaskRecord { artifacts, ..record(n) }).unwrap(), stdout)
}

fn compact(store: &FsTaskStore) -> isobox_domain::compaction::Compaction {
    store.compact(Scope::All, &|_| {}).unwrap()
}

fn stored_bytes(records: &Path) -> u64 {
    support::packs(records).iter().map(|pack| fs::metadata(pack).unwrap().len()).sum()
}

fn assert_sound(records: &Path) {
    let store = FsTaskStore::open(records).unwrap().unwrap();
    let found = store.verify(Thoroughness::Deep, &|_| {}).unwrap();
    assert_eq!((found.defects.as_slice(), found.untold), (&[][..], 0));
}

fn listed(store: &FsTaskStore) -> BTreeSet<ContentId> {
    store.list().unwrap().map(|entry| entry.unwrap().record).collect()
}

#[test]
fn outputs_that_are_alike_take_a_fraction_of_their_room_and_the_store_one_file() {
    let (records, store) = new_store();
    for n in 0..300 {
        publish(&store, n, &log(n));
    }
    let before = stored_bytes(records.path());
    let done = compact(&store);
    let after = stored_bytes(records.path());
    assert_eq!((done.packs_before, done.packs_after, done.bytes_before, done.bytes_after), (1, 1, before, after));
    assert!(after * 2 < before, "{before} bytes became {after}");
    let names: Vec<_> = fs::read_dir(records.path().join("store/packs")).unwrap().collect();
    assert!(names.len() <= 2, "a pack and its table: {names:?}");
    assert_sound(records.path());
}

#[test]
fn what_several_lanes_stored_once_each_is_stored_once() {
    let (records, store) = new_store();
    let shared = noise(1, 50_000);
    std::thread::scope(|scope| {
        for n in 0..4 {
            let (store, shared) = (&store, &shared);
            scope.spawn(move || {
                for m in 0..5 {
                    publish(store, n * 10 + m, shared);
                }
            });
        }
    });
    compact(&store);
    publish(&store, 100, &shared);
    compact(&store);
    assert!(stored_bytes(records.path()) < 80_000, "{}", stored_bytes(records.path()));
    assert_sound(records.path());
}

#[test]
fn a_flipped_byte_in_a_block_touches_the_records_of_that_block_and_every_one_of_them_is_named() {
    let (records, store) = new_store();
    let mut all = BTreeSet::new();
    for n in 0..40 {
        all.insert(publish(&store, n, &noise(n, 60_000)).0);
    }
    compact(&store);
    let pack = support::packs(records.path()).into_iter().find(|pack| fs::metadata(pack).unwrap().len() > 0).unwrap();
    let blocks: Vec<_> = support::entries(&fs::read(&pack).unwrap())
        .into_iter()
        .filter(|(_, header)| header.kind == EntryKind::Block)
        .collect();
    assert!(blocks.len() >= 5, "outputs of 2.4 MB, records and policies");
    let whole = fs::read(&pack).unwrap();
    for (at, header) in blocks {
        for place in [3, 40, HEADER_LEN + 2, HEADER_LEN + 9, header.entry_length() as usize - 2] {
            let mut flipped = whole.clone();
            flipped[at + place] ^= 4;
            fs::remove_file(&pack).unwrap();
            fs::write(&pack, flipped).unwrap();
            // It says what was found before.
            let table = pack.with_extension("idx");
            if table.exists() {
                fs::remove_file(table).unwrap();
            }
            let store = FsTaskStore::open(records.path()).unwrap().unwrap();
            let found = store.verify(Thoroughness::Full, &|_| {}).unwrap();
            assert!(!found.is_sound(), "byte {place} of the block at {at}");
            let named: BTreeSet<_> =
                found.defects.iter().flat_map(|defect| &defect.records).map(|who| who.record).collect();
            let lost: BTreeSet<_> = all.iter().filter(|id| !reads_whole(&store, id)).copied().collect();
            assert!(lost.is_subset(&named), "byte {place} of the block at {at}: {} of {}", named.len(), lost.len());
            assert!(lost.len() < all.len() || header.raw_length < 60_000, "one block costs its own records");
        }
    }
}

fn reads_whole(store: &FsTaskStore, id: &ContentId) -> bool {
    let Ok(Some(record)) = store.load(id) else { return false };
    let stdout = record.artifacts.stdout.unwrap();
    let Ok(Some(mut content)) = store.open(&stdout.id) else { return false };
    let mut bytes = Vec::new();
    content.read_to_end(&mut bytes).unwrap();
    bytes.len() as u64 == stdout.length
}

#[test]
fn a_policy_that_all_records_share_survives_the_loss_of_a_block() {
    let (records, store) = new_store();
    let (id, _) = publish(&store, 1, b"output");
    publish(&store, 2, b"output");
    compact(&store);
    let pack = support::packs(records.path()).into_iter().find(|pack| fs::metadata(pack).unwrap().len() > 0).unwrap();
    let first = support::entries(&fs::read(&pack).unwrap()).remove(0);
    support::flip(&pack, first.0 + first.1.entry_length() as usize - 2);
    assert!(FsTaskStore::open(records.path()).unwrap().unwrap().load(&id).unwrap().is_some());
}

#[test]
fn a_damaged_pack_stays_as_it_is_and_is_named_while_others_are_compacted() {
    let (records, store) = new_store();
    publish(&store, 1, &noise(1, 5000));
    let damaged = seal(records.path());
    publish(&store, 2, &noise(2, 5000));
    support::flip(&damaged, 1000);
    let bytes = fs::read(&damaged).unwrap();
    let store = FsTaskStore::create(records.path()).unwrap();
    let done = compact(&store);
    assert_eq!((done.packs_before, done.passed_by.len()), (1, 1), "{done:?}");
    assert!(done.passed_by[0].file.ends_with(damaged.file_name().unwrap().to_str().unwrap()));
    assert_eq!(fs::read(&damaged).unwrap(), bytes);
    assert_eq!(listed(&store).len(), 2);
}

/// Seals the first lane as a writer does; the pack.
fn seal(records: &Path) -> PathBuf {
    let lane = records.join("store/lanes/lane-00.pack");
    let id = ContentId::new(*blake3::hash(&fs::read(&lane).unwrap()).as_bytes()).to_hex();
    let pack = records.join(format!("store/packs/{id}.pack"));
    fs::rename(lane, &pack).unwrap();
    pack
}

#[test]
fn a_second_compaction_at_the_same_time_is_refused() {
    let (records, store) = new_store();
    publish(&store, 1, b"x");
    let lock = fs::File::create(records.path().join("store/locks/compact")).unwrap();
    lock.lock().unwrap();
    let refused = store.compact(Scope::Sealed, &|_| {}).unwrap_err();
    assert_eq!(refused.kind, StoreErrorKind::Locked);
    drop(lock);
    compact(&store);
}

/// A store with a hundred records.
fn hundred() -> TempDir {
    let (records, store) = new_store();
    for n in 0..100 {
        publish(&store, n, &noise(n, 2000));
    }
    records
}

/// Publishes `count` records from the n-th on, by a process of its own as it were.
fn write(records: &Path, n: u64, count: u64) {
    let store = FsTaskStore::create(records).unwrap();
    for n in (0..count).map(|of| n + of) {
        publish(&store, n, &noise(n % 10, 3000));
    }
}

#[test]
fn those_that_publish_read_list_and_verify_meanwhile_notice_nothing() {
    let records = hundred();
    let compact: Busy<'_> = &|store| drop(compact(store));
    let list: Busy<'_> = &|store| assert!(listed(store).len() >= 100);
    let read: Busy<'_> = &|store| {
        for entry in store.list().unwrap().take(20) {
            assert!(reads_whole(store, &entry.unwrap().record));
        }
    };
    let verify: Busy<'_> = &|store| {
        let found = store.verify(Thoroughness::Full, &|_| {}).unwrap();
        assert!(found.is_sound(), "{:?}", found.defects);
    };
    support::beside(records.path(), &[compact, list, read, verify], || {
        std::thread::scope(|scope| {
            for writer in 1..4 {
                let records = records.path();
                scope.spawn(move || write(records, writer * 1000, 60));
            }
        });
    });
    assert_eq!(listed(&FsTaskStore::create(records.path()).unwrap()).len(), 280);
    assert_sound(records.path());
}

#[test]
fn those_that_list_and_measure_meanwhile_find_everything_once() {
    let records = hundred();
    let compact: Busy<'_> = &|store| drop(compact(store));
    let list: Busy<'_> = &assert_lists_each_once;
    let measure: Busy<'_> = &|store| assert!(store.measure(&|_| {}).unwrap().of(ContentKind::Record).count >= 100);
    support::beside(records.path(), &[compact, list, measure], || write(records.path(), 1000, 150));
    assert_eq!(listed(&FsTaskStore::create(records.path()).unwrap()).len(), 250);
}

fn assert_lists_each_once(store: &FsTaskStore) {
    let listing = store.begin_listing().unwrap();
    let from = |direction| listing.entries(direction).map(|entry| entry.unwrap().record).collect::<Vec<_>>();
    let (mut newest, oldest) = (from(Direction::Descending), from(Direction::Ascending));
    newest.reverse();
    assert_eq!(newest, oldest);
    assert_eq!(newest.iter().collect::<BTreeSet<_>>().len(), newest.len());
    assert!(newest.len() >= 100);
}

#[test]
fn what_a_killed_compaction_leaves_is_removed_and_costs_nothing() {
    let (records, store) = new_store();
    let (id, _) = publish(&store, 1, &noise(1, 5000));
    let left = records.path().join("store/cache/compact-0123");
    fs::create_dir_all(left.parent().unwrap()).unwrap();
    fs::write(&left, "half a pack").unwrap();
    compact(&store);
    assert!(!left.exists() && reads_whole(&store, &id));
}

#[test]
fn a_pack_that_was_taken_over_already_is_not_stored_twice() {
    let (records, store) = new_store();
    publish(&store, 1, &noise(1, 50_000));
    let pack = seal(records.path());
    let bytes = fs::read(&pack).unwrap();
    compact(&store);
    // As after a kill between the new pack and the removal of the old one.
    fs::write(&pack, bytes).unwrap();
    let store = FsTaskStore::create(records.path()).unwrap();
    assert_eq!(listed(&store).len(), 1);
    publish(&store, 2, b"x");
    compact(&store);
    assert!(stored_bytes(records.path()) < 60_000);
    assert_eq!(listed(&FsTaskStore::create(records.path()).unwrap()).len(), 2);
    assert_sound(records.path());
}

#[test]
fn a_record_that_was_put_again_is_listed_once_also_after_compaction() {
    let (records, store) = new_store();
    let ids: BTreeSet<_> = (1..4).map(|n| publish(&store, n, &noise(n, 500)).0).collect();
    let (again, pack) = (publish(&store, 1, &noise(1, 500)).0, seal(records.path()));
    let whole = fs::read(&pack).unwrap();
    support::damage(records.path(), &again);
    publish(&FsTaskStore::create(records.path()).unwrap(), 1, &noise(1, 500));
    // The pack is mended.
    fs::write(&pack, whole).unwrap();
    for is_compacted in [false, true] {
        let store = FsTaskStore::create(records.path()).unwrap();
        if is_compacted {
            compact(&store);
        }
        let listing = store.begin_listing().unwrap();
        assert_eq!(listing.count(), 4, "it has two COMMITs");
        let ids_of =
            |entries: isobox_ports::Entries<'_>| entries.map(|entry| entry.unwrap().record).collect::<Vec<_>>();
        let listings =
            [store.list().unwrap(), listing.entries(Direction::Descending), listing.entries(Direction::Ascending)];
        for listed in listings.map(ids_of) {
            assert_eq!((listed.len(), listed.into_iter().collect()), (3, ids.clone()), "compacted: {is_compacted}");
        }
    }
}

#[test]
fn defects_of_one_block_are_one_defect() {
    let (records, store) = new_store();
    for n in 0..20 {
        publish(&store, n, &log(n));
    }
    compact(&store);
    let stdout = store.load(listed(&store).first().unwrap()).unwrap().unwrap().artifacts.stdout.unwrap();
    support::damage(records.path(), &stdout.id);
    let found = FsTaskStore::open(records.path()).unwrap().unwrap().verify(Thoroughness::Full, &|_| {}).unwrap();
    assert_eq!(found.defects.len(), 1);
    assert!(matches!(found.defects[0].kind, DefectKind::Damaged { .. }));
    assert_eq!(found.defects[0].records.len(), 20);
}

#[test]
fn a_pack_that_is_written_as_it_was_stays() {
    let (records, store) = new_store();
    let ids: Vec<_> = (0..3).map(|n| publish(&store, n, &noise(n, 3000)).0).collect();
    compact(&store);
    publish(&store, 3, &noise(3, 3000));
    let damaged = seal(records.path());
    support::flip(&damaged, 1000);
    let store = FsTaskStore::create(records.path()).unwrap();
    // The damaged one is passed by, so that the other is written anew alone: the same bytes, and the same name.
    let done = compact(&store);
    assert_eq!((done.packs_before, done.packs_after, done.passed_by.len()), (0, 0, 1), "{done:?}");
    let fresh = FsTaskStore::create(records.path()).unwrap();
    assert!(ids.iter().all(|id| reads_whole(&fresh, id)));
}

#[test]
fn a_pack_that_was_cut_off_is_not_taken_for_whole() {
    let (records, store) = new_store();
    for n in 0..3 {
        publish(&store, n, &noise(n, 3000));
    }
    let pack = seal(records.path());
    let bytes = fs::read(&pack).unwrap();
    let commits = support::entries(&bytes).into_iter().filter(|(_, header)| header.kind == EntryKind::Commit);
    let ends: Vec<_> = commits.map(|(at, header)| at + header.entry_length() as usize).collect();
    for length in [ends[1], ends[1] + 10] {
        fs::remove_file(&pack).unwrap();
        fs::write(&pack, &bytes[..length]).unwrap();
        let store = FsTaskStore::create(records.path()).unwrap();
        assert_eq!(compact(&store).passed_by.len(), 1);
        assert_eq!(fs::read(&pack).unwrap(), &bytes[..length]);
        assert!(!store.verify(Thoroughness::Full, &|_| {}).unwrap().is_sound());
    }
}

#[test]
fn packs_that_cannot_be_compacted_do_not_make_it_pay_for_ever() {
    let (records, store) = new_store();
    for n in 0..2 {
        publish(&store, n, &noise(n, 3000));
        support::flip(&seal(records.path()), 1000);
    }
    let store = FsTaskStore::create(records.path()).unwrap();
    assert_eq!(listed(&store).len(), 2);
    assert!(store.compaction_pays().unwrap());
    store.compact(Scope::Sealed, &|_| {}).unwrap();
    assert!(!store.compaction_pays().unwrap());
}

#[test]
fn content_with_the_bytes_of_a_record_is_stored_beside_it() {
    let (records, store) = new_store();
    let (id, _) = publish(&store, 1, b"said");
    let bytes = store.bytes(&id).unwrap().unwrap();
    for is_compacted in [false, true] {
        let (_, stdout) = publish(&store, 2 + u64::from(is_compacted), &bytes);
        compact(&store);
        let mut read = Vec::new();
        store.open(&stdout.id).unwrap().expect("it is stored").read_to_end(&mut read).unwrap();
        assert!(read == bytes);
        assert!(store.load(&id).unwrap().is_some());
        assert_sound(records.path());
    }
}
