//! Tasks that take along what is not committed.

use crate::schema_checker::assert_described;
use crate::support::{Running, assert_told, document, task_of};
use isobox_tests::{Outcome, Project, User};
use serde_json::{Value, json};
use std::fs;

/// A project with a changed, a staged, an untracked and a deleted file, and an ignored one.
fn dirty() -> Project {
    let project = Project::initialised(User::Current);
    project.write(".git/info/exclude", "ignored\n");
    project.write("README.md", "hello\nnot committed\n");
    project.write("staged", "staged\n");
    project.git(&["add", "staged"]);
    project.write("notes/untracked", "untracked\n");
    project.write("ignored", "ignored\n");
    fs::remove_file(project.repository().join("run.sh")).expect("remove");
    project
}

fn tool(project: &Project, script: &str) -> Outcome {
    project.isobox(&["tool", "--allow-dirty", "--", "sh", "-c", script])
}

fn shown(project: &Project) -> Value {
    let shown = document(&project.isobox(&["show", "--json", "@latest"]));
    assert_described("record", &shown);
    shown
}

const WORK: &str =
    "cat README.md staged notes/untracked; ls run.sh ignored; echo changed >> README.md; rm staged; echo new > new";

#[test]
fn without_the_flag_a_dirty_source_is_refused_and_the_flag_is_named() {
    let project = dirty();
    assert_told(&project.isobox(&["tool", "--", "true"]), 125, &["is not clean: 4 entries", "--allow-dirty"]);
}

#[test]
fn a_task_sees_the_working_tree_and_its_result_is_what_it_changed_of_that() {
    let project = dirty();
    let ran = tool(&project, WORK);
    assert_eq!(ran.stdout, "hello\nnot committed\nstaged\nuntracked\n", "{ran:?}");
    for missing in ["run.sh", "ignored"] {
        assert!(ran.stderr.lines().any(|line| line.contains(missing) && line.contains("No such file")), "{ran:?}");
    }
    let task = task_of(&ran);
    assert!(ran.stderr.contains(&format!("isobox task {task}: with 4 paths of the source that are not committed\n")));
    let record = shown(&project);
    assert_eq!(record["result"]["changes"], json!({"added": 1, "modified": 1, "deleted": 1, "not_captured": 0}));
    let snapshot = &record["workspace"]["snapshot"];
    assert_eq!(snapshot["changes"], json!({"added": 2, "modified": 1, "deleted": 1, "not_captured": 0}));
    let people = project.isobox(&["show", &task]).stdout;
    let digest = snapshot["digest"].as_str().expect("a digest");
    assert!(
        people.contains(&format!("with what was not committed: 2 added, 1 modified, 1 deleted ({digest})")),
        "{people}"
    );
    let diff = project.isobox(&["diff", &task]).stdout;
    assert!(diff.contains("\n hello\n not committed\n+changed\n") && !diff.contains("untracked"), "{diff}");
    assert_eq!(project.isobox(&["cat", &format!("{task}:README.md")]).stdout, "hello\nnot committed\nchanged\n");
    assert_eq!(project.isobox(&["verify", &task]).code, 0);
}

#[test]
fn a_result_is_promoted_onto_the_very_same_state_and_nothing_else_is_touched() {
    let project = dirty();
    assert_eq!(tool(&project, WORK).code, 0);
    let promoted = project.isobox(&["promote", "--yes", "@latest"]);
    assert_eq!(promoted.code, 0, "{promoted:?}");
    assert!(promoted.stdout.contains("3 changed paths: 1 added, 1 modified, 1 deleted"), "{promoted:?}");
    assert_eq!(project.read("README.md"), "hello\nnot committed\nchanged\n");
    assert_eq!(project.read("new"), "new\n");
    let expected = " M README.md\nAD staged\n D run.sh\n?? new\n?? notes/";
    let mut status: Vec<String> = project.git(&["status", "--porcelain"]).lines().map(str::to_owned).collect();
    let mut expected: Vec<String> = expected.lines().map(str::to_owned).collect();
    status.sort();
    expected.sort();
    assert_eq!(status.join("\n").trim(), expected.join("\n").trim());
    assert_told(&project.isobox(&["promote", "--yes", "--again", "@latest"]), 4, &["other uncommitted changes"]);
}

#[test]
fn a_result_is_refused_onto_any_other_state() {
    let project = dirty();
    assert_eq!(tool(&project, WORK).code, 0);
    let refused = |words: &[&str]| {
        let before = project.git(&["status", "--porcelain"]);
        let refused = project.isobox(&["promote", "--yes", "@latest"]);
        assert_told(&refused, 4, &[&["error: cannot promote task-", "hint: "], words].concat());
        assert_eq!(project.git(&["status", "--porcelain"]), before);
    };
    project.write("notes/another", "");
    refused(&[
        "has other uncommitted changes than the task started from: 1 path",
        "caused by: notes/another",
        "--allow-dirty",
    ]);
    fs::remove_file(project.repository().join("notes/another")).expect("remove");
    project.write("notes/untracked", "changed since\n");
    refused(&["caused by: notes/untracked"]);
    project.write("notes/untracked", "untracked\n");
    project.git(&["checkout", "-q", "run.sh"]);
    refused(&["caused by: run.sh"]);
    project.git(&["stash", "-q", "-u"]);
    refused(&["started from: 4 paths"]);
    project.git(&["stash", "pop", "-q"]);
    fs::remove_file(project.repository().join("run.sh")).expect("remove");
    let rehearsed = project.isobox(&["promote", "--dry-run", "@latest"]);
    assert_eq!(rehearsed.code, 0, "{rehearsed:?}");
    project.commit_all("What was not committed");
    refused(&["but the task started from"]);
}

#[test]
fn work_that_undoes_an_uncommitted_change_is_a_change_of_its_own() {
    let project = dirty();
    assert_eq!(tool(&project, "echo hello > README.md; rm notes/untracked").code, 0);
    assert_eq!(shown(&project)["result"]["changes"]["modified"], 1);
    assert_eq!(project.isobox(&["promote", "--yes", "@latest"]).code, 0);
    assert_eq!(project.read("README.md"), "hello\n");
    assert!(!project.repository().join("notes").exists());
}

#[test]
fn a_clean_source_gives_an_ordinary_record() {
    let project = Project::initialised(User::Current);
    let ran = tool(&project, "echo change >> README.md");
    assert!(ran.code == 0 && !ran.stderr.contains("not committed"), "{ran:?}");
    assert_eq!(shown(&project)["workspace"]["snapshot"], Value::Null);
    assert_eq!(project.isobox(&["promote", "--yes", "@latest"]).code, 0);
}

#[test]
fn a_source_that_cannot_be_taken_along_is_refused_and_nothing_is_made() {
    let project = dirty();
    fs::create_dir_all(project.repository().join("vendor")).expect("a folder");
    project.git(&["init", "-q", "vendor/nested"]);
    project.write("vendor/nested/file", "x");
    let refused = tool(&project, "true");
    assert_told(
        &refused,
        125,
        &["isobox tool preflight", "vendor/nested cannot be part of a snapshot", "hint: commit it"],
    );
    assert_eq!(document(&project.isobox(&["list", "--json"]))["tasks"], json!([]));
    assert_eq!(project.workspaces(), Vec::<std::path::PathBuf>::new());
}

#[test]
fn a_killed_task_is_recorded_with_its_snapshot() {
    let project = dirty();
    let mut running = Running::start_with(&project, &["--allow-dirty"], "echo changed >> README.md; echo began; cat");
    let mut began = [0; 6];
    std::io::Read::read_exact(running.child.stdout.as_mut().expect("output"), &mut began).expect("it began");
    running.child.kill().expect("kill");
    running.child.wait().expect("wait");
    project.write("README.md", "changed meanwhile\n");
    let next = project.isobox(&["tool", "--allow-dirty", "--", "true"]);
    assert!(next.stderr.contains("was interrupted"), "{next:?}");
    let record = document(&project.isobox(&["show", "--json", &running.task]));
    assert_eq!(record["outcome"], "interruption");
    assert_eq!(record["workspace"]["snapshot"]["changes"]["added"], 2);
    assert_eq!(record["result"]["changes"], json!({"added": 0, "modified": 1, "deleted": 0, "not_captured": 0}));
    let diff = project.isobox(&["diff", &running.task]).stdout;
    assert!(diff.contains("\n hello\n not committed\n+changed\n"), "{diff}");
    assert_eq!(project.workspaces(), Vec::<std::path::PathBuf>::new());
}

#[test]
fn a_snapshot_goes_wherever_its_record_goes() {
    let project = dirty();
    let task = task_of(&tool(&project, WORK));
    let digest = shown(&project)["workspace"]["snapshot"]["digest"].as_str().expect("a digest").to_owned();
    assert_eq!(project.isobox(&["store", "compact"]).code, 0);
    // What is kept shares content with what goes.
    assert_eq!(tool(&project, "true").code, 0);
    assert_eq!(project.isobox(&["store", "prune", "--keep-last", "0", "--apply"]).code, 0);
    assert_eq!(document(&project.isobox(&["list", "--json"]))["tasks"].as_array().map(Vec::len), Some(1));
    assert_eq!(project.isobox(&["verify"]).code, 0);
    let (archive, records) = (project.scratch().join("one.isobox"), project.scratch().join("records"));
    let (archive, records) = (archive.to_str().expect("text"), records.to_str().expect("text"));
    assert_eq!(project.isobox(&["export", "--format", "archive", &task, archive]).code, 0);
    assert_eq!(project.isobox(&["verify", archive]).code, 0);
    assert_eq!(project.isobox(&["import", "--records", records, archive]).code, 0);
    assert_eq!(project.isobox(&["verify", "--records", records]).code, 0);
    let there = document(&project.isobox(&["show", "--json", "--records", records, &task]));
    assert_eq!(there["workspace"]["snapshot"]["digest"], json!(digest));
    let statement = project.scratch().join("statement");
    let exported = project.isobox(&["export", "--format", "in-toto", &task, statement.to_str().expect("text")]);
    assert_eq!(exported.code, 0, "{exported:?}");
    let text = fs::read_to_string(statement.join(&task).join("statement.json")).expect("a statement");
    let statement: Value = serde_json::from_str(&text).expect("a document");
    let names: Vec<_> =
        statement["subject"].as_array().expect("subjects").iter().map(|subject| &subject["name"]).collect();
    assert!(names.contains(&&json!("source_snapshot")), "{names:?}");
    assert_eq!(project.isobox(&["promote", "--yes", archive]).code, 0);
    assert_eq!(project.read("new"), "new\n");
}

#[test]
fn whoever_attempts_it_once_more_is_told_what_it_starts_from() {
    let project = dirty();
    assert_eq!(tool(&project, "cat README.md").code, 0);
    let again = project.isobox(&["rerun", "--allow-dirty", "@latest"]);
    assert!(
        again.stdout.ends_with("not committed\n") && again.stderr.contains("takes those that are there now"),
        "{again:?}"
    );
    project.git(&["stash", "-q", "-u"]);
    let without = project.isobox(&["rerun", "@latest"]);
    assert!(without.stdout == "hello\n" && without.stderr.contains("this one does not"), "{without:?}");
}
