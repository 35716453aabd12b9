//! Which lane a writer puts into, and what it knows of those of others.

use isobox_domain::content::{ContentId, ContentRef};
use isobox_domain::record::{TaskArtifacts, TaskRecord};
use isobox_domain::verification::Thoroughness;
use isobox_ports::contract::sample::{draft, noise, record};
use isobox_ports::{Attempts, RecordLog, Role, Verifier};
use isobox_store::{FsTaskStore, hook_steps};
use std::cell::Cell;
use std::fs;
use std::io::Write;
use std::path::Path;

/// Publishes the n-th record with an output of its own.
fn publish(store: &FsTaskStore, n: u64) -> (ContentId, ContentRef) {
    let attempt = store.begin(&draft(n)).unwrap();
    let mut output = attempt.stage(Role::Stdout).unwrap();
    output.write_all(&noise(n, 2000)).unwrap();
    let output = output.finish().unwrap();
    let artifacts = TaskArtifacts { stdout: Some(output), ..TaskArtifacts::default() };
    (store.publish(attempt, &TaskRecord { artifacts, ..record(n) }).unwrap(), output)
}

/// How long the lanes are.
fn lanes(records: &Path) -> Vec<u64> {
    let names = (0..32).map(|lane| records.join(format!("store/lanes/lane-{lane:02}.pack")));
    names.map_while(|path| fs::metadata(path).ok()).map(|lane| lane.len()).collect()
}

/// Two stores of one directory that have put into a lane each.
fn two_writers(records: &Path) -> [FsTaskStore; 2] {
    let [one, other] = [(); 2].map(|()| FsTaskStore::create(records).unwrap());
    let (second, is_done) = (other.clone(), Cell::new(false));
    hook_steps(move |step| {
        if step == "opened a lane" && !is_done.replace(true) {
            publish(&second, 2);
        }
    });
    publish(&one, 1);
    hook_steps(|_| {});
    [one, other]
}

#[test]
fn a_writer_stays_in_its_lane_where_that_is_free() {
    let records = tempfile::tempdir().unwrap();
    let [one, other] = two_writers(records.path());
    let before = lanes(records.path());
    assert_eq!(before.len(), 2);
    publish(&other, 3);
    let after = lanes(records.path());
    assert!(after[0] == before[0] && after[1] > before[1], "{before:?} {after:?}");
    publish(&one, 4);
    let last = lanes(records.path());
    assert!(last[0] > after[0] && last[1..] == after[1..], "{after:?} {last:?}");
}

#[test]
fn what_others_have_published_in_their_lanes_is_not_published_again() {
    let records = tempfile::tempdir().unwrap();
    let [one, other] = two_writers(records.path());
    // Now both lanes are known.
    publish(&one, 11);
    let theirs: Vec<_> = (3..9).map(|n| publish(&other, n).0).collect();
    publish(&one, 10);
    let before = lanes(records.path());
    assert_eq!((3..9).map(|n| publish(&one, n).0).collect::<Vec<_>>(), theirs);
    assert_eq!(lanes(records.path()), before);
    assert_eq!(one.list().unwrap().filter(Result::is_ok).count(), 10);
    assert!(one.verify(Thoroughness::Deep, &|_| {}).unwrap().is_sound());
}

#[test]
fn a_record_may_refer_to_what_another_lane_has() {
    let records = tempfile::tempdir().unwrap();
    let [one, other] = two_writers(records.path());
    publish(&one, 3);
    let (_, output) = publish(&other, 4);
    let artifacts = TaskArtifacts { stdout: Some(output), ..TaskArtifacts::default() };
    let attempt = one.begin(&draft(5)).unwrap();
    one.publish(attempt, &TaskRecord { artifacts, ..record(5) }).unwrap();
    assert!(one.verify(Thoroughness::Deep, &|_| {}).unwrap().is_sound());
}
