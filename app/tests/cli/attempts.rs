//! Several attempts of one task: told apart, named, and decided about one by one.

use crate::support::{assert_told, document, task_of, tool};
use isobox_tests::{Outcome, Project, User, isobox_program, outcome};
use std::fs;
use std::io::{BufRead, BufReader};
use std::process::Stdio;

/// The rows of `list` without their age and command.
fn rows(project: &Project, arguments: &[&str]) -> Vec<String> {
    let list = project.isobox(&[&["list"], arguments].concat());
    let row = |line: &str| {
        let words: Vec<&str> = line.split_whitespace().collect();
        [words[0], words[2], words[3]].join(" ")
    };
    list.stdout.lines().skip(1).map(row).collect()
}

fn rerun(project: &Project, arguments: &[&str]) -> Outcome {
    project.isobox(&[&["rerun"], arguments].concat())
}

#[test]
fn attempts_of_one_task_are_told_apart_and_the_older_ones_wait_for_nobody() {
    let project = Project::initialised(User::Current);
    let alone = tool(&project, "echo alone >> README.md");
    let task = tool(&project, "echo change >> README.md");
    assert_eq!(rerun(&project, &[&task]).code, 0);
    assert_eq!(rerun(&project, &[&task]).code, 0);
    let expected = [
        format!("{task}#3 unreviewed success"),
        format!("{task}#2 superseded success"),
        format!("{task}#1 superseded success"),
        format!("{alone} unreviewed success"),
    ];
    assert_eq!(rows(&project, &[]), expected);
    assert_eq!(rows(&project, &["--state", "unreviewed"]), [&*expected[0], &*expected[3]]);
    assert_eq!(rows(&project, &["--state", "superseded"]), expected[1..3]);
    let shown = |name: &str| document(&project.isobox(&["show", "--json", name]))["attempt"].clone();
    assert_eq!([shown(&task), shown(&format!("{task}#1")), shown("@latest#2")], [3, 1, 2]);
    assert!(project.isobox(&["show", &format!("{task}#2")]).stdout.contains("\nattempt      2\n"));
    let missing = project.isobox(&["show", &format!("{task}#4")]);
    assert_told(&missing, 5, &["has no attempt 4 on record; its newest is 3", "hint: `isobox list`"]);
}

#[test]
fn a_decision_about_an_older_attempt_is_made_by_its_name_and_says_so() {
    let project = Project::initialised(User::Current);
    let task = tool(&project, "echo change >> README.md");
    assert_eq!(rerun(&project, &[&task]).code, 0);
    let (first, second) = (format!("{task}#1"), format!("{task}#2"));
    let rejected = project.isobox(&["reject", &task]);
    assert_eq!(
        (rejected.code, rejected.stderr),
        (0, format!("rejected {second}, next: isobox list --state unreviewed\n"))
    );
    let promoted = project.isobox(&["promote", "--yes", &first]);
    assert_told(&promoted, 0, &[&format!("{first} is not the newest attempt of its task: {second} is")]);
    assert!(promoted.stdout.starts_with(&format!("Promotion of {first} into ")), "{promoted:?}");
    assert!(promoted.stdout.contains(&format!("\npromoted {first} into ")), "{promoted:?}");
    let states = [format!("{second} rejected success"), format!("{first} promoted success")];
    assert_eq!(rows(&project, &[]), states);
}

#[test]
fn what_changed_nothing_is_not_unreviewed() {
    let project = Project::initialised(User::Current);
    assert_eq!(project.isobox(&["tool", "--", "no-such-command-18"]).code, 127);
    let quiet = tool(&project, "echo said");
    let changed = tool(&project, "echo change >> README.md");
    assert_eq!(rows(&project, &["--state", "unreviewed"]), [format!("{changed} unreviewed success")]);
    let unchanged = rows(&project, &["--state", "unchanged"]);
    assert_eq!(unchanged[0], format!("{quiet} unchanged success"));
    assert!(unchanged[1].ends_with(" unchanged launch_failure"), "{unchanged:?}");
}

#[test]
fn a_result_that_starts_from_an_older_commit_is_not_said_to_be_promotable() {
    let project = Project::initialised(User::Current);
    let task = tool(&project, "echo change >> README.md");
    project.write("other", "moved\n");
    project.commit_all("moved");
    let again = rerun(&project, &[&task]);
    assert_eq!(again.code, 0, "{again:?}");
    let (before, after) = again.stderr.split_once(": completed outcome=success\n").expect("an end");
    assert!(before.starts_with("warning: trusted repository ") && before.contains("; --current starts from HEAD\n"));
    assert!(after.contains(": cannot be promoted as it is: trusted repository "), "{again:?}");
    let next = format!("1 changed file, next: isobox rerun --current {task}, or isobox diff {task}\n");
    assert!(after.ends_with(&next), "{again:?}");
    let current = rerun(&project, &["--current", &task]);
    assert!(!current.stderr.contains("warning: ") && !current.stderr.contains("cannot be promoted"), "{current:?}");
    assert!(current.stderr.ends_with(&format!("next: isobox diff {task} && isobox promote {task}\n")), "{current:?}");
    assert_eq!(project.isobox(&["promote", "--yes", &task]).code, 0);
}

#[test]
fn on_another_branch_the_way_back_is_named() {
    let project = Project::initialised(User::Current);
    let task = tool(&project, "echo change >> README.md");
    let branch = project.git(&["symbolic-ref", "--short", "HEAD"]).trim().to_owned();
    project.git(&["checkout", "-q", "-b", "other"]);
    let again = rerun(&project, &[&task]);
    let next = format!("1 changed file, next: check out branch {branch}, then promote again\n");
    assert!(again.stderr.ends_with(&next), "{again:?}");
}

#[test]
fn kept_workspaces_of_several_attempts_are_told_apart_and_disposed_by_name() {
    let project = Project::initialised(User::Current);
    let task = task_of(&project.isobox(&["run", "--retain-workspace", "--", "true"]));
    assert_eq!(rerun(&project, &["--retain-workspace", &task]).code, 0);
    let list = project.isobox(&["workspace", "list"]).stdout;
    let names: Vec<&str> = list.lines().filter_map(|line| line.split_whitespace().next()).collect();
    assert_eq!(names, [format!("{task}#2"), format!("{task}#1")]);
    assert_eq!(project.isobox(&["workspace", "dispose", names[1]]).code, 0);
    let left = list.lines().next().and_then(|line| line.split_whitespace().last()).expect("a path");
    assert!(fs::exists(left).expect("look"));
    assert_eq!(project.workspaces().len(), 1);
}

#[test]
fn next_commands_name_the_place_that_was_typed() {
    let project = Project::initialised(User::Current);
    let (source, records) = (project.repository(), project.scratch().join("re cords"));
    let flags = format!(" --source {} --records '{}'", source.display(), records.display());
    let at = |words: &[&str], rest: &[&str]| {
        let mut command = project.isobox_command(words);
        command.arg("--source").arg(&source).arg("--records").arg(&records).args(rest).current_dir("/");
        outcome(command.output().expect("run isobox"))
    };
    let run = at(&["run"], &["--", "sh", "-c", "echo change >> README.md"]);
    let task = task_of(&run);
    assert!(
        run.stderr
            .ends_with(&format!("1 changed file, next: isobox diff{flags} {task} && isobox promote{flags} {task}\n")),
        "{run:?}"
    );
    let rejected = at(&["reject"], &[&task]);
    assert_eq!(rejected.stderr, format!("rejected {task}, next: isobox list{flags} --state unreviewed\n"));
    let refused = at(&["promote", "--yes"], &[&task]);
    assert_told(&refused, 4, &[&format!("hint: `isobox rerun{flags} {task}` attempts it once more")]);
    let again = at(&["rerun"], &[&task]);
    assert!(
        again.stderr.ends_with(&format!("next: isobox diff{flags} {task} && isobox promote{flags} {task}\n")),
        "{again:?}"
    );
    let next = again.stderr.lines().last().and_then(|line| line.split_once("next: ")).expect("a next command").1;
    let mut typed = project.command("sh");
    typed.args(["-c", &format!("{} --yes", next.replace("isobox ", &format!("{} ", isobox_program().display())))]);
    assert_eq!(outcome(typed.current_dir("/").output().expect("run sh")).code, 0, "{next}");
}

#[test]
fn the_newest_is_not_acted_on_while_a_newer_task_is_not_over() {
    let project = Project::initialised(User::Current);
    let task = tool(&project, "echo change >> README.md");
    let mut command = project.isobox_command(&["tool", "--", "sh", "-c", "echo began; cat"]);
    let mut running =
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().expect("start");
    let mut line = String::new();
    BufReader::new(running.stdout.as_mut().expect("a pipe")).read_line(&mut line).expect("a line");
    for words in [&["promote", "--yes", "@latest"][..], &["reject", "@latest"]] {
        let refused = project.isobox(words);
        assert_told(&refused, 5, &["which is not over yet, or ", &format!("hint: name it: {task}, or first")]);
    }
    for words in [&["show", "@latest"][..], &["diff", "@latest"], &["logs", "@latest"]] {
        assert_told(&project.isobox(words), 0, &[&format!("is not over yet: @latest is {task} here")]);
    }
    assert_eq!(rows(&project, &["--state", "unreviewed"]), [format!("{task} unreviewed success")]);
    assert_eq!(project.git(&["status", "--porcelain"]), "");
    assert_eq!(project.isobox(&["promote", "--dry-run", &task]).stderr, "");
    // One that was begun before is not the newest.
    let newest = tool(&project, "echo newest >> README.md");
    assert_told(&project.isobox(&["reject", "@latest"]), 0, &[&format!("rejected {newest}, next: ")]);
    drop(running.stdin.take());
    running.wait().expect("wait for isobox");
}

#[test]
fn the_newest_is_not_acted_on_while_a_newer_task_that_was_killed_is_not_on_record() {
    let project = Project::initialised(User::Current);
    let task = tool(&project, "echo change >> README.md");
    let mut command = project.isobox_command(&["tool", "--", "sh", "-c", "echo began; cat"]);
    let mut killed = command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::null()).spawn().expect("start");
    let mut line = String::new();
    BufReader::new(killed.stdout.as_mut().expect("a pipe")).read_line(&mut line).expect("a line");
    killed.kill().expect("killed");
    killed.wait().expect("wait for isobox");
    for words in [&["promote", "--yes", "@latest"][..], &["reject", "@latest"]] {
        assert_told(&project.isobox(words), 5, &["which was interrupted and is not on record yet, or ", "isobox wait"]);
    }
    let told = format!("was interrupted and is not on record yet: @latest is {task} here");
    assert_told(&project.isobox(&["logs", "@latest"]), 0, &[&told]);
    assert_eq!(rows(&project, &["--state", "unreviewed"]), [format!("{task} unreviewed success")]);
    assert_eq!(project.git(&["status", "--porcelain"]), "");
}

#[test]
fn what_left_nothing_behind_is_not_said_to_have_left_something_out() {
    let project = Project::initialised(User::Current);
    let task = tool(&project, "echo said");
    assert_told(&project.isobox(&["promote", &task]), 4, &["hint: `isobox list --state unreviewed` shows results"]);
    let task = tool(&project, "mkfifo pipe");
    assert_told(&project.isobox(&["promote", &task]), 4, &[&format!("hint: `isobox diff --stat {task}` lists what")]);
}

#[test]
fn a_program_that_is_not_committed_is_told_from_one_that_cannot_be_executed() {
    let project = Project::initialised(User::Current);
    project.write(".git/info/exclude", "made\n");
    project.write("made", "#!/bin/sh\n");
    assert_told(&project.isobox(&["tool", "--", "./made"]), 127, &["is it committed, or ignored by Git?"]);
    assert_told(&project.isobox(&["tool", "--", "./README.md"]), 126, &["`chmod +x` and commit it"]);
}

#[test]
fn commits_of_a_workload_are_told_where_its_record_is_shown() {
    let project = Project::initialised(User::Current);
    tool(&project, "echo b > b; git add b; git -c user.name=a -c user.email=a@b commit -qm b");
    let shown = project.isobox(&["show", "@latest"]).stdout;
    let line = shown.lines().find(|line| line.starts_with("commits ")).expect("a line");
    assert!(line.ends_with(" of its own, kept in the record; a promotion brings files alone"), "{shown}");
    tool(&project, "echo c > c");
    assert!(!project.isobox(&["show", "@latest"]).stdout.contains("\ncommits "));
}

#[test]
fn a_descriptor_that_is_not_open_is_answered_with_how_to_open_it() {
    let project = Project::initialised(User::Current);
    let refused = project.isobox(&["tool", "--events", "fd:9", "--", "true"]);
    assert_told(
        &refused,
        125,
        &["open fd:9 for writing; nothing was started", "--events fd:9 -- make test 9> ../events"],
    );
    let refused = project.isobox(&["tool", "--events", "../nowhere/at/all", "--", "true"]);
    assert_told(&refused, 125, &["hint: name a file that can be written to"]);
}
