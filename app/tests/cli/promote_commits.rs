//! `isobox promote` into commits: on HEAD, and on a branch of its own.

use crate::support::{assert_told, document, tool};
use isobox_tests::{Outcome, Project, User};
use serde_json::Value;

const CHANGES: &str = "mkdir src; echo a > src/a; chmod +x src/a; ln -s a src/link; echo change >> README.md";

fn project() -> (Project, String) {
    let project = Project::initialised(User::Current);
    project.git(&["config", "user.name", "Ana"]);
    project.git(&["config", "user.email", "ana@example.org"]);
    let task = tool(&project, CHANGES);
    (project, task)
}

fn promote(project: &Project, arguments: &[&str], task: &str) -> Outcome {
    project.isobox(&[&["promote", "--yes"], arguments, &[task]].concat())
}

fn promotion(project: &Project, task: &str) -> Value {
    document(&project.isobox(&["show", "--json", task]))["promotion"].clone()
}

#[test]
fn a_commit_on_head_says_where_it_comes_from() {
    let (project, task) = project();
    let before = project.git(&["rev-parse", "HEAD"]);
    let promoted = promote(&project, &["--commit", "-m", "Fix it", "-m", "As agreed."], &task);
    assert!(promoted.code == 0 && promoted.stdout.contains(", as commit "), "{promoted:?}");
    assert_eq!(project.git(&["status", "--porcelain"]), "");
    assert_eq!(project.git(&["rev-parse", "HEAD^"]), before);
    let record = document(&project.isobox(&["show", "--json", &task]));
    let digest = record["record"].as_str().expect("a digest");
    let message = format!("Fix it\n\nAs agreed.\n\nIsobox-Task: {task}\nIsobox-Record: {digest}\n");
    assert_eq!(project.git(&["log", "-1", "--format=%B"]).trim_end(), message.trim_end());
    let told = promotion(&project, &task);
    assert_eq!(told["destination"], "commit");
    assert_eq!(told["made"], project.git(&["rev-parse", "HEAD"]).trim());
}

#[test]
fn a_branch_is_made_while_the_working_tree_is_in_use() {
    let (project, task) = project();
    project.write("mine", "mine");
    project.git(&["commit", "-q", "--allow-empty", "-m", "Meanwhile"]);
    let (head, status) = (project.git(&["rev-parse", "HEAD"]), project.git(&["status", "--porcelain"]));
    let promoted = promote(&project, &["--branch", "try/it"], &task);
    assert!(promoted.code == 0 && promoted.stdout.contains("the new branch try/it"), "{promoted:?}");
    assert_eq!((project.git(&["rev-parse", "HEAD"]), project.git(&["status", "--porcelain"])), (head, status));
    let listed = project.git(&["diff", "--raw", "--abbrev=4", "HEAD^", "try/it"]);
    assert_eq!(
        listed.lines().map(|line| &line[..14]).collect::<Vec<_>>(),
        [":100644 100644", ":000000 100755", ":000000 120000"]
    );
    assert_eq!(promotion(&project, &task)["made_branch"], "refs/heads/try/it");
    assert_told(&promote(&project, &["--again", "--branch", "try/it"], &task), 4, &["it is there already"]);
}

#[test]
fn the_rest_of_a_result_becomes_a_second_commit() {
    let (project, task) = project();
    assert_eq!(promote(&project, &["--commit", "--only", "src"], &task).code, 0);
    let rest = promote(&project, &["--commit"], &task);
    assert!(rest.code == 0 && !rest.stdout.contains("src/a"), "{rest:?}");
    assert_eq!(project.git(&["diff", "--name-only", "HEAD^"]), "README.md\n");
    assert_eq!(project.git(&["status", "--porcelain"]), "");
}

#[test]
fn what_stands_in_the_way_of_a_commit_is_told_and_nothing_is_changed() {
    let (project, task) = project();
    let head = project.git(&["rev-parse", "HEAD"]);
    project.git(&["config", "--unset", "user.email"]);
    for way in [&["--commit"][..], &["--branch", "x"]] {
        assert_told(&promote(&project, way, &task), 4, &["user.email"]);
    }
    project.git(&["config", "user.email", "ana@example.org"]);
    for name in ["a..b", "HEAD", "-x"] {
        let flag = format!("--branch={name}");
        assert_told(&promote(&project, &[&flag], &task), 4, &["no name for a branch"]);
    }
    assert_told(&promote(&project, &["-m", "lost"], &task), 2, &["--commit"]);
    assert_told(&promote(&project, &["--commit", "--branch", "x"], &task), 2, &["cannot be used with"]);
    project.write("README.md", "mine\n");
    assert_told(&promote(&project, &["--commit"], &task), 4, &["not clean"]);
    assert_eq!(project.git(&["rev-parse", "HEAD"]), head);
    assert_eq!(project.git(&["for-each-ref", "--format=%(refname)"]), "refs/heads/main\n");
}

#[test]
fn a_rehearsal_of_a_commit_writes_no_object() {
    let (project, task) = project();
    let count = || project.git(&["count-objects"]);
    let before = count();
    for way in [&["--commit"][..], &["--branch", "x"]] {
        assert_eq!(promote(&project, &[&["--dry-run"], way].concat(), &task).code, 0);
    }
    assert_eq!(count(), before);
    assert_eq!(project.git(&["for-each-ref", "--format=%(refname)"]), "refs/heads/main\n");
}
