//! `isobox undo`: the last Promotion is taken back exactly, or nothing is.

use crate::support::{assert_told, document, tool};
use isobox_tests::{Project, User};

const CHANGES: &str = "mkdir src; printf 'a\\r\\n' > src/a; chmod +x src/a; ln -sf a src/link; rm old/gone; rm tool; \
                       mkdir tool; echo x > tool/x; chmod -x script; echo change >> README.md";

fn project() -> (Project, String) {
    let project = Project::initialised(User::Current);
    project.git(&["config", "user.name", "Ana"]);
    project.git(&["config", "user.email", "ana@example.org"]);
    for (path, content) in [("old/gone", "gone"), ("tool", "a file"), ("script", "#!/bin/sh\n")] {
        project.write(path, content);
    }
    project.git(&["add", "-A"]);
    project.git(&["update-index", "--chmod=+x", "script"]);
    project.git(&["commit", "-q", "-m", "Files"]);
    project.git(&["checkout", "-q", "-f", "."]);
    let task = tool(&project, CHANGES);
    (project, task)
}

fn state(project: &Project, task: &str) -> String {
    document(&project.isobox(&["show", "--json", task]))["promotion"]["state"].as_str().expect("a state").to_owned()
}

#[test]
fn the_last_promotion_is_taken_back_whichever_way_it_went() {
    for way in [&[][..], &["--index"], &["--commit"]] {
        let (project, task) = project();
        let head = project.git(&["rev-parse", "HEAD"]);
        let promote = [&["promote", "--yes"], way, &[task.as_str()]].concat();
        assert_eq!(project.isobox(&promote).code, 0);
        let undone = project.isobox(&["undo"]);
        assert_told(&undone, 0, &["undid the promotion of", &task]);
        assert_eq!(project.git(&["status", "--porcelain"]), "", "{way:?}");
        assert_eq!(project.git(&["rev-parse", "HEAD"]), head, "{way:?}");
        assert_eq!(state(&project, &task), "not_promoted");
        assert_told(&project.isobox(&["undo"]), 4, &["no promotion into this working tree"]);
        assert_eq!(project.isobox(&promote).code, 0, "it can be promoted once more");
    }
}

#[test]
fn what_was_touched_since_is_left_alone() {
    let (project, task) = project();
    assert_told(&project.isobox(&["undo"]), 4, &["no promotion into this working tree"]);
    assert_eq!(project.isobox(&["promote", "--yes", &task]).code, 0);
    project.write("README.md", "mine\n");
    let status = project.git(&["status", "--porcelain"]);
    assert_told(
        &project.isobox(&["undo"]),
        4,
        &[
            "1 of the promoted paths changed since the promotion; nothing was changed",
            "README.md: its content was changed meanwhile",
            "hint: bring back",
        ],
    );
    assert_eq!(project.git(&["status", "--porcelain"]), status);
    assert_eq!(project.read("README.md"), "mine\n");
    assert_eq!(state(&project, &task), "promoted");
}

#[test]
fn what_was_committed_since_is_left_to_git() {
    let (project, task) = project();
    assert_eq!(project.isobox(&["promote", "--yes", &task]).code, 0);
    project.commit_all("Committed");
    assert_told(&project.isobox(&["undo"]), 4, &["HEAD is at", "git revert"]);
    assert_eq!(project.git(&["status", "--porcelain"]), "");
}

#[test]
fn a_part_that_is_taken_back_waits_again() {
    let (project, task) = project();
    for part in ["src", "README.md"] {
        assert_eq!(project.isobox(&["promote", "--yes", "--only", part, &task]).code, 0);
    }
    assert_eq!(project.isobox(&["undo"]).code, 0);
    assert_eq!(project.read("README.md"), "hello\n");
    let rest = project.isobox(&["promote", "--yes", &task]);
    assert!(rest.code == 0 && rest.stdout.contains("README.md") && !rest.stdout.contains("src/a"), "{rest:?}");
}

/// A project whose Task was promoted onto the branch `try/it`.
fn on_a_branch() -> (Project, String) {
    let (project, task) = project();
    assert_eq!(project.isobox(&["promote", "--yes", "--branch", "try/it", &task]).code, 0);
    (project, task)
}

#[test]
fn a_branch_that_a_promotion_made_is_removed_whatever_the_working_tree_is_like() {
    let (project, task) = on_a_branch();
    let references = project.git(&["for-each-ref"]);
    project.write("README.md", "mine\n");
    project.git(&["commit", "-q", "--allow-empty", "-m", "HEAD went on"]);
    assert_told(&project.isobox(&["undo"]), 0, &["undid the promotion of", &task]);
    assert!(references.contains("refs/heads/try/it"), "{references}");
    assert!(!project.git(&["for-each-ref"]).contains("try/it"));
    assert!(!project.repository().join(".git/logs/refs/heads/try/it").exists());
    assert_eq!((project.read("README.md").as_str(), state(&project, &task).as_str()), ("mine\n", "not_promoted"));
    assert_told(&project.isobox(&["undo"]), 4, &["no promotion into this working tree"]);
    assert_eq!(project.isobox(&["promote", "--yes", "--branch", "try/it", &task]).code, 0);
    project.git(&["branch", "-q", "-D", "try/it"]);
    assert_told(&project.isobox(&["undo"]), 0, &["undid the promotion of", &task]);
    project.git(&["fsck", "--strict"]);
}

#[test]
fn a_branch_that_somebody_uses_is_left_alone() {
    let (project, task) = on_a_branch();
    let at = |project: &Project| project.git(&["rev-parse", "try/it"]);
    let made = at(&project);
    let refused = |words: &[&str]| {
        assert_told(&project.isobox(&["undo"]), 4, words);
        assert_eq!(state(&project, &task), "promoted");
    };
    project.git(&["worktree", "add", "-q", "../elsewhere", "try/it"]);
    refused(&["branch try/it is checked out"]);
    project.git(&["worktree", "remove", "../elsewhere"]);
    project.git(&["pack-refs", "--all"]);
    refused(&["branch try/it is a packed reference", "git branch -D"]);
    assert_eq!(at(&project), made);
    project.git(&["update-ref", "refs/heads/try/it", "HEAD"]);
    refused(&["branch try/it is at", "the promotion left it at"]);
    assert_eq!(at(&project), project.git(&["rev-parse", "HEAD"]));
    assert!(!project.repository().join(".git/refs/heads/try/it.lock").exists());
}

#[test]
fn on_another_branch_at_the_same_commit_it_is_the_branch_that_is_told() {
    let (project, task) = project();
    assert_eq!(project.isobox(&["promote", "--yes", "--commit", &task]).code, 0);
    project.git(&["checkout", "-q", "-b", "other"]);
    assert_told(&project.isobox(&["undo"]), 4, &["another branch is checked out", "check that branch out"]);
    project.git(&["checkout", "-q", "main"]);
    assert_eq!(project.isobox(&["undo"]).code, 0);
}

/// Promotes, and is killed at its `number`th rename; whether it was.
fn killed_at_rename(project: &Project, task: &str, number: u32) -> bool {
    let mut command = project.command("strace");
    let inject = format!("inject=rename,renameat,renameat2:signal=KILL:when={number}");
    command.args(["-f", "-o", "/dev/null", "-e", "trace=rename,renameat,renameat2", "-e", &inject]);
    command.arg(isobox_tests::isobox_program()).args(["promote", "--yes", task]);
    !command.output().expect("run strace").status.success()
}

#[test]
fn what_a_killed_promotion_left_half_done_is_settled_and_told() {
    let (project, task) = project();
    let settled = (1..=40).find_map(|number| {
        assert!(killed_at_rename(&project, &task, number), "no promotion was left half done");
        let undone = project.isobox(&["undo"]);
        undone.stderr.contains("a promotion that was interrupted is settled").then_some(undone)
    });
    let settled = settled.expect("a promotion that was left half done");
    assert!(settled.code == 0 || settled.code == 4, "{settled:?}");
    assert_eq!(project.git(&["status", "--porcelain"]), "");
}
