//! What a killed writer or a damaged disk leaves costs what it hits, and nothing else.

mod support;

use isobox_domain::content::ContentId;
use isobox_domain::record::{TaskArtifacts, TaskRecord};
use isobox_domain::verification::{DefectKind, Thoroughness};
use isobox_ports::contract::sample::{draft, noise, record, rejected};
use isobox_ports::{Attempts, ObjectStore, RecordLog, StoreErrorKind, Verifier};
use isobox_store::FsTaskStore;
use isobox_store_format::entry::{EntryHeader, EntryKind};
use isobox_store_format::limits::{LANES, MAX_PACK};
use std::fs;
use std::io::Read;
use std::os::unix::fs::{FileExt, PermissionsExt};
use std::path::{Path, PathBuf};
use support::{entries, flip, packs, publish_stdout};

fn open(records: &Path) -> FsTaskStore {
    FsTaskStore::open(records).unwrap().expect("a store")
}

/// The records that are listed and load, newest first.
fn readable(records: &Path) -> Vec<ContentId> {
    let store = open(records);
    let listed: Vec<_> = store.list().unwrap().filter_map(Result::ok).map(|entry| entry.record).collect();
    listed.into_iter().filter(|id| matches!(store.load(id), Ok(Some(_)))).collect()
}

fn lane(records: &Path, number: u8) -> PathBuf {
    records.join(format!("store/lanes/lane-{number:02}.pack"))
}

#[test]
fn a_put_that_was_cut_off_at_any_byte_is_invisible_and_the_next_one_follows_what_was_acknowledged() {
    let records = tempfile::tempdir().unwrap();
    let store = FsTaskStore::create(records.path()).unwrap();
    let acknowledged = [publish_stdout(&store, 2, b"second"), publish_stdout(&store, 1, b"first")];
    let before = fs::read(lane(records.path(), 0)).unwrap().len();
    publish_stdout(&store, 3, &noise(3, 200));
    let whole = fs::read(lane(records.path(), 0)).unwrap();
    for length in before..whole.len() {
        fs::write(lane(records.path(), 0), &whole[..length]).unwrap();
        assert_eq!(readable(records.path()), [acknowledged[1], acknowledged[0]], "cut at {length}");
        if length % 8 > 1 {
            continue;
        }
        let next = publish_stdout(&FsTaskStore::create(records.path()).unwrap(), 4, b"fourth");
        assert_eq!(readable(records.path()), [next, acknowledged[1], acknowledged[0]], "cut at {length}");
        assert!(open(records.path()).list().unwrap().all(|entry| entry.is_ok()), "damage is left, cut at {length}");
        assert_eq!(packs(records.path()).len(), 1, "what was cut off at {length} was not removed");
    }
}

#[test]
fn a_flipped_bit_costs_at_most_the_record_it_hits() {
    let records = tempfile::tempdir().unwrap();
    let store = FsTaskStore::create(records.path()).unwrap();
    let mut ids: Vec<_> = (1..=3).map(|n| publish_stdout(&store, n, &noise(n, 50))).collect();
    store.append(&rejected(1, ids[0], None)).unwrap();
    ids.reverse();
    let path = lane(records.path(), 0);
    let whole = fs::read(&path).unwrap();
    let file = fs::File::options().write(true).open(&path).unwrap();
    // One bit of every byte, each of the eight in turn.
    for (at, byte) in whole.iter().enumerate() {
        file.write_all_at(&[byte ^ 1 << (at % 8)], at as u64).unwrap();
        let left = readable(records.path());
        let lost: Vec<_> = ids.iter().filter(|id| !left.contains(id)).collect();
        assert!(lost.len() <= 1, "byte {at} costs {lost:?}");
        file.write_all_at(&[*byte], at as u64).unwrap();
    }
}

#[test]
fn a_record_whose_commit_is_damaged_is_named_and_can_be_loaded() {
    for is_last in [true, false] {
        let records = tempfile::tempdir().unwrap();
        let store = FsTaskStore::create(records.path()).unwrap();
        let first = publish_stdout(&store, 1, b"first");
        let end = fs::read(lane(records.path(), 0)).unwrap().len();
        if !is_last {
            publish_stdout(&store, 2, b"second");
        }
        flip(&lane(records.path(), 0), end - 20);
        let store = open(records.path());
        let errors: Vec<_> = store.list().unwrap().filter_map(Result::err).collect();
        assert_eq!(errors.len(), 1);
        assert_eq!(errors[0].kind, StoreErrorKind::Damaged);
        let reason = errors[0].source.to_string();
        assert!(reason.contains(&format!("the record {first} of {}", record(1).task)), "{reason}");
        assert!(store.load(&first).unwrap().is_some());
    }
}

#[test]
fn an_event_whose_commit_is_damaged_is_named_with_the_task_it_is_about() {
    let records = tempfile::tempdir().unwrap();
    let store = FsTaskStore::create(records.path()).unwrap();
    let first = publish_stdout(&store, 1, b"first");
    let event = store.append(&rejected(1, first, None)).unwrap();
    let end = fs::read(lane(records.path(), 0)).unwrap().len();
    flip(&lane(records.path(), 0), end - 20);
    let store = open(records.path());
    let errors: Vec<_> = store.list().unwrap().filter_map(Result::err).map(|error| error.source.to_string()).collect();
    assert_eq!(errors.len(), 1);
    let expected = format!("the event {event} about {}, record {first},", record(1).task);
    assert!(errors[0].contains(&expected), "{}", errors[0]);
}

#[test]
fn nothing_is_cut_where_a_commit_may_have_been_damaged() {
    let records = tempfile::tempdir().unwrap();
    let store = FsTaskStore::create(records.path()).unwrap();
    publish_stdout(&store, 1, b"first");
    let path = lane(records.path(), 0);
    let (at, _) = *entries(&fs::read(&path).unwrap()).last().unwrap();
    flip(&path, at + 10);
    let damaged = fs::read(&path).unwrap();
    let second = publish_stdout(&FsTaskStore::create(records.path()).unwrap(), 2, b"second");
    let kept = packs(records.path());
    assert_eq!(kept.len(), 2, "{kept:?}");
    assert!(kept.iter().any(|pack| fs::read(pack).unwrap() == damaged), "the damaged bytes are gone");
    assert_eq!(readable(records.path()), [second]);
}

#[test]
fn a_workload_cannot_forge_a_record_by_writing_one() {
    // Another store's lane as content that is stored as it is: with the header before it damaged, a scan meets its entries.
    let foreign = tempfile::tempdir().unwrap();
    let forged = publish_stdout(&FsTaskStore::create(foreign.path()).unwrap(), 7, &noise(7, 300));
    let imitation = fs::read(lane(foreign.path(), 0)).unwrap();
    let mut header = EntryHeader::raw(EntryKind::Artifact, &imitation).encode();
    header[9] ^= 1;
    let records = tempfile::tempdir().unwrap();
    let own = publish_stdout(&FsTaskStore::create(records.path()).unwrap(), 2, b"own");
    let path = lane(records.path(), 0);
    let bytes = [&header, imitation.as_slice(), &fs::read(&path).unwrap()].concat();
    fs::write(&path, bytes).unwrap();
    let listed: Vec<_> = open(records.path()).list().unwrap().filter_map(Result::ok).collect();
    assert_eq!(listed.iter().map(|entry| entry.record).collect::<Vec<_>>(), [own], "beside the forged {forged}");
}

#[test]
fn a_damaged_format_file_costs_nothing_up_to_one_bit_and_is_named_beyond() {
    let records = tempfile::tempdir().unwrap();
    let id = publish_stdout(&FsTaskStore::create(records.path()).unwrap(), 1, b"first");
    let format = records.path().join("store/FORMAT");
    flip(&format, 100);
    assert_eq!(readable(records.path()), [id]);
    flip(&format, 700);
    let refused = FsTaskStore::open(records.path()).err().map(|error| error.kind);
    assert_eq!(refused, Some(StoreErrorKind::Damaged));
    fs::remove_file(&format).unwrap();
    assert!(FsTaskStore::open(records.path()).is_err(), "a store without FORMAT but with packs is not there");
    assert!(FsTaskStore::create(records.path()).is_err(), "a store without FORMAT but with packs was made anew");
}

#[test]
fn a_task_larger_than_a_pack_spans_packs_and_reads_back() {
    let records = tempfile::tempdir().unwrap();
    let store = FsTaskStore::create(records.path()).unwrap();
    let before = publish_stdout(&store, 1, b"before");
    let attempt = store.begin(&draft(2)).unwrap();
    let mut sink = attempt.capture_sink().unwrap();
    let contents: Vec<_> = (0..90).map(|n| sink.content(&mut noise(n, 1_000_000).as_slice()).unwrap()).collect();
    drop(sink);
    let artifacts = TaskArtifacts { stdout: Some(contents[0]), stderr: Some(contents[89]), ..TaskArtifacts::default() };
    let spanning = store.publish(attempt, &TaskRecord { artifacts, ..record(2) }).unwrap();
    let after = publish_stdout(&store, 3, b"after");
    assert_eq!(readable(records.path()), [after, spanning, before]);
    let store = open(records.path());
    for (n, content) in (0..).zip(&contents) {
        let mut bytes = Vec::new();
        store.open(&content.id).unwrap().expect("content").read_to_end(&mut bytes).unwrap();
        assert!(bytes == noise(n, 1_000_000), "content {n}");
    }
    let longest = packs(records.path()).iter().map(|pack| fs::metadata(pack).unwrap().len()).max();
    assert!(longest.unwrap() <= 64 << 20);
    assert_eq!(packs(records.path()).len(), 3);
}

#[test]
fn an_attempt_that_is_taken_over_never_writes_into_what_its_dead_owner_had_stored() {
    let records = tempfile::tempdir().unwrap();
    let store = FsTaskStore::create(records.path()).unwrap();
    let bytes = noise(1, 2 << 20);
    let attempt = store.begin(&draft(1)).unwrap();
    let large = attempt.capture_sink().unwrap().content(&mut bytes.as_slice()).unwrap();
    let missing = isobox_domain::content::ContentRef { id: ContentId::new([7; 32]), length: 7 };
    let artifacts = |stdout| TaskArtifacts { stdout: Some(stdout), ..TaskArtifacts::default() };
    assert!(store.publish(attempt, &TaskRecord { artifacts: artifacts(missing), ..record(1) }).is_err());
    publish_stdout(&store, 2, &bytes);
    let taken_over = store.abandoned().unwrap().remove(0);
    taken_over.capture_sink().unwrap().content(&mut noise(2, 3 << 20).as_slice()).unwrap();
    let mut found = Vec::new();
    store.open(&large.id).unwrap().expect("content").read_to_end(&mut found).unwrap();
    assert!(found == bytes);
}

/// Puts something that is no file of entries at `path`.
type Put = fn(&Path);

const FOREIGN: [(&str, Put); 3] = [
    ("a directory", |path| fs::create_dir(path).unwrap()),
    ("a link", |path| std::os::unix::fs::symlink("/dev/zero", path).unwrap()),
    ("a pipe", |path| nix::unistd::mkfifo(path, nix::sys::stat::Mode::S_IRWXU).unwrap()),
];

#[test]
fn what_lies_in_the_place_of_a_lane_or_pack_costs_no_other_record() {
    let sealed = format!("packs/{}.pack", ContentId::new([7; 32]).to_hex());
    for (what, put) in FOREIGN {
        for place in ["lanes/lane-00.pack", "lanes/lane-07.pack", &sealed] {
            let records = tempfile::tempdir().unwrap();
            let first = publish_stdout(&FsTaskStore::create(records.path()).unwrap(), 1, b"first");
            let lane = lane(records.path(), 0);
            // Sealed, so that the record stands where nothing is put.
            let id = ContentId::new(*blake3::hash(&fs::read(&lane).unwrap()).as_bytes());
            fs::rename(&lane, records.path().join(format!("store/packs/{}.pack", id.to_hex()))).unwrap();
            put(&records.path().join("store").join(place));
            let second = publish_stdout(&FsTaskStore::create(records.path()).unwrap(), 2, b"second");
            assert_eq!(readable(records.path()), [second, first], "{what} at {place}");
            let store = open(records.path());
            let told: Vec<_> = store.list().unwrap().filter_map(Result::err).map(|error| error.kind).collect();
            assert_eq!(told, [StoreErrorKind::Damaged], "{what} at {place}");
            let found = store.verify(Thoroughness::Full, &|_| {}).unwrap();
            let [defect] = &found.defects[..] else { panic!("{what} at {place}: {found:?}") };
            assert!(matches!(&defect.kind, DefectKind::Damaged { file, .. } if file.ends_with(place)), "{defect:?}");
            assert_eq!(found.records, 2, "{what} at {place}");
        }
    }
}

#[test]
fn where_no_lane_is_usable_a_put_fails_at_once_and_what_was_published_is_read() {
    let records = tempfile::tempdir().unwrap();
    let first = publish_stdout(&FsTaskStore::create(records.path()).unwrap(), 1, b"first");
    fs::File::options().write(true).open(lane(records.path(), 0)).unwrap().set_len(MAX_PACK + 1).unwrap();
    (1..LANES).for_each(|number| fs::create_dir(lane(records.path(), number)).unwrap());
    let store = FsTaskStore::create(records.path()).unwrap();
    assert_eq!(store.probe(0).unwrap_err().kind, StoreErrorKind::Damaged);
    let attempt = store.begin(&draft(2)).unwrap();
    let failed = store.publish(attempt, &record(2)).unwrap_err();
    assert_eq!(failed.kind, StoreErrorKind::Damaged, "{failed}");
    assert_eq!(readable(records.path()), [first]);
}

#[test]
fn a_lane_that_grew_beyond_its_limit_keeps_its_records_and_takes_no_more() {
    let records = tempfile::tempdir().unwrap();
    let first = publish_stdout(&FsTaskStore::create(records.path()).unwrap(), 1, b"first");
    fs::File::options().write(true).open(lane(records.path(), 0)).unwrap().set_len(1 << 40).unwrap();
    let second = publish_stdout(&FsTaskStore::create(records.path()).unwrap(), 2, b"second");
    assert_eq!(readable(records.path()), [second, first]);
    assert!(lane(records.path(), 1).exists());
    let found = open(records.path()).verify(Thoroughness::Full, &|_| {}).unwrap();
    assert_eq!((found.is_sound(), found.records), (false, 2), "{found:?}");
}

#[test]
fn a_lane_that_was_left_read_only_is_put_into_all_the_same() {
    let records = tempfile::tempdir().unwrap();
    let first = publish_stdout(&FsTaskStore::create(records.path()).unwrap(), 1, b"one");
    fs::set_permissions(lane(records.path(), 0), fs::Permissions::from_mode(0o444)).unwrap();
    let second = publish_stdout(&open(records.path()), 2, b"two");
    assert_eq!(readable(records.path()), [second, first]);
    assert!(!lane(records.path(), 1).exists(), "it went into the same lane");
}
