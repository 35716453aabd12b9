//! `isobox promote` of a part of a result, and of the rest.

use crate::support::{assert_told, document, tool};
use isobox_tests::{Outcome, Project, User};

const CHANGES: &str = "mkdir src; echo a > src/a; echo b > src/b; echo change >> README.md";

fn promote(project: &Project, arguments: &[&str], task: &str) -> Outcome {
    project.isobox(&[&["promote", "--yes"], arguments, &[task]].concat())
}

fn state(project: &Project) -> String {
    document(&project.isobox(&["list", "--json"]))["tasks"][0]["state"].as_str().expect("a state").to_owned()
}

#[test]
fn a_part_is_promoted_and_the_rest_later() {
    let project = Project::initialised(User::Current);
    let task = tool(&project, CHANGES);
    let part = promote(&project, &["--only", "src/", "--except", "src/b"], &task);
    assert!(part.code == 0 && part.stdout.contains("2 changed paths left out"), "{part:?}");
    assert!(!part.stdout.contains("src/b") && !part.stdout.contains("README"), "{part:?}");
    assert_eq!(project.git(&["status", "--porcelain", "-uall"]), "?? src/a\n");
    assert_eq!(state(&project), "partial");
    assert_told(&promote(&project, &["--only", "src/a"], &task), 4, &["nothing to promote"]);
    let rest = promote(&project, &[], &task);
    assert!(rest.code == 0 && !rest.stdout.contains("src/a") && !rest.stdout.contains("left out"), "{rest:?}");
    assert_eq!(project.git(&["status", "--porcelain", "-uall"]), " M README.md\n?? src/a\n?? src/b\n");
    assert_eq!(state(&project), "promoted");
    assert_told(&promote(&project, &[], &task), 4, &["promoted before"]);
}

#[test]
fn the_rest_waits_while_anything_else_is_uncommitted() {
    let project = Project::initialised(User::Current);
    let task = tool(&project, CHANGES);
    assert_eq!(promote(&project, &["--except", "README.md"], &task).code, 0);
    project.write("mine", "mine");
    assert_told(&promote(&project, &[], &task), 4, &["other uncommitted changes than the part", "mine"]);
    assert_eq!(project.read("README.md"), "hello\n");
}

#[test]
fn a_name_that_stands_for_nothing_is_refused() {
    let project = Project::initialised(User::Current);
    let task = tool(&project, CHANGES);
    assert_told(&promote(&project, &["--only", "sr"], &task), 4, &["changed nothing at sr", "hint: "]);
    assert_told(&promote(&project, &["--only", "../x"], &task), 2, &["`../x` is no path in a repository"]);
    assert_eq!(project.git(&["status", "--porcelain"]), "");
}

#[test]
fn every_path_that_is_chosen_makes_the_result_whole() {
    let project = Project::initialised(User::Current);
    let task = tool(&project, CHANGES);
    assert_eq!(promote(&project, &["--only", "src", "--only", "README.md"], &task).code, 0);
    assert_eq!(state(&project), "promoted");
}

#[test]
fn a_rest_can_be_turned_down() {
    let project = Project::initialised(User::Current);
    let task = tool(&project, CHANGES);
    assert_eq!(promote(&project, &["--only", "src"], &task).code, 0);
    assert_eq!(project.isobox(&["reject", "--reason", "not the words", &task]).code, 0);
    assert_eq!(state(&project), "rejected");
}
