//! Listings over many packs, from either end, while packs are sealed and tables are damaged.

mod support;
#[path = "support/synthetic.rs"]
mod synthetic;

use isobox_domain::compaction::Scope;
use isobox_domain::content::ContentId;
use isobox_domain::listing::Direction;
use isobox_domain::record::TaskRecord;
use isobox_domain::timestamp::Timestamp;
use isobox_ports::contract::sample::{draft, promoted, pruned, record, rejected};
use isobox_ports::{Attempts, Collector, Compactor, Listing, Listings, RecordLog};
use isobox_store::FsTaskStore;
use std::fs;
use std::path::Path;
use support::flip;
use synthetic::{Synthesis, Task};
use tempfile::TempDir;

/// Five sealed packs of forty records, and one more record in a lane.
fn store() -> TempDir {
    let records = tempfile::tempdir().unwrap();
    let store = FsTaskStore::create(records.path()).unwrap();
    let mut synthesis = Synthesis::new(records.path());
    (0..5).for_each(|pack| synthesis.pack(pack * 40..(pack + 1) * 40, 0));
    let attempt = store.begin(&draft(200)).unwrap();
    store.publish(attempt, &record(200)).unwrap();
    records
}

fn open(records: &Path) -> FsTaskStore {
    FsTaskStore::open(records).unwrap().unwrap()
}

fn listed(listing: &dyn Listing, direction: Direction) -> Vec<u64> {
    let tasks = listing.entries(direction).map(|entry| {
        let entry = entry.unwrap();
        assert_eq!(listing.load(&entry).unwrap().map(|record| record.task), Some(entry.task));
        u64::from_be_bytes(*entry.task.as_bytes())
    });
    tasks.collect()
}

fn assert_lists_all(records: &Path) {
    let store = open(records);
    let listing = store.begin_listing().unwrap();
    assert_eq!(listing.count(), 201);
    assert!(listed(&*listing, Direction::Ascending).into_iter().eq(0..=200));
    assert!(listed(&*listing, Direction::Descending).into_iter().eq((0..=200).rev()));
}

#[test]
fn every_record_is_listed_from_either_end_with_tables_and_without() {
    let records = store();
    assert_lists_all(records.path());
    assert_lists_all(records.path());
    let tables = || fs::read_dir(records.path().join("store/packs")).unwrap().map(|entry| entry.unwrap().path());
    let is_table = |path: &std::path::PathBuf| path.extension().is_some_and(|extension| extension == "idx");
    assert_eq!(tables().filter(is_table).count(), 5);
    for at in [10, 2000, 4500] {
        tables().filter(is_table).for_each(|table| flip(&table, at));
        assert_lists_all(records.path());
    }
}

#[test]
fn a_table_that_is_damaged_while_it_is_read_costs_no_record() {
    for direction in [Direction::Ascending, Direction::Descending] {
        let records = store();
        let store = open(records.path());
        let listing = store.begin_listing().unwrap();
        let mut tasks: Vec<u64> = Vec::new();
        for entry in listing.entries(direction) {
            tasks.push(u64::from_be_bytes(*entry.unwrap().task.as_bytes()));
            if tasks.len() == 30 {
                let packs =
                    fs::read_dir(records.path().join("store/packs")).unwrap().map(|entry| entry.unwrap().path());
                packs.filter(|path| path.extension().is_some_and(|e| e == "idx")).for_each(|table| {
                    let length = fs::metadata(&table).unwrap().len() as usize;
                    (0..length).step_by(4096).for_each(|page| flip(&table, page + 9));
                });
            }
        }
        tasks.sort_unstable();
        assert!(tasks.into_iter().eq(0..=200), "{direction:?}");
    }
}

#[test]
fn a_lane_that_was_sealed_while_it_was_read_counts_once() {
    let records = store();
    let lane = records.path().join("store/lanes/lane-00.pack");
    let bytes = fs::read(&lane).unwrap();
    let id = ContentId::new(*blake3::hash(&bytes).as_bytes());
    fs::write(records.path().join(format!("store/packs/{}.pack", id.to_hex())), bytes).unwrap();
    assert_lists_all(records.path());
}

#[test]
fn an_event_in_another_pack_than_its_record_is_found() {
    let records = store();
    let store = open(records.path());
    for n in [0, 77, 200] {
        let entry = store.list().unwrap().map(Result::unwrap).find(|entry| entry.task == record(n).task).unwrap();
        store.append(&rejected(n, entry.record, None)).unwrap();
    }
    let listing = store.begin_listing().unwrap();
    let with_events = listing.entries(Direction::Ascending).map(Result::unwrap).filter(|entry| {
        let events = listing.events(entry).unwrap();
        events.iter().all(|stored| stored.event.subject == entry.record) && !events.is_empty()
    });
    let tasks: Vec<u64> = with_events.map(|entry| u64::from_be_bytes(*entry.task.as_bytes())).collect();
    assert_eq!(tasks, [0, 77, 200]);
}

#[test]
fn every_event_is_found_however_many_records_were_asked_about_before() {
    let records = tempfile::tempdir().unwrap();
    let store = FsTaskStore::create(records.path()).unwrap();
    let mut synthesis = Synthesis::new(records.path());
    for pack in 0..3 {
        let task = |n: u64| {
            let at = Timestamp::nearest(1_700_000_000_000 + n);
            let event = n.is_multiple_of(3).then(|| promoted(n, ContentId::new([0; 32]), None).kind);
            Task { record: TaskRecord { ended_at: at, ..record(n) }, stdout: n.to_le_bytes().to_vec(), event }
        };
        synthesis.pack_of(pack, (u64::from(pack) * 200..(u64::from(pack) + 1) * 200).map(task));
    }
    let listing = store.begin_listing().unwrap();
    for entry in listing.entries(Direction::Descending).map(Result::unwrap) {
        let n = u64::from_be_bytes(*entry.task.as_bytes());
        assert_eq!(listing.events(&entry).unwrap().len(), usize::from(n.is_multiple_of(3)), "{n}");
    }
}

/// More sealed packs than a process keeps the tables of open, and each with more records than a page of a table has.
fn many_packs() -> TempDir {
    let records = tempfile::tempdir().unwrap();
    FsTaskStore::create(records.path()).unwrap();
    let mut synthesis = Synthesis::new(records.path());
    (0..135).for_each(|pack| synthesis.pack(pack * 80..(pack + 1) * 80, 0));
    records
}

fn publish(records: &Path, n: u64) -> ContentId {
    let store = FsTaskStore::create(records).unwrap();
    let attempt = store.begin(&draft(n)).unwrap();
    store.publish(attempt, &record(n)).unwrap()
}

fn compact(records: &Path) {
    FsTaskStore::create(records).unwrap().compact(Scope::All, &|_| {}).unwrap();
}

#[test]
fn a_listing_goes_on_behind_its_last_record_when_compaction_removes_the_packs_that_it_reads() {
    for direction in [Direction::Ascending, Direction::Descending] {
        let after = 200;
        let records = many_packs();
        // Their tables are made.
        assert_eq!(open(records.path()).list().unwrap().count(), 10_800);
        let store = open(records.path());
        let listing = store.begin_listing().unwrap();
        let mut entries = listing.entries(direction);
        let task = |entry: isobox_domain::record::RecordEntry| {
            assert_eq!(listing.load(&entry).unwrap().map(|record| record.task), Some(entry.task));
            u64::from_be_bytes(*entry.task.as_bytes())
        };
        let mut tasks: Vec<u64> = entries.by_ref().take(after).map(|entry| task(entry.unwrap())).collect();
        compact(records.path());
        publish(records.path(), 1000);
        compact(records.path());
        tasks.extend(entries.map(|entry| task(entry.unwrap())));
        if direction == Direction::Descending {
            tasks.reverse();
        }
        assert!(tasks.iter().copied().eq(0..10_800), "{direction:?} after {after}: {} tasks", tasks.len());
        assert_eq!(listing.count(), 10_800);
    }
}

#[test]
fn every_log_of_records_goes_on_likewise() {
    let records = many_packs();
    assert_eq!(open(records.path()).list().unwrap().count(), 10_800);
    let store = open(records.path());
    let mut entries = store.list().unwrap();
    let task = |entry: isobox_domain::record::RecordEntry| u64::from_be_bytes(*entry.task.as_bytes());
    let mut tasks: Vec<u64> = entries.by_ref().take(100).map(|entry| task(entry.unwrap())).collect();
    compact(records.path());
    tasks.extend(entries.map(|entry| task(entry.unwrap())));
    assert!(tasks.into_iter().eq((0..10_800).rev()));
}

#[test]
fn what_was_pruned_is_not_listed_before_a_sweep_and_after_it_whatever_pack_says_so() {
    let records = many_packs();
    let store = FsTaskStore::create(records.path()).unwrap();
    let gone: Vec<_> =
        store.list().unwrap().map(Result::unwrap).filter(|entry| entry.task.as_bytes()[7] == 7).collect();
    for entry in &gone {
        let n = u64::from_be_bytes(*entry.task.as_bytes());
        store.append(&pruned(n, entry.record, None)).unwrap();
    }
    let assert_left = || {
        let store = open(records.path());
        let listing = store.begin_listing().unwrap();
        let tasks = listed(&*listing, Direction::Ascending);
        assert_eq!((tasks.len(), listing.count() as usize), (10_800 - gone.len(), 10_800 - gone.len()));
        assert!(gone.iter().all(|entry| !tasks.contains(&u64::from_be_bytes(*entry.task.as_bytes()))));
    };
    assert_left();
    compact(records.path());
    assert_left();
    store.sweep(&|_| {}).unwrap();
    assert_left();
}
