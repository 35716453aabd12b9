//! Typical errors: what is wrong, why, and what to do next.

use crate::transcript::{Transcript, users};
use isobox_tests::{Project, User};
use std::collections::HashMap;

const POLICY: &str = ".isobox/config.yaml";

/// Looks at errors in a project that was prepared, as every user.
fn errors(name: &str, prepare: impl Fn(User) -> Project, commands: &[&[&str]]) {
    for user in users() {
        let mut transcript = Transcript::of(prepare(*user));
        commands.iter().for_each(|arguments| transcript.look(arguments));
        transcript.assert_as_kept(&format!("errors/{name}"));
    }
}

#[test]
fn slips_on_the_command_line_are_told_with_what_to_type_instead() {
    let commands: &[&[&str]] = &[
        &[],
        &["lst"],
        &["list", "--bogus"],
        &["list", "--jsn"],
        &["list", "--state", "done"],
        &["--verbose", "--quiet", "list"],
        &["show"],
        &["cat", "@latest"],
        &["diff", "--stat", "--name-only", "@latest"],
        &["promote", "--force", "@latest"],
        &["workspace"],
        &["workspace", "dispose"],
        &["policy", "explain"],
        &["tool"],
        &["tool", "make", "test"],
        &["tool", "--network", "inherited", "--", "true"],
        &["run", "--netwrok", "deny", "--", "true"],
        &["run", "--backend", "docker", "--", "true"],
        &["run", "--reuse-input", "nonsense", "--", "true"],
        &["run", "--", ""],
        &["completions", "tcsh"],
        &["help", "nothing"],
        &["man", "nothing"],
        &["export", "@latest"],
        &["--json-errors", "list", "--bogus"],
    ];
    errors("usage", Project::of_fixed_length, commands);
}

#[test]
fn places_that_cannot_be_used_are_told() {
    let commands: &[&[&str]] = &[
        &["list"],
        &["show", "@latest"],
        &["list", "--records", "/nonexistent"],
        &["list", "--source", "/nonexistent"],
        &["tool", "--source", "../scratch", "--", "true"],
        &["init", "/nonexistent"],
        &["doctor", "/nonexistent"],
        &["policy", "check"],
        &["policy", "show"],
        &["tool", "--", "true"],
        &["import", "/nonexistent"],
    ];
    errors("places", Project::of_fixed_length, commands);
}

#[test]
fn tasks_that_are_not_there_are_told() {
    let with_a_task = |user| {
        let project = Project::initialised_of_fixed_length(user);
        project.isobox(&["tool", "--", "sh", "-c", "exit 3"]);
        project
    };
    let commands: &[&[&str]] = &[
        &["show", "zz"],
        &["show", "task-0000000000000000"],
        &["show", "@latest~7"],
        &["show", "b3:00"],
        &["show", "../scratch/task-0123456789abcdef"],
        &["cat", "@latest:README.md"],
        &["cat", "@latest:../README.md"],
        &["stop", "@latest"],
        &["rerun", "@latest~1"],
        &["workspace", "dispose", "@latest"],
        &["promote", "@latest"],
        &["--json-errors", "show", "zz"],
    ];
    errors("tasks", with_a_task, commands);
}

#[test]
fn an_ambiguous_id_lists_what_it_could_mean() {
    for user in users() {
        let project = Project::initialised_of_fixed_length(*user);
        let mut known = HashMap::new();
        let digit = loop {
            let tool = project.isobox(&["tool", "--", "true"]);
            let digit = tool.stderr.split("task-").nth(1).expect("an id")[..1].to_owned();
            if known.insert(digit.clone(), ()).is_some() {
                break digit;
            }
        };
        let mut transcript = Transcript::of(project);
        transcript.redaction.say(&format!("show task-{digit}"), "show task-D");
        transcript.redaction.say(&format!("`{digit}`"), "`D`");
        transcript.look(&["show", &format!("task-{digit}")]);
        transcript.assert_as_kept("errors/ambiguous");
    }
}

#[test]
fn a_repository_that_is_not_clean_is_told_with_what_is_in_the_way() {
    let dirty = |user| {
        let project = Project::initialised_of_fixed_length(user);
        project.isobox(&["tool", "--", "sh", "-c", "echo more >> README.md"]);
        project.write("README.md", "changed\n");
        project.write("a name\twith a tab", "");
        project
    };
    errors("dirty", dirty, &[&["tool", "--", "true"], &["run", "--", "true"], &["promote", "--yes", "@latest"]]);
}

#[test]
fn a_promotion_that_cannot_be_is_told_with_what_to_do() {
    let moved = |user| {
        let project = Project::initialised_of_fixed_length(user);
        for script in ["echo one >> README.md", "echo two >> README.md"] {
            project.isobox(&["tool", "--", "sh", "-c", script]);
        }
        project.isobox(&["promote", "--yes", "@latest~1"]);
        project.commit_all("One");
        project
    };
    let unconfirmed = |user| {
        let project = Project::initialised_of_fixed_length(user);
        project.isobox(&["tool", "--", "sh", "-c", "echo one >> README.md"]);
        project
    };
    errors("promotion-moved", moved, &[&["promote", "--yes", "@latest"], &["promote", "--yes", "@latest~1"]]);
    errors("promotion-unconfirmed", unconfirmed, &[&["promote", "@latest"]]);
}

#[test]
fn a_policy_that_cannot_hold_is_told_with_its_place() {
    let with = |from: &'static str, to: &'static str| {
        move |user| {
            let project = Project::initialised_of_fixed_length(user);
            project.write(POLICY, &project.read(POLICY).replace(from, to));
            project.commit_all("Policy");
            project
        }
    };
    let tool: &[&str] = &["tool", "--", "true"];
    errors("policy-value", with("default: deny", "default: dney"), &[&["policy", "check"], tool]);
    errors("policy-key", with("network:", "netwrok:"), &[&["policy", "check"], &["doctor", "--nonsense"]]);
    errors("policy-disabled", with("enabled: true", "enabled: false"), &[tool]);
    let reads: &[&[&str]] =
        &[&["run", "--read", "/etc", "--", "true"], &["run", "--read", "/nonexistent", "--", "true"]];
    errors("policy-read", Project::initialised_of_fixed_length, reads);
}
