//! Mending beside others: neither a start nor a put disturbs it or is disturbed by it, and what is sound stays readable.

mod support;

use isobox_domain::content::{ContentId, ContentRef};
use isobox_domain::record::{TaskArtifacts, TaskRecord};
use isobox_domain::verification::{DefectKind, Thoroughness};
use isobox_ports::contract::sample::{draft, noise, record};
use isobox_ports::{Attempts, Content, MendMode, MendedFile, Mender, ObjectStore, RecordLog, Role, Verifier};
use isobox_store::{FsTaskStore, hook_steps};
use isobox_store_format::block::BlockBuilder;
use isobox_store_format::entry::{EntryHeader, EntryKind, HEADER_LEN};
use isobox_store_format::frame::Compressor;
use isobox_store_format::object::reference_to;
use std::cell::Cell;
use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::io::{Cursor, Read, Write};
use std::path::{Path, PathBuf};
use std::rc::Rc;
use std::time::{Duration, Instant};

const STAGED: &str = "staged what is mended";
/// More than one pack takes.
const CONTENTS: u64 = 70;

type Copies = BTreeMap<ContentId, Vec<u8>>;

fn publish(store: &FsTaskStore, n: u64, stdout: &[u8]) -> ContentRef {
    let attempt = store.begin(&draft(n)).unwrap();
    let mut writer = attempt.stage(Role::Stdout).unwrap();
    writer.write_all(stdout).unwrap();
    let content = writer.finish().unwrap();
    let artifacts = TaskArtifacts { stdout: Some(content), ..TaskArtifacts::default() };
    store.publish(attempt, &TaskRecord { artifacts, ..record(n) }).unwrap();
    content
}

fn copy_in(copies: &Copies, id: &ContentId) -> Option<Content> {
    copies.get(id).map(|bytes| Box::new(Cursor::new(bytes.clone())) as Content)
}

fn mend(store: &FsTaskStore, copies: &Copies) -> Vec<MendedFile> {
    store.mend(&|id| copy_in(copies, id), MendMode::Mend).unwrap()
}

fn open(records: &Path) -> FsTaskStore {
    FsTaskStore::open(records).unwrap().expect("a store")
}

/// The whole content of `id`; `None` if it is absent or damaged.
fn read(store: &FsTaskStore, id: &ContentId) -> Option<Vec<u8>> {
    let mut bytes = Vec::new();
    store.open(id).ok()??.read_to_end(&mut bytes).ok()?;
    Some(bytes)
}

/// Two records, one with a large output, and copies of the outputs. The first stands in a lane, as does the reference.
fn small_and_large(store: &FsTaskStore) -> Copies {
    let contents = [noise(1, 500), noise(2, (2 << 20) + 5)];
    (1..).zip(contents).map(|(n, bytes)| (publish(store, n, &bytes).id, bytes)).collect()
}

fn files_in(records: &Path, folder: &str) -> Vec<PathBuf> {
    fs::read_dir(records.join("store").join(folder)).unwrap().map(|entry| entry.unwrap().path()).collect()
}

#[test]
fn what_is_written_at_any_level_is_brought_back_as_it_was() {
    let mut written = BTreeSet::new();
    for mut compressor in Compressor::each().unwrap() {
        let records = tempfile::tempdir().unwrap();
        let store = FsTaskStore::create(records.path()).unwrap();
        let content: Vec<u8> = noise(3, 9_000).iter().map(|byte| b'a' + byte % 7).collect();
        let id = reference_to(&content).id;
        let mut block = BlockBuilder::default();
        block.add(EntryKind::Artifact, id, &content);
        let (header, stored) = block.entry(&mut compressor).unwrap();
        let mut pack = [header.encode().as_slice(), &stored].concat();
        let name = format!("store/packs/{}.pack", reference_to(&pack).id.to_hex());
        let (place, whole) = (records.path().join(name), pack.clone());
        *pack.last_mut().unwrap() ^= 1;
        fs::write(&place, pack).unwrap();
        assert_eq!(mend(&store, &Copies::from([(id, content)])).len(), 1);
        assert_eq!(fs::read(&place).unwrap(), whole);
        written.insert(whole);
    }
    assert!(written.len() > 1, "levels differ");
}

#[test]
fn a_start_beside_a_repair_leaves_what_is_staged() {
    let records = tempfile::tempdir().unwrap();
    let store = FsTaskStore::create(records.path()).unwrap();
    let copies = small_and_large(&store);
    copies.keys().for_each(|id| support::damage(records.path(), id));
    let (starts, seen) = (Rc::new(Cell::new(0)), records.path().to_owned());
    let counted = Rc::clone(&starts);
    hook_steps(move |step| {
        if step == STAGED {
            // A recovery and a run that begins: neither fails for the repair.
            assert_eq!(open(&seen).abandoned().unwrap().len(), 0);
            open(&seen).begin(&draft(9)).unwrap().discard().unwrap();
            counted.set(counted.get() + 1);
        }
    });
    let mended = mend(&store, &copies);
    assert_eq!(mended.iter().map(|file| file.restored.len()).sum::<usize>(), 2, "{mended:?}");
    assert_eq!(starts.get(), 2);
    for (id, bytes) in &copies {
        assert!(read(&open(records.path()), id).as_ref() == Some(bytes));
    }
    assert!(open(records.path()).verify(Thoroughness::Deep, &|_| {}).unwrap().is_sound());
    assert_eq!(files_in(records.path(), "tmp"), [] as [PathBuf; 0]);
}

#[test]
fn one_damaged_copy_of_format_is_told_and_mended_and_keeps_nobody_from_working() {
    let records = tempfile::tempdir().unwrap();
    let store = FsTaskStore::create(records.path()).unwrap();
    let bytes = noise(1, 500);
    let id = publish(&store, 1, &bytes).id;
    let format = records.path().join("store/FORMAT");
    let whole = fs::read(&format).unwrap();
    for (mended, at) in [30, 511, 512, 1023].into_iter().enumerate() {
        support::flip(&format, at);
        let damaged = fs::read(&format).unwrap();
        let store = open(records.path());
        let found = store.verify(Thoroughness::Quick, &|_| {}).unwrap();
        let [defect] = &found.defects[..] else { panic!("{found:?}") };
        assert!(
            matches!(&defect.kind, DefectKind::Damaged { file, offset, .. } if file.ends_with("FORMAT") && *offset == at as u64)
        );
        assert!(read(&store, &id).as_ref() == Some(&bytes));
        let looked = store.mend(&|_| None, MendMode::Look).unwrap();
        assert_eq!((looked.len(), fs::read(&format).unwrap() == damaged), (1, true), "byte {at}");
        let [file] = &store.mend(&|_| None, MendMode::Mend).unwrap()[..] else { panic!("byte {at}") };
        let kept = file.quarantined.as_ref().unwrap();
        assert!(fs::read(kept).unwrap() == damaged && fs::read(&format).unwrap() == whole, "byte {at}");
        assert_eq!(files_in(records.path(), "quarantine").len(), mended + 1);
        assert!(open(records.path()).verify(Thoroughness::Deep, &|_| {}).unwrap().is_sound());
        assert_eq!(store.mend(&|_| None, MendMode::Mend).unwrap(), []);
    }
    assert_eq!(files_in(records.path(), "tmp"), [] as [PathBuf; 0]);
}

#[test]
fn a_large_file_stays_in_its_place_until_a_whole_one_is_ready() {
    let records = tempfile::tempdir().unwrap();
    let store = FsTaskStore::create(records.path()).unwrap();
    let bytes = noise(2, (2 << 20) + 5);
    let id = publish(&store, 1, &bytes).id;
    support::damage(records.path(), &id);
    let hex = id.to_hex();
    let path = records.path().join("store/large").join(&hex[..2]).join(&hex[2..]);
    let damaged = fs::read(&path).unwrap();
    let (tmp, in_place) = (records.path().to_owned(), path.clone());
    hook_steps(move |step| {
        if step == STAGED {
            // What was staged is damaged, too, before it was read back.
            let staged = files_in(&tmp, "tmp").pop().unwrap().join("large-1");
            support::flip(&staged, (1 << 20) + 100);
            assert!(in_place.exists());
        }
    });
    let copies = Copies::from([(id, bytes.clone())]);
    assert!(store.mend(&|id| copy_in(&copies, id), MendMode::Mend).is_err());
    assert!(fs::read(&path).unwrap() == damaged);
    assert_eq!(files_in(records.path(), "quarantine"), [] as [PathBuf; 0]);
    hook_steps(|_| {});
    let mended = mend(&store, &copies);
    assert_eq!(mended[0].restored, [id]);
    assert!(read(&open(records.path()), &id) == Some(bytes));
    let kept = files_in(records.path(), "quarantine");
    assert!(kept.len() == 1 && fs::read(&kept[0]).unwrap() == damaged);
}

/// A record whose put filled a pack, and its outputs in the order in which they were put.
fn spanning(store: &FsTaskStore) -> Vec<(ContentId, Vec<u8>)> {
    let attempt = store.begin(&draft(1)).unwrap();
    let mut sink = attempt.capture_sink().unwrap();
    let contents: Vec<_> = (0..CONTENTS).map(|n| noise(n, 1_000_000)).collect();
    let stored: Vec<_> = contents.iter().map(|bytes| sink.content(&mut bytes.as_slice()).unwrap()).collect();
    drop(sink);
    let artifacts = TaskArtifacts { stdout: Some(stored[0]), stderr: Some(stored[69]), ..TaskArtifacts::default() };
    store.publish(attempt, &TaskRecord { artifacts, ..record(1) }).unwrap();
    stored.iter().map(|content| content.id).zip(contents).collect()
}

#[test]
fn what_a_spanning_put_left_in_a_pack_is_readable_while_and_after_that_is_mended_in_part() {
    let records = tempfile::tempdir().unwrap();
    let store = FsTaskStore::create(records.path()).unwrap();
    let contents = spanning(&store);
    let (restored, lost) = (contents[0].clone(), contents[1].0);
    [restored.0, lost].iter().for_each(|id| support::damage(records.path(), id));
    let (place, sound) = (records.path().to_owned(), contents[2].clone());
    let looks = Rc::new(Cell::new(0));
    let counted = Rc::clone(&looks);
    hook_steps(move |step| {
        if [STAGED, "put what is mended in place"].contains(&step) {
            assert!(read(&open(&place), &sound.0).as_ref() == Some(&sound.1), "at {step:?}");
            counted.set(counted.get() + 1);
        }
    });
    let mended = mend(&store, &Copies::from([restored.clone()]));
    assert_eq!(mended.len(), 1, "{mended:?}");
    assert_eq!((&mended[0].restored, &mended[0].lost), (&vec![restored.0], &vec![lost]));
    for store in [&store, &open(records.path())] {
        let read_back = contents.iter().filter(|(id, bytes)| read(store, id).as_ref() == Some(bytes)).count();
        assert_eq!(read_back as u64, CONTENTS - 1);
    }
    assert_eq!(looks.get(), 2);
    assert!(support::packs(records.path()).iter().all(|pack| fs::metadata(pack).unwrap().len() <= 64 << 20));
    // Once the rest is found, the pack is again what it was.
    let rest = Copies::from([contents[1].clone()]);
    assert_eq!(mend(&store, &rest)[0].restored, [lost]);
    assert!(read(&open(records.path()), &lost).as_ref() == rest.get(&lost));
    assert!(open(records.path()).verify(Thoroughness::Deep, &|_| {}).unwrap().is_sound());
    assert_eq!(mend(&store, &rest), []);
}

#[test]
fn a_run_that_ends_while_a_repair_looks_for_what_is_damaged_is_recorded_at_once() {
    let records = tempfile::tempdir().unwrap();
    let store = FsTaskStore::create(records.path()).unwrap();
    let copies = small_and_large(&store);
    copies.keys().for_each(|id| support::damage(records.path(), id));
    let beside = FsTaskStore::create(records.path()).unwrap();
    let (puts, longest) = (Cell::new(0), Cell::new(Duration::ZERO));
    let find = |id: &ContentId| {
        let start = Instant::now();
        puts.set(puts.get() + 1);
        publish(&beside, 10 + puts.get(), b"beside");
        longest.set(longest.get().max(start.elapsed()));
        copy_in(&copies, id)
    };
    let mended = store.mend(&find, MendMode::Mend).unwrap();
    assert_eq!(mended.iter().map(|file| file.restored.len()).sum::<usize>(), 2, "{mended:?}");
    assert!(puts.get() >= 2 && longest.get() < Duration::from_secs(5), "{puts:?} {longest:?}");
    let store = open(records.path());
    assert_eq!(store.list().unwrap().filter(Result::is_ok).count() as u64, 2 + puts.get());
    assert!(store.verify(Thoroughness::Deep, &|_| {}).unwrap().is_sound());
}

#[test]
fn many_damaged_entries_that_no_commit_follows_are_not_each_looked_for_anew() {
    let records = tempfile::tempdir().unwrap();
    let store = FsTaskStore::create(records.path()).unwrap();
    let content = publish(&store, 1, b"output");
    let mut lane = fs::OpenOptions::new().append(true).open(records.path().join("store/lanes/lane-00.pack")).unwrap();
    let empty = EntryHeader::raw(EntryKind::Artifact, b"");
    for n in 1..=200 {
        lane.write_all(&EntryHeader { id: ContentId::new([n; 32]), ..empty }.encode()).unwrap();
    }
    // What stands before damage may have been committed, and is known.
    lane.write_all(&noise(9, 100)).unwrap();
    let looks = Rc::new(Cell::new(0));
    let counted = Rc::clone(&looks);
    hook_steps(move |step| counted.set(counted.get() + u32::from(step == "knows better where to read")));
    let mended = mend(&open(records.path()), &Copies::new());
    hook_steps(|_| {});
    assert_eq!(mended.iter().map(|file| file.lost.len()).sum::<usize>(), 200);
    assert!(looks.get() < 10, "{} looks", looks.get());
    assert_eq!(read(&store, &content.id), Some(b"output".to_vec()));
}

#[test]
fn the_end_of_a_lane_that_was_cut_off_and_kept_serves_as_a_copy() {
    let records = tempfile::tempdir().unwrap();
    let store = FsTaskStore::create(records.path()).unwrap();
    let outputs: Vec<_> = (1..4).map(|n| noise(n, 500)).collect();
    let ids: Vec<_> = (1..).zip(&outputs).map(|(n, bytes)| support::publish_stdout(&store, n, bytes)).collect();
    let [lane] = &files_in(records.path(), "lanes")[..] else { panic!("one lane") };
    let whole = fs::read(lane).unwrap();
    let (start, _) = support::objects(&whole)[0];
    assert!(start > 0, "its dictionary is not in what was cut off");
    let damaged = ids.iter().copied().chain(outputs.iter().map(|bytes| reference_to(bytes).id));
    damaged.for_each(|id| support::damage(records.path(), &id));
    let counts = |files: &[MendedFile]| match files {
        [file] => (file.restored.len(), file.lost.len()),
        _ => panic!("{files:?}"),
    };
    assert_eq!(counts(&store.mend(&|_| None, MendMode::Look).unwrap()), (0, 6));
    // One is damaged itself.
    let mut end = whole[start..].to_vec();
    fs::write(records.path().join("store/quarantine/lane-00.pack.00112233"), &end).unwrap();
    end.iter_mut().skip(HEADER_LEN).step_by(97).for_each(|byte| *byte ^= 1);
    fs::write(records.path().join("store/quarantine/lane-00.pack.00001122"), &end).unwrap();
    fs::write(records.path().join("store/quarantine/lane-01.pack.00112233"), "what no isobox wrote").unwrap();
    assert_eq!(counts(&store.mend(&|_| None, MendMode::Look).unwrap()), (6, 0));
    assert_eq!(counts(&store.mend(&|_| None, MendMode::Mend).unwrap()), (6, 0));
    let store = open(records.path());
    assert!(store.verify(Thoroughness::Deep, &|_| {}).unwrap().is_sound());
    for (id, bytes) in ids.iter().zip(&outputs) {
        let stdout = store.load(id).unwrap().expect("a record").artifacts.stdout.expect("an output");
        assert!(read(&store, &stdout.id).as_ref() == Some(bytes));
    }
    assert_eq!(files_in(records.path(), "quarantine").len(), 4);
}
