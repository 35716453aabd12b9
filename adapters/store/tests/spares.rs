//! The directory of an attempt that is over serves the next one, and nobody takes one attempt for the other.

use isobox_ports::contract::sample::{draft, noise};
use isobox_ports::{Asked, Attempt, Attempts, Flow, OpenAttempts, Role};
use isobox_store::FsTaskStore;
use std::io::Write;
use std::os::unix::fs::{DirBuilderExt, MetadataExt};
use std::path::{Path, PathBuf};

fn printed(store: &FsTaskStore, n: u64, bytes: &[u8]) -> Box<dyn Attempt> {
    let attempt = store.begin(&draft(n)).unwrap();
    attempt.stage(Role::Stdout).unwrap().write_all(bytes).unwrap();
    attempt
}

fn directories(records: &Path, of: &str) -> Vec<(PathBuf, u64)> {
    let entries = std::fs::read_dir(records.join("store").join(of)).unwrap().map(|entry| entry.unwrap());
    let directories = entries.filter(|entry| entry.file_type().unwrap().is_dir());
    directories.map(|entry| (entry.path(), entry.metadata().unwrap().ino())).collect()
}

#[test]
fn the_next_attempt_gets_the_directory_of_one_that_is_over_with_nothing_in_it() {
    let records = tempfile::tempdir().unwrap();
    let store = FsTaskStore::create(records.path()).unwrap();
    let first = printed(&store, 1, b"a secret of the first");
    let [(_, inode)] = directories(records.path(), "tmp")[..] else { panic!("one attempt") };
    first.discard().unwrap();
    assert_eq!(directories(records.path(), "tmp"), []);
    let [(spare, _)] = &directories(records.path(), "cache")[..] else { panic!("one spare") };
    let left: Vec<_> = std::fs::read_dir(spare).unwrap().map(|entry| entry.unwrap()).collect();
    assert!(left.iter().all(|entry| entry.metadata().unwrap().len() == 0), "{left:?}");
    let second = printed(&store, 2, b"of the second");
    assert_eq!(directories(records.path(), "tmp")[0].1, inode);
    drop(second);
    let found = store.abandoned().unwrap();
    assert_eq!(found.len(), 1);
    let salvaged = found[0].salvage(Role::Stdout).unwrap().unwrap();
    assert_eq!(salvaged, isobox_store_format::object::reference_to(b"of the second"));
}

fn journal_of(records: &Path) -> u64 {
    let [(directory, _)] = &directories(records, "tmp")[..] else { panic!("one attempt") };
    std::fs::metadata(directory.join("attempt")).unwrap().ino()
}

#[test]
fn the_journal_of_one_that_is_over_serves_the_next_unless_somebody_looks_at_it() {
    let records = tempfile::tempdir().unwrap();
    let store = FsTaskStore::create(records.path()).unwrap();
    let first = store.begin(&draft(1)).unwrap();
    let journal = journal_of(records.path());
    first.discard().unwrap();
    let second = store.begin(&draft(2)).unwrap();
    assert_eq!(journal_of(records.path()), journal);
    let looked = store.look().unwrap().pop().unwrap();
    second.discard().unwrap();
    let third = store.begin(&draft(3)).unwrap();
    assert_ne!(journal_of(records.path()), journal);
    // Else it would be this process, which runs the third one, that is asked to end.
    assert_eq!(looked.interrupt().unwrap(), Asked::Over);
    looked.wait().unwrap();
    third.discard().unwrap();
}

#[test]
fn who_follows_one_that_is_over_is_shown_nothing_of_the_next() {
    let records = tempfile::tempdir().unwrap();
    let store = FsTaskStore::create(records.path()).unwrap();
    let first = store.begin(&draft(1)).unwrap();
    let looked = store.look().unwrap().pop().unwrap();
    first.discard().unwrap();
    let second = printed(&store, 2, b"of the second");
    let mut shown = Vec::new();
    looked
        .follow(&mut |_, bytes| {
            shown.extend_from_slice(bytes);
            Flow::Continue
        })
        .unwrap();
    assert_eq!(shown, b"");
    let seen = store.look().unwrap();
    assert_eq!(seen.iter().map(|seen| seen.draft().task).collect::<Vec<_>>(), [draft(2).task]);
    second.discard().unwrap();
}

#[test]
fn who_reads_an_output_keeps_it_when_its_attempt_ends() {
    let records = tempfile::tempdir().unwrap();
    let store = FsTaskStore::create(records.path()).unwrap();
    let bytes = noise(1, 200_000);
    let first = printed(&store, 1, &bytes);
    let looked = store.look().unwrap().pop().unwrap();
    let (mut shown, mut first) = (Vec::new(), Some(first));
    looked
        .follow(&mut |_, bytes| {
            shown.extend_from_slice(bytes);
            // It is over while the rest of its output is still to be read.
            first.take().into_iter().for_each(|first| first.discard().unwrap());
            Flow::Continue
        })
        .unwrap();
    assert!(shown == bytes, "{} of {} bytes", shown.len(), bytes.len());
}

#[test]
fn a_directory_that_holds_something_else_serves_nobody() {
    let records = tempfile::tempdir().unwrap();
    let store = FsTaskStore::create(records.path()).unwrap();
    store.begin(&draft(1)).unwrap().discard().unwrap();
    let [(spare, _)] = &directories(records.path(), "cache")[..] else { panic!("one spare") };
    std::fs::write(spare.join("attempt"), "no journal").unwrap();
    std::fs::write(spare.join("stdout.piece"), "of nobody").unwrap();
    let attempt = printed(&store, 2, b"of the second");
    let seen = store.look().unwrap();
    assert_eq!(seen.iter().map(|seen| seen.draft().task).collect::<Vec<_>>(), [draft(2).task]);
    attempt.discard().unwrap();
    assert_eq!(directories(records.path(), "tmp"), []);
}

#[test]
fn whatever_lies_in_the_place_of_a_spare_costs_no_attempt() {
    let plants: [fn(&Path); 5] = [
        |spare| std::os::unix::fs::symlink("/etc", spare).unwrap(),
        |spare| std::fs::write(spare, "no directory").unwrap(),
        |spare| private(&spare.join("odd")),
        |spare| private(&spare.join("stdout.piece")),
        |spare| {
            private(spare);
            std::fs::write(spare.join("stdout.piece"), "of nobody").unwrap();
        },
    ];
    for (n, plant) in plants.into_iter().enumerate() {
        let records = tempfile::tempdir().unwrap();
        let store = FsTaskStore::create(records.path()).unwrap();
        plant(&records.path().join("store/cache/spare-0"));
        let attempt = printed(&store, 2, b"of this one");
        drop(attempt);
        let found = store.abandoned().unwrap();
        let salvaged = found[0].salvage(Role::Stdout).unwrap().unwrap();
        assert_eq!(salvaged, isobox_store_format::object::reference_to(b"of this one"), "plant {n}");
    }
}

/// Makes a directory, and what is missing above it, that only its owner reaches.
fn private(path: &Path) {
    std::fs::DirBuilder::new().recursive(true).mode(0o700).create(path).unwrap();
}

#[test]
fn where_nothing_can_be_kept_an_attempt_ends_all_the_same() {
    let records = tempfile::tempdir().unwrap();
    let store = FsTaskStore::create(records.path()).unwrap();
    let attempt = printed(&store, 1, b"output");
    let cache = records.path().join("store/cache");
    std::fs::remove_dir_all(&cache).unwrap();
    std::fs::write(&cache, "no directory").unwrap();
    attempt.discard().unwrap();
    assert_eq!(directories(records.path(), "tmp"), []);
    assert_eq!(std::fs::read(&cache).unwrap(), b"no directory");
}
