//! The probe of a Task Store keeps what every probe keeps, and tells a healthy store from a damaged one.

use isobox_domain::fact::{Fact, StoreHealth, Trial};
use isobox_ports::contract::host_probe::{self, Looked};
use isobox_ports::contract::sample::record;
use isobox_ports::{Attempts, HostProbe, RecordLog};
use isobox_store::{FsTaskStore, StoreProbe};
use libtest_mimic::{Arguments, Failed, Trial as Test};
use std::fs;
use std::path::Path;
use std::process::ExitCode;
use tempfile::TempDir;

fn main() -> ExitCode {
    let mut tests = host_probe::cases("StoreProbe of a store", || looked(with_records(3)));
    tests.extend(host_probe::cases("StoreProbe of nothing", || looked(tempfile::tempdir().expect("a directory"))));
    tests.push(Test::test("a_store_is_read_and_its_records_counted", healthy));
    tests.push(Test::test("what_is_damaged_is_told", damaged));
    tests.push(Test::test("a_store_that_others_can_write_to_is_told", open_to_others));
    libtest_mimic::run(&Arguments::from_args(), tests).exit_code()
}

fn with_records(count: u64) -> TempDir {
    let directory = tempfile::tempdir().expect("a directory");
    let store = FsTaskStore::create(directory.path()).expect("a store");
    for number in 1..=count {
        let record = record(number);
        store.publish(store.begin(&record).expect("begin"), &record).expect("publish");
    }
    directory
}

fn looked(directory: TempDir) -> Looked {
    let probe = Box::new(StoreProbe::new(directory.path()));
    Looked { probe, watched: vec![directory.path().to_owned()], kept: Box::new(directory) }
}

fn health(records: &Path) -> StoreHealth {
    let facts = StoreProbe::new(records).facts();
    let health = facts.into_iter().find_map(|fact| match fact {
        Fact::Store(_, health) => Some(health),
        _ => None,
    });
    health.expect("a fact about health")
}

fn healthy() -> Result<(), Failed> {
    let directory = with_records(3);
    assert_eq!(health(directory.path()), StoreHealth::Readable { read: 3 });
    assert_eq!(health(&directory.path().join("nothing")), StoreHealth::Absent);
    assert!(
        StoreProbe::new(directory.path())
            .facts()
            .iter()
            .any(|fact| matches!(fact, Fact::StoreWritable(Trial::Works(_))))
    );
    Ok(())
}

fn damaged() -> Result<(), Failed> {
    let directory = with_records(1);
    fs::write(directory.path().join("store/FORMAT"), "nothing of the kind")?;
    let found = health(directory.path());
    assert!(matches!(&found, StoreHealth::Damaged(reasons) if reasons[0].contains("FORMAT")), "{found:?}");
    Ok(())
}

fn open_to_others() -> Result<(), Failed> {
    use std::os::unix::fs::PermissionsExt;
    let directory = with_records(1);
    fs::set_permissions(directory.path().join("store"), fs::Permissions::from_mode(0o777))?;
    let found = health(directory.path());
    assert!(matches!(&found, StoreHealth::Damaged(reasons) if reasons[0].contains("others may write")), "{found:?}");
    Ok(())
}
