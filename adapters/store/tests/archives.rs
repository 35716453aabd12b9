//! Archives of stores: the same from wherever they come, and every damage found.

mod support;

use isobox_domain::content::{ContentId, ContentRef};
use isobox_domain::record::{TaskArtifacts, TaskRecord};
use isobox_domain::verification::{DefectKind, Thoroughness};
use isobox_ports::contract::sample::{draft, noise, promoted, record, rejected};
use isobox_ports::{Archiver, Attempts, ObjectStore, RecordLog, Role, StoreErrorKind, Verifier};
use isobox_store::{FsArchive, FsTaskStore};
use isobox_store_format::archive::{Archive, ArchiveWriter, Head, Section};
use isobox_store_format::commit::Commit;
use isobox_store_format::dictionary::find_dictionary;
use isobox_store_format::entry::{EntryHeader, EntryKind, HEADER_LEN};
use isobox_store_format::event::encode_event;
use isobox_store_format::frame::decode_payload_with;
use isobox_store_format::object::reference_to;
use isobox_store_format::record::encode_record;
use proptest::prelude::*;
use std::collections::BTreeMap;
use std::fs;
use std::io::Read;
use std::os::unix::fs::symlink;
use std::path::Path;
use tempfile::TempDir;

/// Publishes the n-th record, with an output of that length and one that all share.
fn publish(store: &FsTaskStore, n: u64, length: usize) -> ContentId {
    publish_content(store, n, &noise(n, length))
}

/// The same with that very output.
fn publish_content(store: &FsTaskStore, n: u64, stdout: &[u8]) -> ContentId {
    let attempt = store.begin(&draft(n)).unwrap();
    let staged = |role, bytes: &[u8]| {
        let mut writer = attempt.stage(role).unwrap();
        writer.write_all(bytes).unwrap();
        Some(writer.finish().unwrap())
    };
    let (stdout, stderr) = (staged(Role::Stdout, stdout), staged(Role::Stderr, b"what all of them say"));
    let mut artifacts = TaskArtifacts { stdout, stderr, ..TaskArtifacts::default() };
    let mut sink = attempt.capture_sink().unwrap();
    let content = sink.content(&mut format!("file {n}").as_bytes()).unwrap();
    let after = isobox_domain::change::After { mode: isobox_domain::change::Mode::File, content, binary: false };
    let path = isobox_domain::repo_path::RepoPath::parse("a/file").unwrap();
    let change =
        isobox_domain::change::Change { path, before: None, after: Some(after), renamed_from: None, submodule: None };
    sink.line(isobox_domain::change::ChangeLine::Change(change)).unwrap();
    artifacts.change_set = sink.finish().unwrap().change_set;
    store.publish(attempt, &TaskRecord { artifacts, ..record(n) }).unwrap()
}

fn store() -> (TempDir, FsTaskStore) {
    let directory = tempfile::tempdir().unwrap();
    let store = FsTaskStore::create(directory.path()).unwrap();
    (directory, store)
}

/// A store with these records, published in that order, and two events about the first.
fn filled(order: &[u64], length: usize) -> (TempDir, FsTaskStore) {
    let (directory, store) = store();
    for n in order {
        publish(&store, *n, length);
    }
    let first = publish(&store, 1, length);
    let event = store.append(&rejected(1, first, None)).unwrap();
    store.append(&promoted(1, first, Some(event))).unwrap();
    (directory, store)
}

fn records_of(log: &dyn RecordLog) -> Vec<ContentId> {
    log.list().unwrap().map(|entry| entry.unwrap().record).collect()
}

fn archive_of<T: Archiver + RecordLog>(source: &T) -> Vec<u8> {
    let mut bytes = Vec::new();
    source.archive(&records_of(source), &mut bytes, &|_| {}).unwrap();
    bytes
}

fn written(directory: &Path, bytes: &[u8]) -> FsArchive {
    let path = directory.join("all.isobox");
    fs::write(&path, bytes).unwrap();
    FsArchive::open_incomplete(&path).unwrap()
}

#[test]
fn the_same_records_are_the_same_bytes_from_any_store_and_in_any_order() {
    let (directory, one) = filled(&[1, 2, 3], 5000);
    let (_other, another) = filled(&[3, 9, 1, 2], 5000);
    let expected = archive_of(&one);
    let mut named: Vec<_> = records_of(&one);
    named.reverse();
    named.extend(named.clone());
    let mut bytes = Vec::new();
    another.archive(&named, &mut bytes, &|_| {}).unwrap();
    assert!(bytes == expected, "from another store, in another order");
    let archive = written(directory.path(), &expected);
    assert!(archive_of(&archive) == expected, "from the archive itself");
}

/// A copy of the store in `records` in which nothing small is compressed: other bytes, the same records.
fn uncompressed(records: &Path) -> TempDir {
    let copy = tempfile::tempdir().unwrap();
    FsTaskStore::create(copy.path()).unwrap();
    let [from, to] = [records, copy.path()].map(|records| records.join("store"));
    fs::copy(from.join("FORMAT"), to.join("FORMAT")).unwrap();
    let pack = fs::read(from.join("lanes/lane-00.pack")).unwrap();
    let dictionary = find_dictionary(pack.as_slice(), pack.len() as u64).unwrap();
    let (mut raw_pack, mut start, mut previous) = (Vec::new(), 0, None);
    for (at, header) in support::entries(&pack) {
        let stored = pack[at + HEADER_LEN..at + header.entry_length() as usize].to_vec();
        let mut raw = decode_payload_with(&header, stored, dictionary.as_ref()).unwrap();
        if header.kind == EntryKind::Commit {
            let span = (raw_pack.len() - start) as u64;
            raw = Commit { span, previous, ..Commit::decode(&raw).unwrap() }.encode().unwrap();
            previous = Some(reference_to(&raw).id);
        }
        raw_pack.extend(EntryHeader::raw(header.kind, &raw).encode());
        raw_pack.extend(raw);
        start = if header.kind == EntryKind::Commit { raw_pack.len() } else { start };
    }
    assert!(raw_pack.len() > pack.len() + 1000, "something was compressed");
    fs::write(to.join("lanes/lane-00.pack"), raw_pack).unwrap();
    copy
}

#[test]
fn how_a_store_holds_its_content_is_not_seen_in_an_archive() {
    let (directory, store) = store();
    for n in 0..5 {
        let attempt = store.begin(&draft(n)).unwrap();
        let mut writer = attempt.stage(Role::Stdout).unwrap();
        writer.write_all(&b"again and again ".repeat(100 + n as usize)).unwrap();
        let artifacts = TaskArtifacts { stdout: Some(writer.finish().unwrap()), ..TaskArtifacts::default() };
        store.publish(attempt, &TaskRecord { artifacts, ..record(n) }).unwrap();
    }
    let copy = uncompressed(directory.path());
    let raw = FsTaskStore::open(copy.path()).unwrap().expect("a store");
    assert!(raw.verify(Thoroughness::Deep, &|_| {}).unwrap().is_sound());
    assert!(archive_of(&raw) == archive_of(&store));
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(24))]

    #[test]
    fn stores_of_any_shape_give_one_archive_that_is_whole(
        shapes in prop::collection::vec((0..4_u64, prop_oneof![0..3000_usize, Just((1 << 20) - 1), Just(1 << 20), Just((1 << 20) + 7)], 0..3_usize), 1..5),
    ) {
        let fill = |order: &mut dyn Iterator<Item = usize>| {
            let (directory, store) = store();
            for n in order {
                let (content, length, events) = shapes[n];
                let record = publish_content(&store, n as u64, &noise(content, length));
                (0..events).fold(None, |previous, _| Some(store.append(&rejected(n as u64, record, previous)).unwrap()));
            }
            (directory, store)
        };
        let (directory, one) = fill(&mut (0..shapes.len()));
        let (_other, another) = fill(&mut (0..shapes.len()).rev());
        let expected = archive_of(&one);
        prop_assert!(archive_of(&another) == expected);
        let archive = written(directory.path(), &expected);
        let found = archive.verify(Thoroughness::Deep, &|_| {}).unwrap();
        prop_assert!(found.is_sound(), "{:?}", found);
        prop_assert!(archive_of(&archive) == expected);
        let ids = every_id(&expected);
        prop_assert!(ids.iter().all(|id| archive.bytes(id).unwrap() == one.bytes(id).unwrap()));
        prop_assert!(ids.iter().all(|id| archive.events(id).unwrap() == one.events(id).unwrap()));
    }
}

#[test]
fn a_large_artifact_goes_through_an_archive_and_is_there_once() {
    let (directory, store) = filled(&[1, 2], (2 << 20) + 3);
    let bytes = archive_of(&store);
    let archive = written(directory.path(), &bytes);
    archive.require_length().unwrap();
    assert!(archive.verify(Thoroughness::Deep, &|_| {}).unwrap().is_sound());
    let mut read = Vec::new();
    let stdout = reference_to(&noise(2, (2 << 20) + 3));
    archive.open(&stdout.id).unwrap().expect("it is there").read_to_end(&mut read).unwrap();
    assert_eq!(reference_to(&read), stdout);
    assert!(bytes.len() < 5 << 20, "{} bytes", bytes.len());
}

/// Everything that can be asked of an Archive: the answer to each question, `None` where that is an error.
fn answers(archive: &FsArchive, ids: &[ContentId]) -> Vec<Option<String>> {
    let content = |id: &ContentId| {
        let mut bytes = Vec::new();
        archive.open(id).ok()?.map(|mut content| content.read_to_end(&mut bytes)).transpose().ok()?;
        Some(format!("{bytes:?}"))
    };
    let asked = ids.iter().flat_map(|id| {
        let record = archive.load(id).ok().map(|record| format!("{record:?}"));
        let events = archive.events(id).ok().map(|events| format!("{events:?}"));
        [record, events, content(id), archive.bytes(id).ok().map(|bytes| format!("{bytes:?}"))]
    });
    asked.collect()
}

fn every_id(bytes: &[u8]) -> Vec<ContentId> {
    let archive = Archive::open(bytes).unwrap();
    (0..archive.head().rows()).map(|at| archive.row(at).unwrap().id).collect()
}

#[test]
fn every_flipped_byte_is_found_and_gives_no_wrong_answer() {
    let (directory, store) = filled(&[1, 2], 50);
    let bytes = archive_of(&store);
    let (path, ids) = (directory.path().join("all.isobox"), every_id(&bytes));
    let truth = answers(&written(directory.path(), &bytes), &ids);
    for at in 0..bytes.len() {
        let mut flipped = bytes.clone();
        flipped[at] ^= 0x04;
        fs::write(&path, &flipped).unwrap();
        let Ok(archive) = FsArchive::open(&path) else { continue };
        assert!(!archive.verify(Thoroughness::Deep, &|_| {}).unwrap().is_sound(), "byte {at}");
        let found = answers(&archive, &ids);
        let is_right = found.iter().zip(&truth).all(|(found, truth)| found.is_none() || found == truth);
        assert!(is_right, "byte {at}");
    }
}

#[test]
fn a_cut_archive_is_refused_and_what_is_left_of_it_is_right() {
    let (directory, store) = filled(&[1, 2], 50);
    let bytes = archive_of(&store);
    let (path, ids) = (directory.path().join("all.isobox"), every_id(&bytes));
    let truth = answers(&written(directory.path(), &bytes), &ids);
    for cut in 0..400 {
        fs::write(&path, &bytes[..bytes.len() * cut / 400]).unwrap();
        assert!(FsArchive::open(&path).is_err());
        let Ok(archive) = FsArchive::open_incomplete(&path) else { continue };
        assert!(!archive.verify(Thoroughness::Deep, &|_| {}).unwrap().is_sound());
        let found = answers(&archive, &ids);
        assert!(found.iter().zip(&truth).all(|(found, truth)| found.is_none() || found == truth), "{cut}");
    }
}

#[test]
fn what_is_no_regular_file_or_no_archive_is_not_opened() {
    let directory = tempfile::tempdir().unwrap();
    let path = |name: &str| directory.path().join(name);
    nix::unistd::mkfifo(&path("pipe"), nix::sys::stat::Mode::S_IRUSR).unwrap();
    symlink("dangling", path("link")).unwrap();
    fs::write(path("empty"), "").unwrap();
    fs::write(path("text"), [b'x'; 1000]).unwrap();
    let kind = |name: &str| FsArchive::open(&path(name)).err().map(|error| error.kind);
    assert_eq!(["pipe", ".", "link"].map(kind), [Some(StoreErrorKind::Io); 3]);
    assert_eq!(["empty", "text"].map(kind), [Some(StoreErrorKind::Unsuitable); 2]);
}

#[test]
fn nothing_is_ever_written_to_an_archive() {
    let (directory, store) = filled(&[1], 50);
    let bytes = archive_of(&store);
    let archive = written(directory.path(), &bytes);
    assert!(archive.begin(&draft(1)).is_err() && archive.probe(0).is_err());
    assert!(archive.append(&rejected(1, records_of(&store)[0], None)).is_err());
    assert!(fs::read(directory.path().join("all.isobox")).unwrap() == bytes);
}

/// An Archive of exactly these objects, whatever they mean.
fn forged(record: &[u8], events: &[Vec<u8>], artifacts: &[&[u8]]) -> Vec<u8> {
    let artifacts: BTreeMap<ContentRef, &[u8]> = artifacts.iter().map(|bytes| (reference_to(bytes), *bytes)).collect();
    let all = || [record].into_iter().chain(events.iter().map(Vec::as_slice)).chain(artifacts.values().copied());
    let bytes = all().map(|object| object.len() as u64).sum();
    let head = Head::of(1, events.len() as u64, artifacts.len() as u64, bytes).unwrap();
    let mut writer = ArchiveWriter::begin(Vec::new(), head).unwrap();
    for (at, object) in all().enumerate() {
        writer.row(&reference_to(object), if at == 0 { events.len() as u64 } else { 0 }).unwrap();
    }
    writer.end_table().unwrap();
    all().for_each(|mut object| writer.object(&reference_to(object), &mut object).unwrap());
    writer.finish().unwrap()
}

#[test]
fn an_archive_that_holds_too_little_or_too_much_is_not_sound() {
    let directory = tempfile::tempdir().unwrap();
    let artifacts = TaskArtifacts { stdout: Some(reference_to(b"said")), ..TaskArtifacts::default() };
    let encoded = encode_record(&TaskRecord { artifacts, ..record(1) }).unwrap();
    let (policy, subject) = (encoded.policy_bytes.as_slice(), encoded.reference().id);
    let event = |previous| encode_event(&rejected(1, subject, previous)).unwrap();
    let first = event(None);
    let second = encode_event(&promoted(1, subject, Some(reference_to(&first).id))).unwrap();
    let verify = |events: &[Vec<u8>], artifacts: &[&[u8]]| {
        let archive = written(directory.path(), &forged(&encoded.bytes, events, artifacts));
        archive.verify(Thoroughness::Deep, &|_| {}).unwrap()
    };
    assert!(verify(&[first.clone(), second.clone()], &[policy, b"said"]).is_sound());
    let lacking = verify(&[], &[policy]);
    assert_eq!(lacking.defects[0].kind, DefectKind::Missing { object: reference_to(b"said").id });
    assert_eq!(lacking.defects[0].records.len(), 1);
    assert!(!verify(&[], &[policy, b"said", b"smuggled"]).is_sound(), "nothing refers to it");
    assert!(!verify(&[second, first], &[policy, b"said"]).is_sound(), "events out of order");
    let foreign = encode_event(&rejected(2, ContentId::new([9; 32]), None)).unwrap();
    assert!(!verify(&[foreign], &[policy, b"said"]).is_sound(), "an event about another record");
    assert!(!verify(&[policy.to_vec()], &[policy, b"said"]).is_sound(), "no event");
}

#[test]
fn a_damaged_store_gives_no_archive_of_what_is_damaged() {
    let (directory, store) = filled(&[1, 2], 5000);
    support::damage(directory.path(), &reference_to(&noise(2, 5000)).id);
    let damaged = publish_of(&store, 2);
    assert!(store.archive(&[damaged], &mut Vec::new(), &|_| {}).is_err());
    let whole: Vec<_> = records_of(&store).into_iter().filter(|record| *record != damaged).collect();
    store.archive(&whole, &mut Vec::new(), &|_| {}).unwrap();
    assert!(store.archive(&[ContentId::new([7; 32])], &mut Vec::new(), &|_| {}).is_err());
    assert!(store.archive(&[], &mut Vec::new(), &|_| {}).is_err());
}

fn publish_of(store: &FsTaskStore, n: u64) -> ContentId {
    let entries = store.list().unwrap().map(Result::unwrap);
    entries.into_iter().find(|entry| entry.task == record(n).task).unwrap().record
}

#[test]
fn an_archive_of_ten_thousand_objects_is_looked_up_by_its_table() {
    let artifacts: Vec<Vec<u8>> = (0..10_000_u32).map(|n| n.to_le_bytes().to_vec()).collect();
    let slices: Vec<&[u8]> = artifacts.iter().map(Vec::as_slice).collect();
    let bytes = forged(b"a record", &[], &slices);
    let archive = Archive::open(bytes.as_slice()).unwrap();
    for artifact in &artifacts {
        let id = reference_to(artifact).id;
        let (_, row) = archive.find(Section::Artifacts, &id).unwrap().expect("it is there");
        assert_eq!(&archive.small(&row).unwrap(), artifact);
    }
    assert!(archive.find(Section::Artifacts, &ContentId::new([1; 32])).unwrap().is_none());
}
