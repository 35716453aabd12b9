//! What cannot be opened for the moment is not taken for absent by a repair. The limit is one of the whole process, so this has
//! a test target of its own.

use isobox_domain::record::{TaskArtifacts, TaskRecord};
use isobox_ports::contract::sample::{draft, noise, record};
use isobox_ports::{Attempts, Content, MendMode, Mender, RecordLog, Role, StoreErrorKind};
use isobox_store::{FsTaskStore, hook_steps};
use nix::sys::resource::{Resource, getrlimit, setrlimit};
use std::cell::Cell;
use std::fs;
use std::io::{Cursor, Write};
use std::path::Path;

/// Publishes a record with a large output, and seals the lane that it is in.
fn publish_sealed(records: &Path, n: u64) {
    let store = FsTaskStore::create(records).unwrap();
    let attempt = store.begin(&draft(n)).unwrap();
    let mut writer = attempt.stage(Role::Stdout).unwrap();
    writer.write_all(&noise(n, (2 << 20) + 5)).unwrap();
    let artifacts = TaskArtifacts { stdout: Some(writer.finish().unwrap()), ..TaskArtifacts::default() };
    store.publish(attempt, &TaskRecord { artifacts, ..record(n) }).unwrap();
    let lane = records.join("store/lanes/lane-00.pack");
    let name = blake3::hash(&fs::read(&lane).unwrap()).to_hex();
    fs::rename(lane, records.join(format!("store/packs/{name}.pack"))).unwrap();
}

#[test]
fn a_repair_that_cannot_open_a_file_fails_and_takes_nothing_for_damaged() {
    let records = tempfile::tempdir().unwrap();
    (1..=2).for_each(|n| publish_sealed(records.path(), n));
    let store = FsTaskStore::open(records.path()).unwrap().expect("a store");
    let find = |_: &_| Some(Box::new(Cursor::new(Vec::new())) as Content);
    assert_eq!(store.mend(&find, MendMode::Look).unwrap(), []);
    let (soft, hard) = getrlimit(Resource::RLIMIT_NOFILE).unwrap();
    // The first of two packs for what it refers to, of two large artifacts, and of the packs for what is in it. Only this
    // one cannot be opened: there is room again for the next.
    for nth in [0, 2, 4] {
        let opened = Cell::new(0);
        hook_steps(move |step| {
            if step == "opens what may be damaged" {
                let limit = if opened.replace(opened.get() + 1) == nth { 0 } else { soft };
                setrlimit(Resource::RLIMIT_NOFILE, limit, hard).unwrap();
            }
        });
        let looked = store.mend(&find, MendMode::Look);
        setrlimit(Resource::RLIMIT_NOFILE, soft, hard).unwrap();
        assert_eq!(looked.map_err(|error| error.kind), Err(StoreErrorKind::Io), "at file {nth}");
    }
}
