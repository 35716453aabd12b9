//! The output of every command that looks, on a small fixed project, as every user.

use crate::transcript::{Transcript, users};
use isobox_tests::{Project, User, ignored};
use std::fs;

/// What the Task that is looked at does: every kind of change, and both streams.
const WORK: &str = "echo said; echo complained >&2; echo more >> README.md; rm src/main.rs; mkdir -p empty tools
printf '#!/bin/sh\\n' > tools/build.sh; chmod +x tools/build.sh; ln -s ../README.md tools/link; printf 'a\\000b' > 'a name'; exit 3";

/// Runs a workload; the id of its Task.
fn attempt(project: &Project, arguments: &[&str]) -> String {
    let file = project.scratch().join("id");
    let id_file = format!("--id-file={}", file.display());
    let mut words = vec![arguments[0], "-q", &id_file];
    words.extend(&arguments[1..]);
    project.isobox(&words);
    fs::read_to_string(file).expect("an id").trim().to_owned()
}

/// A project with three Tasks: one promoted, one with every kind of change, one that was rejected.
fn worked_in(user: User) -> (Transcript, String) {
    let project = Project::of_fixed_length(user);
    project.isobox(&["init"]);
    project.commit_all("Set up isobox");
    let promoted = attempt(&project, &["tool", "--", "sh", "-c", "echo first >> README.md"]);
    assert_eq!(project.isobox(&["promote", "--yes", &promoted]).code, 0);
    project.commit_all("First");
    let looked_at = attempt(&project, &["run", "--", "sh", "-c", WORK]);
    let rejected = attempt(&project, &["tool", "--", "true"]);
    assert_eq!(project.isobox(&["reject", "--reason", "not needed", &rejected]).code, 0);
    let mut transcript = Transcript::of(project);
    // The order of the ids is that in which they are made.
    [promoted, looked_at.clone(), rejected].iter().for_each(|id| drop(transcript.redaction.redacted(id)));
    (transcript, looked_at)
}

/// Whether this machine enforces every control as most do: what is shown of a record says so.
fn is_ordinary(project: &Project, case: &str) -> bool {
    let record = project.isobox(&["show", "--json", "@latest"]);
    let record: serde_json::Value = serde_json::from_str(&record.stdout).expect("a document");
    let controls = record["effective_policy"]["enforcement"].as_object().expect("controls");
    let weak: Vec<&String> = controls
        .iter()
        .filter(|(name, control)| *name != "limits" && control["status"] != "enforced")
        .map(|(name, _)| name)
        .collect();
    if !weak.is_empty() {
        ignored(case, &format!("this machine enforces less than others: {weak:?}"));
    }
    weak.is_empty()
}

#[test]
fn what_is_known_of_tasks_reads_well() {
    for user in users() {
        let (mut transcript, task) = worked_in(*user);
        transcript.look(&["list"]);
        transcript.look(&["list", "--state", "unreviewed"]);
        transcript.look(&["list", "--state", "running"]);
        transcript.look(&["list", "--json"]);
        transcript.look(&["wait", &task]);
        transcript.look(&["workspace", "list"]);
        transcript.assert_as_kept("list");
    }
}

#[test]
fn a_record_reads_well() {
    for user in users() {
        let (mut transcript, task) = worked_in(*user);
        if !is_ordinary(&transcript.project, "what `isobox show` prints") {
            return;
        }
        transcript.look(&["show", &task]);
        transcript.look(&["show", "@latest"]);
        transcript.look(&["show", "@latest~2"]);
        transcript.piped(&["show", "--json", &task]);
        transcript.assert_as_kept("show");
    }
}

#[test]
fn changes_and_output_read_well() {
    for user in users() {
        let (mut transcript, task) = worked_in(*user);
        transcript.look(&["diff", &task]);
        transcript.look(&["diff", "--stat", &task]);
        transcript.look(&["diff", "--name-only", &task]);
        transcript.look(&["logs", &task]);
        transcript.look(&["logs", "--stderr", &task]);
        transcript.look(&["cat", &format!("{task}:README.md")]);
        transcript.look(&["cat", &format!("{task}:a name")]);
        transcript.look(&["report", &task]);
        transcript.look(&["promote", "--dry-run", &task]);
        transcript.assert_as_kept("changes");
    }
}

#[test]
fn policies_read_well() {
    for user in users() {
        let (mut transcript, _) = worked_in(*user);
        transcript.look(&["policy", "check"]);
        transcript.look(&["policy", "show"]);
        transcript.look(&["policy", "show", "--effective"]);
        transcript.piped(&["policy", "show", "--effective", "--json"]);
        transcript.assert_as_kept("policy");
    }
}

#[test]
fn what_doctor_finds_in_a_project_reads_well() {
    for user in users() {
        let (mut transcript, _) = worked_in(*user);
        let (_, shown) = isobox_tests::on_a_terminal(transcript.project.isobox_command(&["doctor"]), 80);
        // What is found on the machine is not the same on any two.
        let of_the_project: Vec<&str> =
            shown.lines().skip_while(|line| *line != "project").take_while(|line| !line.is_empty()).collect();
        transcript.add(
            "==== isobox doctor (on a terminal of 80 columns), what is told of the project\n",
            &of_the_project.join("\n"),
        );
        transcript.assert_as_kept("doctor");
    }
}

#[test]
fn versions_manual_pages_and_completions_are_as_they_were() {
    let mut transcript = Transcript::of(Project::bare(User::Current));
    transcript.look(&["version"]);
    transcript.look(&["version", "--json"]);
    transcript.look(&["--version"]);
    transcript.piped(&["man"]);
    transcript.piped(&["man", "promote"]);
    ["bash", "zsh", "fish"].iter().for_each(|shell| transcript.piped(&["completions", shell]));
    transcript.assert_as_kept("version-man-completions");
}
