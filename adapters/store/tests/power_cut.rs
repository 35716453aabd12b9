//! What a power cut leaves of a put whose flush had not come to its end: any of its blocks may be there, or zeros.

mod support;

use isobox_domain::content::{ContentId, ContentRef};
use isobox_domain::record::{TaskArtifacts, TaskRecord};
use isobox_domain::verification::Thoroughness;
use isobox_ports::contract::sample::{draft, noise, pruned, record};
use isobox_ports::{
    Attempts, Collector, MendMode, Mender, ObjectStore, Publishing, RecordLog, Role, StoreErrorKind, Verifier,
};
use isobox_store::FsTaskStore;
use std::fs;
use std::io::{Read, Write};
use std::ops::Range;
use std::path::Path;
use support::entries;

const BLOCK: usize = 4096;

fn publish(store: &FsTaskStore, n: u64, length: usize) -> (ContentId, ContentRef) {
    let attempt = store.begin(&draft(n)).unwrap();
    let mut writer = attempt.stage(Role::Stdout).unwrap();
    writer.write_all(&noise(n, length)).unwrap();
    let stdout = writer.finish().unwrap();
    let artifacts = TaskArtifacts { stdout: Some(stdout), ..TaskArtifacts::default() };
    (store.publish(attempt, &TaskRecord { artifacts, ..record(n) }).unwrap(), stdout)
}

/// Whether the record and its output are there whole; not, if one is absent or said to be damaged. Anything else is a failure.
fn is_whole(store: &FsTaskStore, (id, stdout): (ContentId, ContentRef), n: u64) -> bool {
    let is_damaged = |error: isobox_ports::StoreError| assert_eq!(error.kind, StoreErrorKind::Damaged, "{error}");
    let loaded = store.load(&id).map_err(is_damaged).ok().flatten();
    let content = store.open(&stdout.id).map_err(is_damaged).ok().flatten();
    let (Some(_), Some(mut content)) = (loaded, content) else { return false };
    let mut bytes = Vec::new();
    content.read_to_end(&mut bytes).unwrap();
    assert!(bytes == noise(n, stdout.length as usize), "other bytes were handed out");
    true
}

fn listed(store: &FsTaskStore) -> (Vec<ContentId>, usize) {
    let (found, damage): (Vec<_>, Vec<_>) = store.list().unwrap().partition(Result::is_ok);
    (found.into_iter().map(|entry| entry.unwrap().record).collect(), damage.len())
}

/// Every run of blocks in a range: what a cut may have left unwritten.
fn runs(range: Range<usize>) -> Vec<Range<usize>> {
    let starts: Vec<_> = std::iter::once(range.start)
        .chain((range.start / BLOCK + 1..).map(|n| n * BLOCK))
        .take_while(|at| *at < range.end)
        .collect();
    let end_of = |at: &usize| ((at / BLOCK + 1) * BLOCK).min(range.end);
    starts
        .iter()
        .flat_map(|start| starts.iter().filter(move |at| *at >= start).map(move |at| *start..end_of(at)))
        .collect()
}

fn lane(records: &Path) -> std::path::PathBuf {
    records.join("store/lanes/lane-00.pack")
}

#[test]
fn a_commit_over_blocks_that_were_not_written_costs_its_own_record_alone() {
    let records = tempfile::tempdir().unwrap();
    let store = FsTaskStore::create(records.path()).unwrap();
    let first = publish(&store, 1, 5_000);
    let before = fs::read(lane(records.path())).unwrap().len();
    let second = publish(&store, 2, 15_000);
    drop(store);
    let whole = fs::read(lane(records.path())).unwrap();
    let (commit_at, _) = *entries(&whole).last().unwrap();
    let mut lost = 0;
    for unwritten in runs(before..commit_at).into_iter().chain(runs(before..whole.len())) {
        let mut bytes = whole.clone();
        bytes[unwritten.clone()].fill(0);
        fs::write(lane(records.path()), &bytes).unwrap();
        let store = FsTaskStore::create(records.path()).unwrap();
        let (found, damage) = listed(&store);
        assert!(found.contains(&first.0) && is_whole(&store, first, 1), "{unwritten:?}");
        let is_kept = found.contains(&second.0) && is_whole(&store, second, 2);
        assert!(!is_kept, "{unwritten:?} were zeros, and nobody noticed");
        lost += usize::from(damage > 0 || found.contains(&second.0));
        let third = publish(&store, 3, 100);
        let store = FsTaskStore::open(records.path()).unwrap().unwrap();
        assert!(listed(&store).0.contains(&third.0) && is_whole(&store, third, 3), "{unwritten:?}");
        assert!(is_whole(&store, first, 1), "{unwritten:?}");
        // What was sealed because of the damage makes way for the next round.
        for pack in fs::read_dir(records.path().join("store/packs")).unwrap() {
            fs::remove_file(pack.unwrap().path()).unwrap();
        }
    }
    assert!(lost > 20, "{lost}");
}

#[test]
fn a_put_without_all_of_its_blocks_and_without_its_commit_is_a_torn_tail_that_hinders_nobody() {
    let records = tempfile::tempdir().unwrap();
    let store = FsTaskStore::create(records.path()).unwrap();
    let first = publish(&store, 1, 5_000);
    let settled = fs::read(lane(records.path())).unwrap().len();
    publish(&store, 2, 15_000);
    let whole = fs::read(lane(records.path())).unwrap();
    let mut tails = 0;
    for unwritten in runs(settled..whole.len()).into_iter().filter(|run| run.end > whole.len() - 20) {
        let mut bytes = whole.clone();
        bytes[unwritten.clone()].fill(0);
        // The file system may have made the file longer by less than all of it.
        for length in [whole.len(), unwritten.start + (whole.len() - unwritten.start) / 2] {
            fs::write(lane(records.path()), &bytes[..length]).unwrap();
            let store = FsTaskStore::create(records.path()).unwrap();
            assert_eq!(listed(&store), (vec![first.0], 0), "{unwritten:?} of {length}");
            let found = store.verify(Thoroughness::Deep, &|_| {}).unwrap();
            let tail = (found.leftovers.torn_tails[0].offset, found.leftovers.torn_tails[0].bytes);
            assert_eq!((found.defects, tail), (vec![], (settled as u64, (length - settled) as u64)), "{unwritten:?}");
            let kept_before = quarantined(records.path()).len();
            assert_eq!(store.mend(&|_| None, MendMode::Mend).unwrap(), []);
            let third = publish(&store, 3, 100);
            let kept = quarantined(records.path());
            if found.leftovers.torn_tails[0].is_unwritten {
                assert!(kept.contains(&bytes[settled..length].to_vec()), "{unwritten:?} of {length} is gone");
            } else {
                assert_eq!(kept.len(), kept_before);
            }
            assert!(is_whole(&store, first, 1) && is_whole(&store, third, 3), "{unwritten:?} of {length}");
            assert_eq!(
                fs::read_dir(records.path().join("store/packs")).unwrap().count(),
                0,
                "nothing was sealed for it"
            );
            store.append(&pruned(3, third.0, None)).unwrap();
            assert_eq!(store.sweep(&|_| {}).unwrap().records, 1);
            assert_eq!(store.verify(Thoroughness::Deep, &|_| {}).unwrap().defects, []);
            for pack in fs::read_dir(records.path().join("store/packs")).unwrap() {
                fs::remove_file(pack.unwrap().path()).unwrap();
            }
            tails += 1;
        }
    }
    assert!(tails > 8, "{tails}");
}

fn quarantined(records: &Path) -> Vec<Vec<u8>> {
    let entries = fs::read_dir(records.join("store/quarantine")).into_iter().flatten();
    entries.map(|entry| fs::read(entry.unwrap().path()).unwrap()).collect()
}

/// What verification names, and what it calls a tail, of a store with this lane.
fn told(records: &Path, lane_bytes: &[u8]) -> (Vec<ContentId>, usize) {
    fs::write(lane(records), lane_bytes).unwrap();
    let found = FsTaskStore::create(records).unwrap().verify(Thoroughness::Full, &|_| {}).unwrap();
    let named = found.defects.iter().flat_map(|defect| &defect.records).map(|who| who.record).collect();
    (named, found.leftovers.torn_tails.len())
}

#[test]
fn a_zeroed_byte_and_zeros_in_more_than_one_put_are_damage() {
    let records = tempfile::tempdir().unwrap();
    let store = FsTaskStore::create(records.path()).unwrap();
    let mut puts = Vec::new();
    // Until a COMMIT begins with the last byte of a sector.
    for n in 1.. {
        let (id, _) = publish(&store, n, 100 + n as usize % 61);
        let whole = fs::read(lane(records.path())).unwrap();
        let (at, header) = *entries(&whole).last().unwrap();
        puts.push((id, at..at + header.entry_length() as usize));
        if at % 512 == 511 {
            break;
        }
    }
    let whole = fs::read(lane(records.path())).unwrap();
    let (last, commit) = puts.last().unwrap();
    let mut damaged = whole.clone();
    damaged[commit.start] = 0;
    assert_eq!(told(records.path(), &damaged), (vec![*last], 0));
    let mut damaged = whole.clone();
    for (_, commit) in &puts[puts.len() - 3..] {
        damaged[commit.clone()].fill(0);
    }
    let (named, tails) = told(records.path(), &damaged);
    assert!(puts[puts.len() - 3..].iter().all(|(id, _)| named.contains(id)), "{named:?}");
    assert_eq!(tails, 0);
}

#[test]
fn zeros_that_no_writer_left_are_damage() {
    let records = tempfile::tempdir().unwrap();
    let store = FsTaskStore::create(records.path()).unwrap();
    publish(&store, 1, 5_000);
    let (id, _) = publish(&store, 2, 9_000);
    let settled = fs::read(lane(records.path())).unwrap();
    publish(&store, 3, 100);
    let mut bytes = fs::read(lane(records.path())).unwrap();
    // A COMMIT follows them, so they were flushed.
    let at = settled.len() - 2 * BLOCK;
    bytes[at..at + BLOCK].fill(0);
    fs::write(lane(records.path()), &bytes).unwrap();
    let found = FsTaskStore::create(records.path()).unwrap().verify(Thoroughness::Full, &|_| {}).unwrap();
    let named: Vec<_> = found.defects.iter().flat_map(|defect| &defect.records).map(|who| who.record).collect();
    assert_eq!((named, found.leftovers.torn_tails), (vec![id], vec![]));
}

#[test]
fn zeros_that_a_task_printed_do_not_make_a_damaged_commit_a_torn_tail() {
    let records = tempfile::tempdir().unwrap();
    let store = FsTaskStore::create(records.path()).unwrap();
    let attempt = store.begin(&draft(1)).unwrap();
    let mut stdout = attempt.stage(Role::Stdout).unwrap();
    stdout.write_all(&[noise(1, 100_000), vec![0; 1500], noise(2, 20_000)].concat()).unwrap();
    let artifacts = TaskArtifacts { stdout: Some(stdout.finish().unwrap()), ..TaskArtifacts::default() };
    let id = store.publish(attempt, &TaskRecord { artifacts, ..record(1) }).unwrap();
    let whole = fs::read(lane(records.path())).unwrap();
    assert!(whole.chunks(512).any(|sector| sector == [0; 512]), "so few zeros are stored as they are");
    let (commit_at, header) = *entries(&whole).last().unwrap();
    for at in [commit_at + 10, commit_at + 100, commit_at + header.entry_length() as usize - 1] {
        let mut damaged = whole.clone();
        damaged[at] ^= 1;
        fs::write(lane(records.path()), &damaged).unwrap();
        let store = FsTaskStore::create(records.path()).unwrap();
        let found = store.verify(Thoroughness::Full, &|_| {}).unwrap();
        let named: Vec<_> = found.defects.iter().flat_map(|defect| &defect.records).map(|who| who.record).collect();
        assert_eq!((named, found.leftovers.torn_tails), (vec![id], vec![]), "byte {at}");
        publish(&store, 2, 100);
        let packs: Vec<_> =
            fs::read_dir(records.path().join("store/packs")).unwrap().map(|e| e.unwrap().path()).collect();
        let kept = packs.iter().filter(|pack| fs::read(pack).unwrap() == damaged).count();
        assert_eq!(kept, 1, "byte {at}: what was damaged is gone");
        packs.iter().for_each(|pack| fs::remove_file(pack).unwrap());
    }
}

#[test]
fn a_put_that_was_lost_in_part_can_be_done_again() {
    let records = tempfile::tempdir().unwrap();
    let (id, stdout) = publish(&FsTaskStore::create(records.path()).unwrap(), 1, 15_000);
    let mut bytes = fs::read(lane(records.path())).unwrap();
    bytes[BLOCK..2 * BLOCK].fill(0);
    fs::write(lane(records.path()), &bytes).unwrap();
    let store = FsTaskStore::create(records.path()).unwrap();
    assert!(!is_whole(&store, (id, stdout), 1));
    publish(&store, 1, 15_000);
    assert!(is_whole(&store, (id, stdout), 1), "a damaged copy was counted as stored");
}

#[test]
fn an_attempt_whose_record_was_lost_in_part_is_still_there() {
    let records = tempfile::tempdir().unwrap();
    let store = FsTaskStore::create(records.path()).unwrap();
    let attempt = store.begin(&draft(1)).unwrap();
    let name = fs::read_dir(records.path().join("store/tmp")).unwrap().next().unwrap().unwrap().path();
    let mut writer = attempt.stage(Role::Stdout).unwrap();
    writer.write_all(&noise(1, 15_000)).unwrap();
    let stdout = writer.finish().unwrap();
    // Its journal as it is right before the end, put back as a power cut may.
    let artifacts = TaskArtifacts { stdout: Some(stdout), ..TaskArtifacts::default() };
    let journal = records.path().join("attempt");
    fs::hard_link(name.join("attempt"), &journal).unwrap();
    // Somebody looks at it meanwhile: its journal is not emptied for another attempt then.
    let looked_at = fs::File::open(&name).unwrap();
    looked_at.lock_shared().unwrap();
    let id = store.publish(attempt, &TaskRecord { artifacts, ..record(1) }).unwrap();
    drop(looked_at);
    let put_back = || {
        fs::create_dir(&name).unwrap();
        fs::copy(&journal, name.join("attempt")).unwrap();
    };
    put_back();
    let abandoned = |store: &FsTaskStore| store.abandoned().unwrap().pop().expect("an attempt");
    let left = abandoned(&store);
    assert_eq!(left.publishing(), Some(Publishing::Done(id)), "its record is whole");
    left.discard().unwrap();
    let mut bytes = fs::read(lane(records.path())).unwrap();
    bytes[BLOCK..2 * BLOCK].fill(0);
    fs::write(lane(records.path()), &bytes).unwrap();
    put_back();
    let left = abandoned(&FsTaskStore::create(records.path()).unwrap());
    assert_eq!(left.publishing(), Some(Publishing::Undone));
}
