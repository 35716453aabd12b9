//! Looking after a store as a whole.

use crate::schema_checker::assert_described;
use crate::support::{document, tool};
use isobox_tests::{Project, User};
use std::fs;
use std::os::unix::fs::PermissionsExt;

#[test]
fn what_was_compacted_is_shown_promoted_and_verified_as_before() {
    let project = Project::initialised(User::Current);
    let first = tool(&project, "echo said; echo change >> README.md; head -c 1500000 /dev/zero > zeros");
    let second = tool(&project, "echo said too; echo no >&2");
    assert_eq!(project.isobox(&["reject", &second]).code, 0);
    let looks = [vec!["list", "--json"], vec!["show", "--json", &first], vec!["diff", &first], vec!["logs", &second]];
    let before: Vec<_> = looks.iter().map(|arguments| project.isobox(arguments).stdout).collect();
    let told = project.isobox(&["store", "compact", "--json"]);
    assert_eq!(told.code, 0, "{told:?}");
    let done = document(&told);
    assert_described("store-compact", &done);
    assert_eq!((&done["packs_before"], &done["packs_after"]), (&1.into(), &1.into()));
    let after: Vec<_> = looks.iter().map(|arguments| project.isobox(arguments).stdout).collect();
    assert_eq!(before, after);
    assert_eq!(project.isobox(&["verify", "--deep"]).code, 0);
    let again = project.isobox(&["store", "compact"]);
    assert_eq!((again.code, again.stdout.as_str()), (0, "nothing to compact\n"));
    assert_eq!(project.isobox(&["promote", "--yes", &first]).code, 0);
    let large = fs::metadata(project.repository().join("zeros")).expect("it was promoted");
    assert_eq!(large.len(), 1_500_000);
}

#[test]
fn a_damaged_pack_is_named_and_left() {
    let project = Project::initialised(User::Current);
    tool(&project, "echo a sentence that is stored as it is");
    let store = project.repository().join(".git/isobox/store");
    let lane = store.join("lanes/lane-00.pack");
    let mut bytes = fs::read(&lane).expect("a lane");
    // The command has it, too, in a record of which there is another copy; the output ends with a line break.
    let output = b"a sentence that is stored as it is\n";
    let at = bytes.windows(output.len()).position(|piece| piece == output).expect("it is stored as it is");
    bytes[at] ^= 1;
    fs::set_permissions(&lane, fs::Permissions::from_mode(0o600)).expect("its owner may");
    fs::write(&lane, bytes).expect("write");
    let told = project.isobox(&["store", "compact"]);
    assert_eq!((told.code, told.stdout.as_str()), (0, "nothing to compact\n"));
    assert!(told.stderr.contains("stays as it is") && told.stderr.contains("is damaged"), "{told:?}");
    assert_eq!(project.isobox(&["verify"]).code, 1);
}

#[test]
fn a_store_that_is_not_there_is_told() {
    let project = Project::initialised(User::Current);
    let told = project.isobox(&["store", "compact"]);
    assert_eq!(told.code, 6);
    assert!(told.stderr.contains("there is no task store"), "{told:?}");
}
