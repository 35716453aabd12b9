//! Derived tables make looking up cheap, and nothing depends on them.

mod support;
#[path = "support/synthetic.rs"]
mod synthetic;

use isobox_domain::content::{ContentId, ContentRef};
use isobox_domain::record::{TaskArtifacts, TaskRecord};
use isobox_ports::contract::sample::{draft, noise, record, rejected};
use isobox_ports::{Attempts, ObjectStore, RecordLog};
use isobox_store::FsTaskStore;
use std::fs;
use std::io::Read;
use std::path::{Path, PathBuf};
use support::flip;
use synthetic::Synthesis;

/// Publishes the n-th record with `count` small files, of which the first is its output.
fn publish(store: &FsTaskStore, n: u64, count: u64) -> (ContentId, Vec<ContentRef>) {
    let attempt = store.begin(&draft(n)).unwrap();
    let mut sink = attempt.capture_sink().unwrap();
    let content = |file| noise(n * 1_000_000 + file, 20);
    let files: Vec<_> = (0..count).map(|file| sink.content(&mut content(file).as_slice()).unwrap()).collect();
    drop(sink);
    let artifacts = TaskArtifacts { stdout: files.first().copied(), ..TaskArtifacts::default() };
    (store.publish(attempt, &TaskRecord { artifacts, ..record(n) }).unwrap(), files)
}

fn seal(records: &Path) {
    let lane = records.join("store/lanes/lane-00.pack");
    let id = ContentId::new(*blake3::hash(&fs::read(&lane).unwrap()).as_bytes());
    fs::rename(lane, records.join(format!("store/packs/{}.pack", id.to_hex()))).unwrap();
}

fn tables(records: &Path) -> Vec<PathBuf> {
    let listed = ["packs", "cache"].map(|name| fs::read_dir(records.join("store").join(name)).unwrap());
    let paths = listed.into_iter().flatten().map(|entry| entry.unwrap().path());
    paths.filter(|path| path.extension().is_some_and(|extension| extension == "idx")).collect()
}

/// Everything that a fresh process sees: records newest first, their events, and which of `files` it can read.
fn seen(records: &Path, files: &[ContentRef]) -> (Vec<ContentId>, usize, usize) {
    let store = FsTaskStore::open(records).unwrap().unwrap();
    let listed: Vec<_> = store.list().unwrap().map(|entry| entry.unwrap().record).collect();
    assert!(listed.iter().all(|id| store.load(id).unwrap().is_some()));
    let events = listed.iter().map(|id| store.events(id).unwrap().len()).sum();
    assert!(store.open(&ContentId::new([7; 32])).unwrap().is_none());
    (listed, events, readable(&store, files))
}

fn readable(store: &FsTaskStore, files: &[ContentRef]) -> usize {
    let is_readable = |file: &&ContentRef| {
        let mut bytes = Vec::new();
        store.open(&file.id).unwrap().is_some_and(|mut content| content.read_to_end(&mut bytes).is_ok())
    };
    files.iter().filter(is_readable).count()
}

#[test]
fn a_sealed_pack_gets_a_table_and_reads_the_same_with_it_without_it_and_with_it_damaged() {
    let records = tempfile::tempdir().unwrap();
    let store = FsTaskStore::create(records.path()).unwrap();
    let (first, mut files) = publish(&store, 1, 300);
    let (second, more) = publish(&store, 2, 3);
    files.extend(more);
    store.append(&rejected(1, first, None)).unwrap();
    seal(records.path());
    assert_eq!(tables(records.path()), Vec::<PathBuf>::new());
    let (third, more) = publish(&FsTaskStore::create(records.path()).unwrap(), 3, 1);
    files.extend(more);
    let expected = (vec![third, second, first], 1, 304);
    let found = tables(records.path());
    assert_eq!(found.len(), 1);
    assert_eq!(seen(records.path(), &files), expected);
    let whole = fs::read(&found[0]).unwrap();
    for at in (0..whole.len()).step_by(1021) {
        fs::write(&found[0], &whole).unwrap();
        flip(&found[0], at);
        assert_eq!(seen(records.path(), &files), expected, "with byte {at} damaged");
    }
    fs::write(&found[0], b"short").unwrap();
    assert_eq!(seen(records.path(), &files), expected);
    fs::remove_file(&found[0]).unwrap();
    assert_eq!(seen(records.path(), &files), expected);
}

#[test]
fn more_packs_than_tables_are_kept_open_read_the_same() {
    let records = tempfile::tempdir().unwrap();
    FsTaskStore::create(records.path()).unwrap();
    let mut synthesis = Synthesis::new(records.path());
    (0..150).for_each(|pack| synthesis.pack(pack..pack + 1, 1));
    let files: Vec<_> = (0..150).step_by(10).map(|n| Synthesis::file(n, 0)).collect();
    for state in ["without tables", "with tables"] {
        let store = FsTaskStore::open(records.path()).unwrap().unwrap();
        let tasks: Vec<_> = store.list().unwrap().map(|entry| entry.unwrap().task).collect();
        assert_eq!(tasks, (0..150).rev().map(|n| record(n).task).collect::<Vec<_>>(), "{state}");
        assert_eq!(readable(&store, &files), 15, "{state}");
        let own_files =
            fs::read_dir("/proc/self/fd").unwrap().filter_map(|entry| fs::read_link(entry.unwrap().path()).ok());
        let open = own_files.filter(|target| target.starts_with(records.path())).count();
        assert!(open < 150, "{open} files are open {state}");
    }
    assert_eq!(tables(records.path()).len(), 150);
}

#[test]
fn a_lane_with_many_entries_gets_a_table_that_later_puts_go_on_from() {
    let records = tempfile::tempdir().unwrap();
    let store = FsTaskStore::create(records.path()).unwrap();
    let (first, mut files) = publish(&store, 1, 5000);
    let (second, more) = publish(&FsTaskStore::create(records.path()).unwrap(), 2, 2);
    files.truncate(10);
    files.extend(more);
    assert_eq!(tables(records.path()), [records.path().join("store/cache/lane-00.idx")]);
    let (third, more) = publish(&FsTaskStore::create(records.path()).unwrap(), 3, 2);
    files.extend(more);
    let expected = (vec![third, second, first], 0, 14);
    assert_eq!(seen(records.path(), &files), expected);
    seal(records.path());
    let (fourth, more) = publish(&FsTaskStore::create(records.path()).unwrap(), 4, 2);
    files.extend(more);
    let expected = (vec![fourth, third, second, first], 0, 16);
    assert_eq!(seen(records.path(), &files), expected, "with the table of a lane that was sealed");
    fs::remove_dir_all(records.path().join("store/cache")).unwrap();
    assert_eq!(seen(records.path(), &files), expected);
    publish(&FsTaskStore::create(records.path()).unwrap(), 5, 5000);
}

#[test]
fn a_table_that_came_about_put_by_put_is_the_one_of_a_process_that_goes_through_the_lane() {
    let records = tempfile::tempdir().unwrap();
    let store = FsTaskStore::create(records.path()).unwrap();
    let (first, _) = publish(&store, 1, 300);
    store.append(&rejected(1, first, None)).unwrap();
    let table = records.path().join("store/cache/lane-00.idx");
    let grown: Vec<_> = (2..7).map(|n| drop(publish(&store, n, 400))).map(|()| fs::metadata(&table).ok()).collect();
    assert!(grown[0].is_none() && grown[1].is_some() && grown[4].is_some());
    let put_by_put = fs::read(&table).unwrap();
    let covered = u64::from_le_bytes(put_by_put[8..16].try_into().unwrap());
    assert_eq!(covered, fs::metadata(records.path().join("store/lanes/lane-00.pack")).unwrap().len());
    fs::remove_file(&table).unwrap();
    assert_eq!(FsTaskStore::open(records.path()).unwrap().unwrap().list().unwrap().count(), 6);
    assert!(fs::read(&table).unwrap() == put_by_put);
}

#[test]
fn equal_content_is_found_through_a_table_and_stored_once() {
    let records = tempfile::tempdir().unwrap();
    let store = FsTaskStore::create(records.path()).unwrap();
    publish(&store, 1, 100);
    publish(&store, 2, 1);
    seal(records.path());
    publish(&FsTaskStore::create(records.path()).unwrap(), 3, 1);
    let lane = records.path().join("store/lanes/lane-00.pack");
    let before = fs::metadata(&lane).unwrap().len();
    let store = FsTaskStore::create(records.path()).unwrap();
    let attempt = store.begin(&draft(1)).unwrap();
    let mut sink = attempt.capture_sink().unwrap();
    for file in 0..100 {
        sink.content(&mut noise(1_000_000 + file, 20).as_slice()).unwrap();
    }
    drop(sink);
    store.publish(attempt, &record(9)).unwrap();
    let grown = fs::metadata(&lane).unwrap().len() - before;
    assert!(grown < 1000, "{grown} bytes were added");
}
