//! A disk that fills up, as a small tmpfs in a mount namespace of its own.

use isobox_domain::record::{TaskArtifacts, TaskRecord};
use isobox_ports::contract::sample::{draft, noise, record};
use isobox_ports::{Attempts, ObjectStore, RecordLog, Role, StoreErrorKind};
use isobox_store::FsTaskStore;
use libtest_mimic::{Arguments, Failed, Trial};
use std::fs::{self, File};
use std::io::{Read, Write};
use std::path::Path;
use std::process::Command;

const DISK: &str = "ISOBOX_TEST_DISK";
const CASE: &str = "ISOBOX_TEST_CASE";

type Case = fn(&Path) -> Result<(), Failed>;

const CASES: &[(&str, Case)] = &[
    ("output_that_fills_the_disk_is_kept_as_far_as_it_went_with_its_record", output_fills_the_disk),
    ("a_timeline_that_fills_the_disk_is_kept_as_far_as_it_went_with_its_record", timeline_fills_the_disk),
    ("a_record_that_finds_no_room_is_absent_and_its_attempt_is_left", record_finds_no_room),
    ("a_disk_without_room_is_found_before_anything_runs", probe_finds_no_room),
];

fn output_fills_the_disk(records: &Path) -> Result<(), Failed> {
    let store = FsTaskStore::create(records)?;
    let attempt = store.begin(&draft(1))?;
    attempt.set_room_aside();
    let (mut stdout, mut stderr) = (attempt.stage(Role::Stdout)?, attempt.stage(Role::Stderr)?);
    stderr.write_all(b"said before")?;
    let written = noise(1, 40 << 20);
    let mut kept = 0;
    while let Ok(length @ 1..) = stdout.write(&written[kept..(kept + 65536).min(written.len())]) {
        kept += length;
    }
    assert!(kept > 1 << 20 && kept < written.len(), "{kept} bytes were kept");
    let (stdout, stderr) = (stdout.finish()?, stderr.finish()?);
    assert_eq!(stdout.length, kept as u64);
    let artifacts = TaskArtifacts { stdout: Some(stdout), stderr: Some(stderr), ..TaskArtifacts::default() };
    let id = store.publish(attempt, &TaskRecord { artifacts, ..record(1) })?;
    assert!(store.load(&id)?.is_some());
    let mut bytes = Vec::new();
    store.open(&stdout.id)?.ok_or("no output")?.read_to_end(&mut bytes)?;
    assert!(bytes == written[..kept]);
    Ok(())
}

fn timeline_fills_the_disk(records: &Path) -> Result<(), Failed> {
    let store = FsTaskStore::create(records)?;
    let attempt = store.begin(&draft(1))?;
    attempt.set_room_aside();
    let (mut stdout, mut timeline) = (attempt.stage(Role::Stdout)?, attempt.stage(Role::Timeline)?);
    stdout.write_all(b"said before")?;
    let written = noise(1, 40 << 20);
    let mut kept = 0;
    while let Ok(length @ 1..) = timeline.write(&written[kept..(kept + 8).min(written.len())]) {
        kept += length;
    }
    assert!(kept > 1 << 20 && kept < written.len(), "{kept} bytes were kept");
    let (stdout, timeline) = (stdout.finish()?, timeline.finish()?);
    let artifacts = TaskArtifacts { stdout: Some(stdout), timeline: Some(timeline), ..TaskArtifacts::default() };
    let id = store.publish(attempt, &TaskRecord { artifacts, ..record(1) })?;
    assert_eq!(store.load(&id)?.and_then(|record| record.artifacts.timeline), Some(timeline));
    let mut bytes = Vec::new();
    store.open(&timeline.id)?.ok_or("no timeline")?.read_to_end(&mut bytes)?;
    assert!(bytes == written[..kept]);
    Ok(())
}

fn record_finds_no_room(records: &Path) -> Result<(), Failed> {
    let store = FsTaskStore::create(records)?;
    let attempt = store.begin(&draft(1))?;
    let mut sink = attempt.capture_sink()?;
    for n in 0..5 {
        sink.content(&mut noise(n, 900_000).as_slice())?;
    }
    drop(sink);
    let hog = records.join("hog");
    while File::options().create(true).append(true).open(&hog)?.write_all(&[1; 4096]).is_ok() {}
    let refused = store.publish(attempt, &record(1)).err().map(|error| error.kind);
    assert_eq!(refused, Some(StoreErrorKind::Full));
    assert_eq!(store.list()?.count(), 0);
    fs::remove_file(hog)?;
    let left = store.abandoned()?.pop().ok_or("the attempt is gone")?;
    let id = store.publish(left, &draft(1))?;
    assert_eq!(store.load(&id)?, Some(draft(1)));
    Ok(())
}

fn probe_finds_no_room(records: &Path) -> Result<(), Failed> {
    let store = FsTaskStore::create(records)?;
    store.probe(1 << 20)?;
    let refused = store.probe(64 << 20).err().map(|error| error.kind);
    assert_eq!(refused, Some(StoreErrorKind::Full));
    while File::options().create(true).append(true).open(records.join("hog"))?.write_all(&[1; 4096]).is_ok() {}
    assert_eq!(store.probe(0).err().map(|error| error.kind), Some(StoreErrorKind::Full));
    Ok(())
}

/// A command in namespaces where `disk` is a file system of 16 MiB.
fn on_small_disk(disk: &Path, program: &Path) -> Command {
    let mut command = Command::new("unshare");
    let script = "mount -t tmpfs -o size=16m,mode=0700 none \"$1\" && exec \"$2\"";
    command.args(["--user", "--map-root-user", "--mount", "sh", "-c", script, "sh"]).arg(disk).arg(program);
    command
}

fn run_in_child(case: &str) -> Result<(), Failed> {
    let disk = tempfile::tempdir()?;
    let mut command = on_small_disk(disk.path(), &std::env::current_exe()?);
    let output = command.env(DISK, disk.path()).env(CASE, case).output()?;
    if output.status.success() {
        return Ok(());
    }
    Err(String::from_utf8_lossy(&output.stderr).into_owned().into())
}

/// Why no small disk can be had here, if so.
fn missing() -> Option<String> {
    let disk = tempfile::tempdir().ok()?;
    match on_small_disk(disk.path(), Path::new("true")).output() {
        Ok(output) if output.status.success() => None,
        Ok(output) => Some(String::from_utf8_lossy(&output.stderr).trim().to_owned()),
        Err(error) => Some(format!("run unshare: {error}")),
    }
}

fn main() {
    if let (Some(disk), Ok(wanted)) = (std::env::var_os(DISK), std::env::var(CASE)) {
        let (_, run) = CASES.iter().find(|(name, _)| *name == wanted).expect("a case of that name");
        run(Path::new(&disk))
            .map_err(|failed| failed.message().unwrap_or_default().to_owned())
            .expect("the case holds");
        return;
    }
    let missing = missing();
    let trial = |(name, _): &(&'static str, Case)| {
        let (name, missing) = (*name, missing.clone());
        Trial::ignorable_test(name, move || match missing {
            Some(reason) => Ok(libtest_mimic::Completion::ignored_with(reason)),
            None => run_in_child(name).map(|()| libtest_mimic::Completion::Completed),
        })
    };
    libtest_mimic::run(&Arguments::from_args(), CASES.iter().map(trial).collect()).exit();
}
