//! `isobox promote --verify`: what would be promoted is verified in a sandbox of its own, and kept out if that fails.

use crate::schema_checker::assert_described;
use crate::support::{assert_told, document, tool};
use isobox_tests::{Outcome, Project, User, isobox_program, outcome};
use rustix::process::{Pid, Signal, kill_process};
use serde_json::Value;
use std::io::{BufRead, BufReader, Write};
use std::process::{Child, Stdio};

const HEAD: &str = "api_version: isobox.dev/v1alpha1\nkind: ProjectPolicy\ntool_call:\n  enabled: true\n";

/// A repository whose task made `a` and `dir/b`, changed `text` and removed `old`.
fn project_of(user: User) -> (Project, String) {
    let project = Project::initialised(user);
    project.git(&["config", "user.name", "Ana"]);
    project.git(&["config", "user.email", "ana@example.org"]);
    project.write("text", &numbers());
    project.write("old", "old\n");
    project.commit_all("Text");
    let task =
        tool(&project, "echo a > a; mkdir dir; echo b > dir/b; sed -i 's/^3$/three/; s/^20$/twenty/' text; rm old");
    (project, task)
}

fn project() -> (Project, String) {
    project_of(User::Current)
}

fn numbers() -> String {
    (1..=30).map(|number| format!("{number}\n")).collect()
}

/// Promotes with a verification by `command`.
fn promote(project: &Project, arguments: &[&str], command: &str, task: &str) -> Outcome {
    project.isobox(&[&["promote", "--yes", "--verify-command", command], arguments, &[task]].concat())
}

fn tasks(project: &Project) -> Vec<Value> {
    document(&project.isobox(&["list", "--json"]))["tasks"].as_array().expect("tasks").clone()
}

/// The only verification on record.
fn verification(project: &Project) -> Value {
    let mut found: Vec<Value> = tasks(project).into_iter().filter(|task| task["kind"] == "verification").collect();
    assert_eq!(found.len(), 1, "{found:?}");
    let task = found.remove(0)["id"].as_str().expect("an id").to_owned();
    document(&project.isobox(&["show", "--json", &task]))
}

fn status(project: &Project) -> String {
    project.git(&["status", "--porcelain", "-uall"])
}

const PROMOTED: &str = " D old\n M text\n?? a\n?? dir/b\n";

fn succeeds_as(user: User) {
    let (project, task) = project_of(user);
    let whole = "test -f a && test -f dir/b && ! test -e old && grep -q three text && grep -q twenty text && echo good; \
                 git log -1 --format=%s; git status --porcelain";
    let promoted = promote(&project, &[], whole, &task);
    assert_told(
        &promoted,
        0,
        &["starting verification", "\ngood\nText\n", "with 4 paths as the promotion would leave them"],
    );
    assert!(promoted.stdout.starts_with("Promotion of ") && !promoted.stdout.contains("good"), "{promoted:?}");
    assert_eq!(status(&project), PROMOTED);
    let (shown, verification) = (document(&project.isobox(&["show", "--json", &task])), verification(&project));
    assert_eq!(shown["promotion"]["verified_by"], verification["record"]);
    assert_eq!(verification["parents"], serde_json::json!([shown["record"]]));
    assert_eq!((&verification["kind"], &verification["outcome"]), (&"verification".into(), &"success".into()));
    let id = verification["id"].as_str().expect("an id");
    assert!(project.isobox(&["logs", id]).stdout.starts_with("good\nText\n"));
    let told = project.isobox(&["show", id]).stdout;
    assert!(told.contains("verifies     b3:") && told.contains("with what it verified: "), "{told}");
    assert_described("record", &verification);
    assert_eq!(project.isobox(&["verify", "--deep"]).code, 0);
    assert_eq!(project.workspaces().len(), 0);
}

#[test]
fn what_a_verification_lets_pass_is_promoted_and_says_so() {
    succeeds_as(User::Current);
}

#[test]
fn an_ordinary_user_verifies_too() {
    succeeds_as(User::Ordinary);
}

#[test]
fn what_fails_is_not_promoted_and_says_where_to_look() {
    let (project, task) = project();
    let refused = promote(&project, &[], "echo said; exit 3", &task);
    let id = verification(&project)["id"].as_str().expect("an id").to_owned();
    let words =
        ["cannot promote ", &*format!("its verification, {id}, did not succeed"), "exit_code=3", "nothing was changed"];
    assert_told(&refused, 4, &words);
    assert_told(&refused, 4, &["said\n", &format!("`isobox logs {id}`")]);
    assert_eq!(project.isobox(&["logs", &id]).stdout, "said\n");
    assert_eq!(status(&project), "");
    let states: Vec<Value> = tasks(&project).iter().map(|task| task["state"].clone()).collect();
    assert_eq!(states, ["verification", "unreviewed"]);
    assert_described("list", &document(&project.isobox(&["list", "--json"])));
    // It is not what anybody means by the latest task.
    assert_eq!(document(&project.isobox(&["show", "--json", "@latest"]))["id"], task);
    assert_eq!(project.isobox(&["promote", "--yes", &task]).code, 0, "without a verification nothing keeps it out");
}

#[test]
fn a_verification_has_no_result_of_its_own() {
    let (project, task) = project();
    assert_eq!(promote(&project, &[], "echo more > more", &task).code, 0);
    let id = verification(&project)["id"].as_str().expect("an id").to_owned();
    assert_told(&project.isobox(&["promote", "--yes", &id]), 4, &["verified the result of another one"]);
    assert_told(&project.isobox(&["reject", &id]), 1, &["verified the result of another task", "isobox show"]);
    assert_told(&project.isobox(&["rerun", &id]), 125, &["verified the result of another task"]);
    let listed = |state: &str| project.isobox(&["list", "--state", state]).stdout.matches("task-").count();
    assert_eq!((listed("verification"), listed("unreviewed"), listed("promoted")), (1, 0, 1));
}

#[test]
fn the_commands_of_the_policy_run_one_after_the_other_until_one_fails() {
    let (project, task) = project();
    let missing = project.isobox(&["promote", "--yes", "--verify", &task]);
    assert_told(&missing, 2, &["`verification.commands` is not set in ", "--verify-command"]);
    assert_eq!(tasks(&project).len(), 1);
    let policy = |last: &str| format!("{HEAD}verification:\n  commands: ['echo one \"$0\"', '{last}', 'echo three']\n");
    project.write_policy(&policy("exit 7"));
    project.commit_all("Verify");
    let flags = ["promote", "--yes", "--three-way", "--verify", &task];
    let refused = project.isobox(&flags);
    assert_told(
        &refused,
        4,
        &["verification command 1 of 3\n", "one /bin/sh\n", "verification command 2 of 3\n", "exit_code=7"],
    );
    assert!(!refused.stderr.contains("three"), "{refused:?}");
    project.write_policy(&policy("test -f a"));
    project.commit_all("Verify otherwise");
    assert_told(&project.isobox(&flags), 0, &["verification command 3 of 3\n", "three\n"]);
}

#[test]
fn a_policy_that_is_not_trusted_says_nothing_unless_it_is_trusted_by_a_flag() {
    let (project, task) = project();
    project.write(".isobox/config.yaml", &format!("{HEAD}verification:\n  commands: ['true']\n"));
    project.commit_all("Another policy");
    let refused = project.isobox(&["promote", "--yes", "--three-way", "--verify", &task]);
    assert_ne!(refused.code, 0, "{refused:?}");
    assert_eq!((status(&project).as_str(), tasks(&project).len()), ("", 1));
    let flags = ["promote", "--yes", "--three-way", "--verify", "--trust-policy", &task];
    assert_told(&project.isobox(&flags), 0, &["starting verification"]);
}

#[test]
fn a_rehearsal_verifies_and_promotes_nothing() {
    let (project, task) = project();
    let rehearsed = promote(&project, &["--dry-run"], "test -f a", &task);
    assert_told(&rehearsed, 0, &["completed outcome=success"]);
    assert!(rehearsed.stdout.ends_with("nothing was changed\n"), "{rehearsed:?}");
    assert_told(&promote(&project, &["--dry-run"], "exit 1", &task), 4, &["did not succeed"]);
    assert_eq!(status(&project), "");
}

#[test]
fn what_a_verification_does_reaches_neither_the_repository_nor_what_is_promoted() {
    let (project, task) = project();
    let promoted = promote(&project, &[], "echo other > a; rm -rf dir .git; echo c > c; echo x > text", &task);
    assert_eq!(promoted.code, 0, "{promoted:?}");
    assert_eq!(status(&project), PROMOTED);
    assert_eq!((project.read("a"), project.read("dir/b")), ("a\n".into(), "b\n".into()));
}

#[test]
fn a_limit_of_the_policy_ends_a_verification_and_keeps_the_result_out() {
    let (project, task) = project();
    project.write_policy(&format!("{HEAD}limits:\n  time: 1s\n"));
    project.commit_all("Hurry");
    let refused = promote(&project, &["--three-way"], "sleep 100", &task);
    assert_told(&refused, 4, &["outcome=limit_exceeded"]);
    assert_eq!(status(&project), "");
}

#[test]
fn a_sandbox_that_cannot_be_had_is_told_as_it_is_and_leaves_nothing() {
    let (project, task) = project();
    project.write_policy(&format!("{HEAD}runtime_backend: host\nrequire: [network]\n"));
    project.commit_all("Ask for more than there is");
    let refused = promote(&project, &["--three-way"], "true", &task);
    assert_told(&refused, 125, &["cannot promote ", "verification preflight"]);
    assert_eq!((status(&project).as_str(), tasks(&project).len()), ("", 1));
}

#[test]
fn exactly_what_is_chosen_is_verified() {
    for (arguments, command) in [
        (&["--only", "a"][..], "test -f a && ! test -e dir && test -f old && ! grep -q three text"),
        (&["--except", "a"], "! test -e a && test -f dir/b && ! test -e old && grep -q three text"),
        (&["--index"], "test -f a && ! test -e old"),
        (&["--commit"], "test -f a && ! test -e old"),
        (&["--branch", "try"], "test -f a && ! test -e old && ! test -e later"),
    ] {
        let (project, task) = project();
        if arguments[0] == "--branch" {
            project.write("later", "later\n");
            project.commit_all("Meanwhile");
        }
        let promoted = promote(&project, arguments, command, &task);
        assert_eq!(promoted.code, 0, "{arguments:?}: {promoted:?}");
        let shown = document(&project.isobox(&["show", "--json", &task]));
        assert_eq!(shown["promotion"]["verified_by"], verification(&project)["record"], "{arguments:?}");
    }
}

#[test]
fn the_rest_is_verified_with_what_was_promoted_before() {
    let (project, task) = project();
    assert_eq!(project.isobox(&["promote", "--yes", "--only", "a", &task]).code, 0);
    let both = "test -f a && test -f dir/b && test -f old";
    assert_told(&promote(&project, &["--only", "dir"], both, &task), 0, &[]);
    assert_eq!(status(&project), "?? a\n?? dir/b\n");
    // Taken back by hand: what is verified is what would be there.
    project.git(&["clean", "-fdq"]);
    let rest = "! test -e a && ! test -e dir && ! test -e old";
    assert_told(&promote(&project, &[], rest, &task), 0, &[]);
}

#[test]
fn the_rest_is_verified_on_the_commit_of_what_was_promoted_before() {
    let (project, task) = project();
    assert_eq!(project.isobox(&["promote", "--yes", "--commit", "--only", "a", &task]).code, 0);
    let rest = "git ls-files --error-unmatch a && test -f dir/b && ! test -e old";
    assert_told(&promote(&project, &[], rest, &task), 0, &[]);
    assert_eq!(status(&project), " D old\n M text\n?? dir/b\n");
}

#[test]
fn a_commit_is_verified_without_what_is_not_committed() {
    let (project, task) = project();
    assert_eq!(project.isobox(&["promote", "--yes", "--only", "a", &task]).code, 0);
    let promoted = promote(&project, &["--commit", "--only", "dir"], "! test -e a && test -f dir/b", &task);
    assert_eq!(promoted.code, 0, "{promoted:?}");
    assert_eq!(project.git(&["show", "--name-only", "--format=", "HEAD"]), "dir/b\n");
}

/// Answers each question of `--patch` with one of `keys`.
fn choose(project: &Project, arguments: &[&str], keys: &str) -> Outcome {
    let mut command = project.isobox_command(&[&["promote", "--patch", "--yes"], arguments].concat());
    let mut child =
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().expect("start isobox");
    let lines: String = keys.chars().map(|key| format!("{key}\n")).collect();
    child.stdin.take().expect("piped").write_all(lines.as_bytes()).ok();
    outcome(child.wait_with_output().expect("wait for isobox"))
}

#[test]
fn hunks_are_verified_as_they_are_chosen_and_with_those_that_are_there() {
    let (project, task) = project();
    let first = choose(
        &project,
        &["--only", "text", "--verify-command", "grep three text && ! grep twenty text", &task],
        "syn",
    );
    assert_eq!(first.code, 0, "{first:?}");
    assert_eq!(project.read("text"), numbers().replace("\n3\n", "\nthree\n"));
    let both = "grep three text && grep twenty text && ! test -e a";
    let second = promote(&project, &["--only", "text"], both, &task);
    assert_eq!(second.code, 0, "{second:?}");
}

#[test]
fn what_is_merged_is_verified_as_it_is_merged_and_conflicts_are_refused() {
    let (project, task) = project();
    project.write("text", &numbers().replace("\n10\n", "\nten\n"));
    project.write("new", "new\n");
    project.commit_all("Meanwhile");
    project.write("uncommitted", "x\n");
    let merged = "grep three text && grep ten text && test -f new && ! test -e uncommitted && ! test -e old";
    assert_told(&promote(&project, &["--three-way", "--dry-run"], merged, &task), 0, &[]);
    project.write("text", &numbers().replace("\n3\n", "\n3.0\n"));
    project.commit_all("In the way");
    let marked = promote(&project, &["--three-way", "--conflict", "markers"], "true", &task);
    assert_told(&marked, 4, &["1 path would have conflict markers, which cannot be verified"]);
    assert_eq!(tasks(&project).iter().filter(|task| task["kind"] == "verification").count(), 1);
    assert_eq!(status(&project), "");
}

#[test]
fn what_a_task_took_along_is_there_when_its_result_is_verified() {
    let (project, _) = project();
    project.write("text", "uncommitted\n");
    project.write("kept", "kept\n");
    project.write("gone", "gone\n");
    let ran = project.isobox(&["tool", "--allow-dirty", "--", "sh", "-c", "echo a > a; rm gone; git checkout -q text"]);
    assert_eq!(ran.code, 0, "{ran:?}");
    let command = "test -f a && test -f kept && ! test -e gone && grep -q '^30$' text && git diff --quiet HEAD -- text";
    let promoted = promote(&project, &[], command, "@latest");
    assert_eq!(promoted.code, 0, "{promoted:?}");
    assert_eq!(status(&project), "?? a\n?? kept\n");
    assert_eq!(project.isobox(&["verify", "--deep"]).code, 0);
}

/// Starts a verification that says `began` and then waits for longer than any test takes.
fn start(project: &Project, task: &str) -> Child {
    let command = "echo began; sleep 600";
    let mut command = project.isobox_command(&["promote", "--yes", "--verify-command", command, task]);
    command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().expect("start isobox")
}

fn read_until(child: &mut Child, line: &str) {
    let mut lines = BufReader::new(child.stderr.as_mut().expect("standard error")).lines();
    assert!(lines.any(|found| found.expect("a line") == line), "it never said `{line}`");
}

#[test]
fn whoever_interrupts_a_verification_finds_the_repository_as_it_was() {
    let (project, task) = project();
    let mut child = start(&project, &task);
    read_until(&mut child, "began");
    kill_process(Pid::from_child(&child), Signal::INT).expect("a signal");
    assert_eq!(child.wait().expect("wait").code(), Some(4));
    assert_eq!(verification(&project)["outcome"], "interruption");
    assert_eq!(status(&project), "");
    assert_eq!(project.isobox(&["promote", "--yes", &task]).code, 0);
}

#[test]
fn what_is_killed_while_it_verifies_is_recorded_by_the_next_start() {
    let (project, task) = project();
    let mut child = start(&project, &task);
    read_until(&mut child, "began");
    child.kill().expect("kill");
    child.wait().expect("wait");
    assert_eq!(status(&project), "");
    assert_eq!(project.isobox(&["promote", "--yes", &task]).code, 0);
    let verification = verification(&project);
    assert_eq!(verification["outcome"], "interruption");
    let id = verification["id"].as_str().expect("an id");
    assert_eq!(project.isobox(&["logs", id]).stdout, "began\n");
    assert!(project.isobox(&["show", id]).stdout.contains("with what it verified: "));
    assert_eq!((status(&project).as_str(), project.workspaces().len()), (PROMOTED, 0));
}

#[test]
fn what_changes_in_the_repository_meanwhile_is_noticed() {
    for (change, words) in [
        ("echo other > text", "is not clean"),
        ("git commit -q --allow-empty -m Meanwhile", "but the task started from"),
        ("\"$ISOBOX\" promote --yes \"$TASK\" > /dev/null 2>&1", "the task was promoted before"),
    ] {
        let (project, task) = project();
        let verify = ["promote", "--yes", "--verify-command", "echo began; sleep 2", &task];
        let mut command = project.isobox_command(&verify);
        let mut child = command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().expect("start isobox");
        read_until(&mut child, "began");
        let mut meanwhile = project.command("sh");
        meanwhile.args(["-c", change]).env("TASK", &task).env("ISOBOX", isobox_program());
        assert!(meanwhile.status().expect("run a shell").success(), "a lock is held: {change}");
        let before = status(&project);
        let ended = outcome(child.wait_with_output().expect("wait for isobox"));
        assert_told(&ended, 4, &[words]);
        assert_eq!(status(&project), before, "{change}");
    }
}

#[test]
fn what_was_promoted_before_and_is_taken_away_meanwhile_is_noticed() {
    let (project, task) = project();
    assert_eq!(project.isobox(&["promote", "--yes", "--only", "a", &task]).code, 0);
    let verify = ["promote", "--yes", "--verify-command", "test -f a && echo began; sleep 2", &task];
    let mut command = project.isobox_command(&verify);
    let mut child = command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().expect("start isobox");
    read_until(&mut child, "began");
    let shown = project.isobox(&["show", "@latest"]);
    assert!(shown.stdout.contains(&task) && !shown.stderr.contains("not over yet"), "{shown:?}");
    project.git(&["clean", "-fdq"]);
    let ended = outcome(child.wait_with_output().expect("wait for isobox"));
    assert_told(&ended, 4, &["what is not committed of the repository changed after the promotion was shown"]);
    assert_eq!(status(&project), "");
}

/// Prunes by `rules`; the kinds of the records that stay, the newest first.
fn pruned(project: &Project, rules: &[&str]) -> Vec<String> {
    let pruned = project.isobox(&[&["store", "prune", "--apply", "--json"], rules].concat());
    assert_eq!(pruned.code, 0, "{pruned:?}");
    assert_described("store-prune", &document(&pruned));
    tasks(project).iter().map(|task| task["kind"].as_str().expect("a kind").to_owned()).collect()
}

#[test]
fn a_verification_stays_as_long_as_what_it_verified_and_goes_with_it() {
    let (project, task) = project();
    assert_eq!(promote(&project, &[], "echo said; exit 1", &task).code, 4);
    assert_eq!(promote(&project, &[], "test -f a", &task).code, 0);
    let all = ["verification", "verification", "tool_call"];
    assert_eq!(pruned(&project, &["--keep-promoted"]), all, "it is kept for what it verified");
    assert_eq!(pruned(&project, &["--keep-last", "1"]), all, "and is none of the last");
    assert_eq!(pruned(&project, &["--keep-last", "0"]), [""; 0]);
    assert_eq!(project.isobox(&["verify", "--deep"]).code, 0);
}

#[test]
fn a_record_goes_to_another_store_without_its_verification() {
    let (project, task) = project();
    assert_eq!(promote(&project, &[], "test -f a", &task).code, 0);
    let archive = project.scratch().join("task.isobox");
    let archive = archive.to_str().expect("UTF-8");
    assert_eq!(project.isobox(&["export", "--format", "archive", &task, archive]).code, 0);
    let other = project.scratch().join("other");
    let other = other.to_str().expect("UTF-8");
    let imported = project.isobox(&["import", "--records", other, archive]);
    assert_eq!(imported.code, 0, "{imported:?}");
    let shown = document(&project.isobox(&["show", "--json", "--records", other, &task]));
    assert_eq!(shown["promotion"]["verified_by"], verification(&project)["record"]);
    assert!(project.isobox(&["show", "--records", other, &task]).stdout.contains("verified by b3:"));
    assert_eq!(project.isobox(&["verify", "--deep", "--records", other]).code, 0);
    // What it verified need not be where the record of a verification goes.
    let id = verification(&project)["id"].as_str().expect("an id").to_owned();
    let alone = project.scratch().join("alone.isobox");
    let alone = alone.to_str().expect("UTF-8");
    assert_eq!(project.isobox(&["export", "--format", "archive", &id, alone]).code, 0);
    let there = project.scratch().join("there");
    let there = there.to_str().expect("UTF-8");
    assert_eq!(project.isobox(&["import", "--records", there, alone]).code, 0);
    assert_eq!(project.isobox(&["verify", "--deep", "--records", there]).code, 0);
}

#[test]
fn what_is_in_an_archive_is_verified_once_it_is_taken_over() {
    let (project, task) = project();
    let archive = project.scratch().join("task.isobox");
    let archive = archive.to_str().expect("UTF-8");
    assert_eq!(project.isobox(&["export", "--format", "archive", &task, archive]).code, 0);
    assert_told(&promote(&project, &["--dry-run"], "test -f a", archive), 2, &["in an archive alone"]);
    assert_told(&promote(&project, &[], "test -f a", archive), 0, &["starting verification"]);
}

#[test]
fn a_secret_in_a_command_is_masked_where_it_is_kept() {
    let (project, task) = project();
    let secret = "ghp_0123456789abcdefghijABCDEFGHIJ012345";
    let arguments = ["--verify-command", "test -f a"];
    let promoted = promote(&project, &arguments, &format!("test -n {secret}"), &task);
    assert_eq!(promoted.code, 0, "{promoted:?}");
    let verification = verification(&project);
    let logs = project.isobox(&["logs", verification["id"].as_str().expect("an id")]);
    let told = [verification.to_string(), logs.stdout, logs.stderr, promoted.stderr].concat();
    assert!(told.contains("test -n ghp_***") && told.contains("test -f a") && !told.contains(secret), "{told}");
}
