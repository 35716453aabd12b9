//! A disk that fills while the workload runs ends in a record that says so.

use isobox_tests::{Outcome, Project, User, ignored, isobox_program, outcome};
use std::fs;

/// Room of the store, and what the workload prints: more than fits, and it does not compress.
const ROOM_MIB: u32 = 64;
const PRINTED_MIB: u32 = 200;

#[test]
fn output_that_no_longer_fits_is_passed_on_and_the_record_says_how_much_was_dropped() {
    let project = Project::initialised(User::Current);
    let records = project.scratch().join("records");
    fs::create_dir(&records).expect("a folder");
    let isobox = isobox_program();
    let isobox = isobox.display();
    let at = records.display();
    let script = format!(
        "mount -t tmpfs -o size={ROOM_MIB}m,mode=700 tmpfs {at} || exit 77
        {isobox} run --records {at} -- sh -c 'echo change >> README.md; head -c {PRINTED_MIB}M /dev/urandom' | wc -c
        {isobox} show --json --records {at} @latest; {isobox} cat --records {at} @latest:README.md"
    );
    let Some(ended) = in_own_mounts(&project, &script) else {
        ignored("a store whose disk fills", "only root may mount a small disk");
        return;
    };
    let printed = u64::from(PRINTED_MIB) * 1024 * 1024;
    assert!(ended.stdout.starts_with(&format!("{printed}\n")), "{ended:?}");
    assert!(ended.stdout.contains("dropped"), "{ended:?}");
    assert!(ended.stderr.contains("space"), "{ended:?}");
}

/// Runs a script where it may mount; `None` where that is not allowed.
fn in_own_mounts(project: &Project, script: &str) -> Option<Outcome> {
    // In a user namespace of its own, `bwrap` would belong to somebody who is nobody there.
    if !nix::unistd::geteuid().is_root() {
        return None;
    }
    let mut command = project.command("unshare");
    let ended = outcome(command.args(["--mount", "sh", "-c", script]).output().ok()?);
    (ended.code != 77 && !ended.stderr.contains("unshare:")).then_some(ended)
}
