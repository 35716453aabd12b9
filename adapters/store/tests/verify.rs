//! A verification finds what is not as it was written, and names every record that this touches.

mod support;

use isobox_domain::change::{After, Change, ChangeLine, Mode};
use isobox_domain::content::ContentId;
use isobox_domain::record::{TaskArtifacts, TaskRecord};
use isobox_domain::repo_path::RepoPath;
use isobox_domain::verification::{
    Affected, DefectKind, Leftovers, Sample, Thoroughness, TornTail, Verdict, Verification,
};
use isobox_ports::contract::sample::{draft, noise, record, rejected};
use isobox_ports::{Attempts, ObjectStore, RecordLog, Role, Verifier};
use isobox_store::FsTaskStore;
use isobox_store_format::entry::{EntryKind, HEADER_LEN};
use std::collections::BTreeSet;
use std::fs;
use std::io::{Read, Write};
use std::path::{Path, PathBuf};
use std::sync::Mutex;
use support::{entries, flip, packs};
use tempfile::TempDir;

fn open(records: &Path) -> FsTaskStore {
    FsTaskStore::open(records).unwrap().expect("a store")
}

fn verify(records: &Path, how: Thoroughness) -> Verification {
    open(records).verify(how, &|_| {}).unwrap()
}

/// Publishes a record with an output of its own, an error output that others share, and a changed file.
fn publish(store: &FsTaskStore, n: u64, length: usize) -> ContentId {
    let attempt = store.begin(&draft(n)).unwrap();
    let mut stdout = attempt.stage(Role::Stdout).unwrap();
    stdout.write_all(&noise(n, length)).unwrap();
    let mut stderr = attempt.stage(Role::Stderr).unwrap();
    stderr.write_all(b"the same of all").unwrap();
    let (stdout, stderr) = (stdout.finish().unwrap(), stderr.finish().unwrap());
    let mut sink = attempt.capture_sink().unwrap();
    let content = sink.content(&mut noise(1000 + n, 300).as_slice()).unwrap();
    let after = After { mode: Mode::File, content, binary: true };
    let path = RepoPath::parse("src/lib.rs").unwrap();
    let change = Change { path, before: None, after: Some(after), renamed_from: None, submodule: None };
    sink.line(ChangeLine::Change(change)).unwrap();
    let captured = sink.finish().unwrap();
    let artifacts = TaskArtifacts {
        stdout: Some(stdout),
        stderr: Some(stderr),
        change_set: captured.change_set,
        patch: captured.patch,
        ..TaskArtifacts::default()
    };
    store.publish(attempt, &TaskRecord { artifacts, ..record(n) }).unwrap()
}

/// A store with four records, one with a large output, and an event.
fn store() -> (TempDir, Vec<ContentId>) {
    let records = tempfile::tempdir().unwrap();
    let store = FsTaskStore::create(records.path()).unwrap();
    let mut ids: Vec<_> = (1..4).map(|n| publish(&store, n, 400)).collect();
    ids.push(publish(&store, 4, 3 << 20));
    store.append(&rejected(1, ids[0], None)).unwrap();
    (records, ids)
}

fn affected(found: &Verification) -> BTreeSet<ContentId> {
    found.defects.iter().flat_map(|defect| &defect.records).map(|affected| affected.record).collect()
}

/// Whether everything that a record refers to can be read, found without a verification.
fn is_readable(records: &Path, id: &ContentId) -> bool {
    let store = open(records);
    let content = |id: &ContentId| {
        let opened = store.open(id).ok().flatten();
        opened.is_some_and(|mut content| content.read_to_end(&mut Vec::new()).is_ok())
    };
    let is_listed = store.list().unwrap().filter_map(Result::ok).any(|entry| entry.record == *id);
    let Ok(Some(record)) = store.load(id) else { return false };
    let artifacts = record.artifacts;
    let outputs = [artifacts.stdout, artifacts.stderr, artifacts.patch].into_iter().flatten();
    let lines = store.changes(&artifacts.change_set.unwrap());
    is_listed
        && outputs.map(|output| output.id).all(|id| content(&id))
        && lines.is_ok_and(|mut lines| {
            lines.all(|line| match line {
                Ok(ChangeLine::Change(change)) => change.after.is_some_and(|after| content(&after.content.id)),
                _ => false,
            })
        })
}

fn copy(from: &Path) -> TempDir {
    let to = tempfile::tempdir().unwrap();
    let copied = std::process::Command::new("cp").arg("-a").arg(from.join(".")).arg(to.path()).status();
    assert!(copied.unwrap().success());
    fs::remove_dir_all(to.path().join("store/cache")).unwrap();
    fs::create_dir(to.path().join("store/cache")).unwrap();
    to
}

fn lane(records: &Path) -> PathBuf {
    records.join("store/lanes/lane-00.pack")
}

#[test]
fn a_sound_store_is_sound_however_thoroughly_it_is_read() {
    let (records, ids) = store();
    let ways = [Thoroughness::Quick, Thoroughness::Full, Thoroughness::Deep];
    let mut read = Vec::new();
    for how in ways {
        let found = verify(records.path(), how);
        assert_eq!(found.defects, [], "{how:?}");
        assert_eq!((found.packs, found.records, found.events), (1, 4, 1));
        assert_eq!((found.integrity(), found.completeness()), (Verdict::Holds, Verdict::Unknown), "there is no log");
        assert_eq!(found.signature(), Verdict::Unknown);
        read.push(found.read_bytes);
    }
    assert_eq!(read[0], 0, "a quick one reads no content");
    assert!(read[1] > 3 << 20);
    for id in ids {
        let found = open(records.path()).verify_record(&id).unwrap().expect("it was committed");
        assert!(found.is_sound() && found.read > 3, "{found:?}");
    }
    assert_eq!(open(records.path()).verify_record(&ContentId::new([7; 32])).unwrap(), None);
}

#[test]
fn every_flipped_byte_of_a_lane_is_found_and_every_record_that_it_touches_is_named() {
    let records = tempfile::tempdir().unwrap();
    let store = FsTaskStore::create(records.path()).unwrap();
    let ids: Vec<_> = (1..4).map(|n| publish(&store, n, 400)).collect();
    store.append(&rejected(1, ids[0], None)).unwrap();
    let bytes = fs::read(lane(records.path())).unwrap();
    let places = entries(&bytes).into_iter().flat_map(|(at, header)| {
        let payload = at + HEADER_LEN..at + header.entry_length() as usize;
        // Every field of the header, and some of the payload.
        let fields = [0, 4, 5, 6, 7, 8, 39, 40, 48, 56, 60].map(|field| at + field);
        fields.into_iter().chain(payload.step_by(131))
    });
    let mut count = 0;
    for at in places {
        let damaged = copy(records.path());
        flip(&lane(damaged.path()), at);
        let found = verify(damaged.path(), Thoroughness::Full);
        assert!(!found.is_sound(), "byte {at} was not found");
        let named = affected(&found);
        for id in &ids {
            assert!(named.contains(id) || is_readable(damaged.path(), id), "byte {at}: {id} is not named: {found:?}");
        }
        count += 1;
    }
    assert!(count > 100, "{count}");
}

#[test]
fn damage_to_what_all_records_share_names_all_of_them_and_damage_to_one_names_one() {
    let (records, ids) = store();
    let store = open(records.path());
    let artifacts = store.load(&ids[1]).unwrap().unwrap().artifacts;
    for (object, touched) in [(artifacts.stderr.unwrap(), ids.clone()), (artifacts.stdout.unwrap(), vec![ids[1]])] {
        let damaged = copy(records.path());
        support::damage(damaged.path(), &object.id);
        let found = verify(damaged.path(), Thoroughness::Full);
        assert_eq!(affected(&found), touched.iter().copied().collect());
        let [defect] = &found.defects[..] else { panic!("{found:?}") };
        assert!(matches!(defect.kind, DefectKind::Damaged { object: Some(id), .. } if id == object.id));
        assert_eq!((found.integrity(), found.completeness()), (Verdict::Broken, Verdict::Unknown));
        assert!(verify(damaged.path(), Thoroughness::Quick).is_sound(), "a quick one does not look");
        let one = open(damaged.path()).verify_record(&ids[1]).unwrap().unwrap();
        assert_eq!(affected(&one), BTreeSet::from([ids[1]]));
    }
}

#[test]
fn damage_to_a_file_of_a_change_set_names_the_record_that_it_belongs_to() {
    let (records, ids) = store();
    let store = open(records.path());
    let change_set = store.load(&ids[2]).unwrap().unwrap().artifacts.change_set.unwrap();
    let Some(Ok(ChangeLine::Change(change))) = store.changes(&change_set).unwrap().next() else { panic!("no change") };
    support::damage(records.path(), &change.after.unwrap().content.id);
    assert_eq!(affected(&verify(records.path(), Thoroughness::Full)), BTreeSet::from([ids[2]]));
}

#[test]
fn a_damaged_or_missing_large_artifact_names_its_record() {
    let (records, ids) = store();
    let stdout = open(records.path()).load(&ids[3]).unwrap().unwrap().artifacts.stdout.unwrap();
    let hex = stdout.id.to_hex();
    let large = |records: &Path| records.join("store/large").join(&hex[..2]).join(&hex[2..]);
    let damaged = copy(records.path());
    support::damage(damaged.path(), &stdout.id);
    assert_eq!(affected(&verify(damaged.path(), Thoroughness::Full)), BTreeSet::from([ids[3]]));
    let missing = copy(records.path());
    fs::remove_file(large(missing.path())).unwrap();
    assert_eq!(affected(&verify(missing.path(), Thoroughness::Quick)), BTreeSet::from([ids[3]]));
    // Something else in its place costs no more.
    std::os::unix::fs::symlink("/dev/zero", large(missing.path())).unwrap();
    assert_eq!(affected(&verify(missing.path(), Thoroughness::Full)), BTreeSet::from([ids[3]]));
    fs::remove_file(large(missing.path())).unwrap();
    nix::unistd::mkfifo(&large(missing.path()), nix::sys::stat::Mode::S_IRWXU).unwrap();
    assert_eq!(affected(&verify(missing.path(), Thoroughness::Full)), BTreeSet::from([ids[3]]));
}

#[test]
fn another_whole_copy_keeps_a_record_from_being_touched() {
    let (records, _) = store();
    // The policy is stored twice.
    let bytes = fs::read(lane(records.path())).unwrap();
    let all = entries(&bytes);
    let twice = all.iter().find(|(at, header)| {
        header.kind == EntryKind::Artifact && all.iter().any(|(other, second)| other != at && second.id == header.id)
    });
    flip(&lane(records.path()), twice.expect("the policy is stored twice").0 + HEADER_LEN);
    let found = verify(records.path(), Thoroughness::Deep);
    assert_eq!((found.defects.len(), affected(&found).len()), (1, 0), "{found:?}");
}

#[test]
fn the_parts_of_a_sample_find_together_what_a_full_verification_finds() {
    let (records, ids) = store();
    let stdout = open(records.path()).load(&ids[0]).unwrap().unwrap().artifacts.stdout.unwrap();
    support::damage(records.path(), &stdout.id);
    let parts = (1..=5).filter_map(|part| Sample::new(part, 5)).map(Thoroughness::Sampled);
    let found: Vec<_> = parts.map(|how| verify(records.path(), how)).collect();
    assert_eq!(found.iter().filter(|found| !found.is_sound()).count(), 1);
    let full = verify(records.path(), Thoroughness::Full);
    assert_eq!(found.iter().map(|found| found.read).sum::<u64>(), full.read);
}

#[test]
fn a_pack_that_is_missing_is_a_gap_and_its_records_are_missed() {
    let (records, ids) = store();
    // Sealed, so that the lane goes on in another file.
    let lane = lane(records.path());
    let id = ContentId::new(*blake3::hash(&fs::read(&lane).unwrap()).as_bytes());
    let pack = records.path().join(format!("store/packs/{}.pack", id.to_hex()));
    fs::rename(&lane, &pack).unwrap();
    let later = publish(&FsTaskStore::create(records.path()).unwrap(), 9, 100);
    let whole = verify(records.path(), Thoroughness::Deep);
    assert_eq!((whole.defects.len(), whole.packs, whole.records), (0, 2, 5));
    fs::remove_file(&pack).unwrap();
    fs::remove_dir_all(records.path().join("store/cache")).unwrap();
    fs::create_dir(records.path().join("store/cache")).unwrap();
    let found = verify(records.path(), Thoroughness::Quick);
    assert_eq!((found.integrity(), found.completeness()), (Verdict::Holds, Verdict::Broken));
    let gaps = found.defects.iter().filter(|defect| matches!(&defect.kind, DefectKind::Gap { reason } if reason.contains("COMMITs 1 to 5 of lane 0 are missing")));
    assert_eq!(gaps.count(), 1, "{found:?}");
    // Later records share what was stored with earlier ones.
    assert_eq!(affected(&found), BTreeSet::from([later]));
    assert!(!affected(&found).contains(&ids[0]));
}

#[test]
fn a_pack_whose_bytes_are_not_those_of_its_name_is_found() {
    let (records, _) = store();
    let pack = records.path().join(format!("store/packs/{}.pack", ContentId::new([3; 32]).to_hex()));
    fs::rename(lane(records.path()), &pack).unwrap();
    assert!(verify(records.path(), Thoroughness::Quick).is_sound());
    assert_eq!(verify(records.path(), Thoroughness::Full).integrity(), Verdict::Broken);
}

#[test]
fn the_end_of_a_lane_that_no_commit_follows_is_told_with_its_length_and_is_no_defect() {
    let (records, ids) = store();
    let whole = fs::read(lane(records.path())).unwrap();
    let (last, header) = *entries(&whole).last().unwrap();
    assert_eq!(header.kind, EntryKind::Commit);
    let before = entries(&whole).iter().rev().skip(1).find(|(_, header)| header.kind == EntryKind::Commit).copied();
    let settled = before.map(|(at, header)| at + header.entry_length() as usize).unwrap();
    assert_eq!(verify(records.path(), Thoroughness::Quick).leftovers, Leftovers::default());
    for length in [whole.len() - 1, last + HEADER_LEN, last + 3, last, settled + 1] {
        let cut = copy(records.path());
        fs::write(lane(cut.path()), &whole[..length]).unwrap();
        for how in [Thoroughness::Quick, Thoroughness::Deep] {
            let found = verify(cut.path(), how);
            let tail = TornTail {
                file: lane(cut.path()).display().to_string(),
                offset: settled as u64,
                bytes: (length - settled) as u64,
                is_unwritten: false,
            };
            assert_eq!((found.leftovers.torn_tails, found.defects), (vec![tail], vec![]), "{length}");
        }
        // The next writer cuts it off.
        publish(&FsTaskStore::create(cut.path()).unwrap(), 9, 100);
        assert_eq!(verify(cut.path(), Thoroughness::Full).leftovers, Leftovers::default());
    }
    let damaged = copy(records.path());
    flip(&lane(damaged.path()), last + HEADER_LEN);
    let found = verify(damaged.path(), Thoroughness::Quick);
    assert_eq!((found.is_sound(), found.leftovers), (false, Leftovers::default()), "damage is not told twice");
    assert_eq!(verify(records.path(), Thoroughness::Deep).records as usize, ids.len());
}

#[test]
fn large_files_that_nothing_refers_to_are_counted_and_are_no_defect() {
    let (records, _) = store();
    let large = records.path().join("store/large");
    let folder = fs::read_dir(&large).unwrap().next().expect("a large output").unwrap().path();
    for (place, length) in [(folder.join("0".repeat(62)), 5), (folder.join("stray"), 6), (large.join("zz"), 0)] {
        fs::write(place, vec![0; length]).unwrap();
    }
    fs::create_dir(large.join("00")).unwrap();
    std::os::unix::fs::symlink("/dev/zero", large.join("00").join("link")).unwrap();
    let found = verify(records.path(), Thoroughness::Quick);
    assert_eq!((found.leftovers.unreferenced, found.defects), (4, vec![]));
    assert_eq!(found.leftovers.unreferenced_bytes, 5 + 6 + "/dev/zero".len() as u64);
}

#[test]
fn how_far_it_has_come_is_told_up_to_the_end() {
    let (records, _) = store();
    let last = Mutex::new(None);
    let tell = |advance| *last.lock().unwrap() = Some(advance);
    open(records.path()).verify(Thoroughness::Quick, &tell).unwrap();
    let last = last.into_inner().unwrap().expect("something is told");
    assert_eq!(last.done_bytes, last.all_bytes);
    assert_eq!(packs(records.path()).len(), 1);
}

#[test]
fn records_that_are_named_say_which_task_they_are_of() {
    let (records, ids) = store();
    let loaded = open(records.path()).load(&ids[1]).unwrap().unwrap();
    support::damage(records.path(), &ids[1]);
    let found = verify(records.path(), Thoroughness::Full);
    let expected = Affected { task: loaded.task, attempt: loaded.attempt, record: ids[1] };
    assert_eq!(found.defects.iter().flat_map(|defect| defect.records.clone()).collect::<Vec<_>>(), [expected]);
}
