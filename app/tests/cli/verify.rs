//! Verifying a store: what is said of a sound one, of a damaged one, and of one that cannot be looked at.

use crate::schema_checker::assert_described;
use crate::support::{assert_told, document, tool};
use isobox_tests::{Outcome, Project, User};
use serde_json::json;
use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::PathBuf;

fn lane(project: &Project) -> PathBuf {
    project.repository().join(".git/isobox/store/lanes/lane-00.pack")
}

/// Changes a byte of what the task said, which stands in the store as it is.
fn damage(project: &Project, said: &str) {
    let mut bytes = fs::read(lane(project)).expect("a lane");
    let at = bytes.windows(said.len()).position(|piece| piece == said.as_bytes()).expect("it is stored as it is");
    bytes[at] ^= 1;
    fs::set_permissions(lane(project), fs::Permissions::from_mode(0o600)).expect("its owner may");
    fs::write(lane(project), bytes).expect("write");
}

fn verdicts(told: &Outcome) -> [String; 3] {
    let document = document(told);
    ["integrity", "completeness", "signature"]
        .map(|name| document["verdicts"][name].as_str().expect("a verdict").into())
}

#[test]
fn a_sound_store_holds() {
    let project = Project::initialised(User::Current);
    let task = tool(&project, "echo said; echo more > new");
    for arguments in [&[][..], &["--quick"], &["--deep"], &["--sample", "1/3"], &["--sample=today/30"], &[&task]] {
        let told = project.isobox(&[&["verify", "--json"], arguments].concat());
        assert_eq!((told.code, told.stderr.as_str()), (0, ""), "{told:?}");
        assert_eq!(verdicts(&told), ["holds", "unknown", "unknown"]);
    }
    let told = project.isobox(&["verify"]);
    for line in [
        "verified      that everything is there, and all content",
        "integrity     holds",
        "completeness  unknown: nobody can tell whether the newest are missing",
    ] {
        assert!(told.stdout.contains(line), "{told:?}");
    }
}

#[test]
fn damage_is_told_with_the_task_that_it_touches_and_the_answer_is_no() {
    let project = Project::initialised(User::Current);
    let sound = tool(&project, "echo something else");
    let touched = tool(&project, "echo a sentence that is stored as it is");
    damage(&project, "a sentence that is stored");
    let told = project.isobox(&["verify", "--json"]);
    assert_eq!((told.code, verdicts(&told)), (1, ["broken", "unknown", "unknown"].map(String::from)));
    let found = document(&told);
    let records = &found["defects"][0]["records"];
    assert_eq!((records.as_array().map(Vec::len), records[0]["task"].as_str()), (Some(1), Some(touched.as_str())));
    let text = project.isobox(&["verify"]);
    assert!(text.stderr.starts_with("next: isobox store repair --dry-run"), "{text:?}");
    assert!(text.stdout.contains(&format!("touches {touched}, attempt 1: b3:")), "{text:?}");
    assert_eq!(project.isobox(&["verify", &touched]).code, 1);
    assert_eq!(project.isobox(&["verify", &sound]).code, 0);
    assert_eq!(project.isobox(&["verify", "--quick"]).code, 0, "a quick one reads no content");
}

#[test]
fn what_a_killed_isobox_left_is_told_and_the_answer_is_still_yes() {
    let project = Project::initialised(User::Current);
    tool(&project, "echo said");
    assert_eq!(document(&project.isobox(&["verify", "--json"]))["leftovers"]["torn_tails"], json!([]));
    let whole = fs::read(lane(&project)).expect("a lane");
    fs::write(lane(&project), &whole[..whole.len() - 1]).expect("cut the last byte off");
    fs::create_dir_all(project.repository().join(".git/isobox/store/large/00")).expect("a folder");
    fs::write(project.repository().join(".git/isobox/store/large/00/stray"), "stray").expect("write");
    let told = project.isobox(&["verify", "--json"]);
    assert_described("verify", &document(&told));
    let left = document(&told)["leftovers"].clone();
    assert_eq!((told.code, verdicts(&told)), (0, ["holds", "unknown", "unknown"].map(String::from)));
    assert_eq!((&left["torn_tails"][0]["bytes"], &left["torn_tails"][1]), (&json!(whole.len() - 1), &json!(null)));
    assert_eq!((&left["unreferenced_files"], &left["unreferenced_bytes"]), (&json!(1), &json!(5)));
    let text = project.isobox(&["verify"]).stdout;
    let tail = format!("lane-00.pack at 0: {} bytes without a COMMIT", whole.len() - 1);
    assert!(text.contains(&tail) && text.contains("1 large file of 5 bytes that nothing refers to"), "{text}");
}

#[test]
fn what_cannot_be_looked_at_is_no_verdict() {
    let project = Project::initialised(User::Current);
    assert_told(&project.isobox(&["verify"]), 6, &["store"]);
    let task = tool(&project, "true");
    assert_told(&project.isobox(&["verify", "task-ffff"]), 5, &["task-ffff"]);
    assert_told(&project.isobox(&["verify", "--quick", &task]), 2, &["--quick"]);
    assert_told(&project.isobox(&["verify", "--sample", "8/7"]), 2, &["1/7"]);
    fs::write(project.repository().join(".git/isobox/store/FORMAT"), "nonsense").expect("write");
    assert_told(&project.isobox(&["verify"]), 6, &["FORMAT"]);
}

#[test]
fn the_bytes_of_a_record_have_its_digest() {
    let project = Project::initialised(User::Current);
    let task = tool(&project, "echo said");
    let raw = project.isobox_command(&["show", "--raw", &task]).output().expect("isobox runs");
    let digest = document(&project.isobox(&["show", "--json", &task]))["record"].as_str().map(str::to_owned);
    assert_eq!(digest, Some(format!("b3:{}", blake3::hash(&raw.stdout).to_hex())));
    assert_told(&project.isobox(&["show", "--raw", "--json", &task]), 2, &["--raw"]);
}
