//! `promotion.require` and `promotion.block`: what the policy keeps out is not promoted, unless somebody says why.

use crate::support::{assert_told, document, task_of, tool, user_policy};
use isobox_tests::{Project, User};
use serde_json::json;
use std::io::{BufRead, BufReader, Write};
use std::process::Stdio;

/// A project whose policy says `body` besides that tool calls are allowed.
fn project(body: &str) -> Project {
    let project = Project::initialised(User::Current);
    let head = "api_version: isobox.dev/v1alpha1\nkind: ProjectPolicy\ntool_call: {enabled: true}\n";
    project.write_policy(&format!("{head}{body}"));
    project.commit_all("Policy");
    project
}

/// Promotes `task`; asserts that it is refused with these words, and that nothing was changed.
fn assert_kept_out(project: &Project, flags: &[&str], task: &str, words: &[&str]) {
    let refused = project.isobox(&[&["promote", "--yes"], flags, &[task]].concat());
    assert_told(&refused, 4, words);
    assert_eq!(project.git(&["status", "--porcelain"]), "");
    let shown = document(&project.isobox(&["show", "--json", task]));
    assert_eq!(shown["promotion"]["state"], "not_promoted");
}

#[test]
fn a_finding_that_is_blocked_keeps_the_result_out_and_the_rest_goes_in() {
    let project = project("promotion: {block: [ci_workflow, secret_content]}\n");
    let token = "AKIA2E0A8F3B244C9986";
    let task = tool(
        &project,
        &format!(
            "mkdir -p .github/workflows; echo 'on: push' > .github/workflows/a.yml; echo '{token}' > key; echo x > b"
        ),
    );
    let words = ["`promotion.block` has ci_workflow, secret_content, found at 2 paths", "key: secret_content (high)"];
    assert_kept_out(&project, &[], &task, &words);
    assert_kept_out(&project, &["--dry-run"], &task, &["--override REASON", "--except"]);
    assert_kept_out(&project, &["--except", "key"], &task, &["has ci_workflow, found at 1 path"]);
    let rest = project.isobox(&["promote", "--yes", "--except", "key", "--except", ".github", &task]);
    assert_eq!(rest.code, 0, "{rest:?}");
    assert_eq!(project.git(&["status", "--porcelain"]), "?? b\n");
    let shown = document(&project.isobox(&["show", "--json", &task]));
    assert!(shown["promotion"]["overridden"].is_null(), "{shown}");
}

#[test]
fn what_became_a_text_is_looked_into() {
    let project = project("promotion: {block: [secret_content]}\n");
    std::fs::write(project.repository().join("blob"), b"\0\x01").expect("a file");
    project.commit_all("A blob");
    let task = tool(&project, "printf 'x\\nAKIA2E0A8F3B244C9986\\n' > blob");
    assert_kept_out(&project, &[], &task, &["blob: secret_content (high)"]);
    let told = project.isobox(&["report", &task]).stdout;
    assert!(told.contains("a key of AWS, line 2") && !told.contains("unexamined"), "{told}");
}

#[test]
fn a_level_stands_for_those_above_it_and_not_for_those_below() {
    let project = project("promotion: {block: [medium]}\n");
    let high = tool(&project, "echo x > AGENTS.md");
    assert_kept_out(&project, &[], &high, &["`promotion.block` has medium", "AGENTS.md: agent_instructions (high)"]);
    let low = tool(&project, "head -c 2000000 /dev/zero | tr '\\0' 'x' > large.txt");
    let promoted = project.isobox(&["promote", "--yes", "--dry-run", &low]);
    assert!(promoted.code == 0 && promoted.stdout.contains("large_file (low)"), "{promoted:?}");
}

#[test]
fn what_is_required_has_to_hold() {
    let project = project("promotion: {require: [review, success, verification]}\n");
    let failed = project.isobox(&["tool", "--", "sh", "-c", "echo x > a; exit 3"]);
    assert_eq!(failed.code, 3);
    let task = task_of(&failed);
    let words =
        ["`promotion.require` is not met: success, review, verification", "did not succeed", "--reviewed", "--verify"];
    assert_kept_out(&project, &[], &task, &words);
}

#[test]
fn whoever_goes_past_the_policy_says_why_and_that_stays_on_record() {
    let project = project("promotion: {require: [success], block: [agent_instructions, hook]}\n");
    let task = task_of(&project.isobox(&["tool", "--", "sh", "-c", "echo x > AGENTS.md; exit 3"]));
    for nothing in ["", " \t"] {
        assert_eq!(project.isobox(&["promote", "--yes", "--override", nothing, &task]).code, 2);
    }
    let promoted = project.isobox(&["promote", "--yes", "--override", "read with Ana\u{202e}", &task]);
    assert_eq!(promoted.code, 0, "{promoted:?}");
    assert!(promoted.stdout.contains("in spite of the policy: success, agent_instructions\n"), "{promoted:?}");
    let shown = document(&project.isobox(&["show", "--json", &task]));
    let expected =
        json!({ "reason": "read with Ana\u{202e}", "require": ["success"], "block": ["agent_instructions"] });
    assert_eq!(shown["promotion"]["overridden"], expected);
    let told = project.isobox(&["show", &task]).stdout;
    assert!(told.contains("in spite of success, agent_instructions: read with Ana\\u{202e}"), "{told}");
    assert_eq!(project.isobox(&["verify", "--deep"]).code, 0);
}

#[test]
fn what_nothing_keeps_out_is_not_recorded_as_overridden() {
    let project = project("promotion: {block: [high]}\n");
    let task = tool(&project, "echo x > a");
    assert_eq!(project.isobox(&["promote", "--yes", "--override", "in a hurry", &task]).code, 0);
    let shown = document(&project.isobox(&["show", "--json", &task]));
    assert!(shown["promotion"]["overridden"].is_null(), "{shown}");
}

#[test]
fn a_users_own_policy_keeps_out_more_and_an_untrusted_project_never_less() {
    let project = project("promotion: {block: [hook]}\n");
    user_policy(&project, "promotion: {block: [agent_instructions]}\n");
    let task = tool(&project, "echo x > AGENTS.md");
    assert_kept_out(&project, &[], &task, &["has agent_instructions"]);
    assert_eq!(project.isobox(&["policy", "distrust"]).code, 0);
    assert_kept_out(&project, &[], &task, &["has agent_instructions"]);
    let shown = project.isobox(&["policy", "show", "--effective"]).stdout;
    assert!(shown.contains("agent_instructions, ") || shown.contains(", agent_instructions"), "{shown}");
}

#[test]
fn a_policy_that_cannot_be_read_keeps_everything_out() {
    let project = project("");
    let task = tool(&project, "echo x > a");
    let head = "api_version: isobox.dev/v1alpha1\nkind: ProjectPolicy\n";
    project.write(".isobox/config.yaml", &format!("{head}promotion: {{block: [hgih]}}\n"));
    project.commit_all("A slip");
    let refused = project.isobox(&["promote", "--three-way", "--yes", &task]);
    assert_told(&refused, 3, &["config.yaml", "did you mean `high`?"]);
    assert!(!project.repository().join("a").exists());
}

#[test]
fn a_policy_that_the_checkout_leaves_out_keeps_everything_out() {
    let project = project("promotion: {block: [high]}\n");
    let task = tool(&project, "echo x > AGENTS.md");
    let refused = || {
        let refused = project.isobox(&["promote", "--three-way", "--yes", &task]);
        assert_told(&refused, 3, &["the policy that HEAD has is not in the working tree", "git show HEAD:"]);
        assert!(!project.repository().join("AGENTS.md").exists());
    };
    project.git(&["update-index", "--skip-worktree", ".isobox/config.yaml"]);
    std::fs::remove_file(project.repository().join(".isobox/config.yaml")).expect("remove");
    refused();
    project.git(&["update-index", "--no-skip-worktree", ".isobox/config.yaml"]);
    refused();
    project.commit_all("No policy any more");
    assert_eq!(project.isobox(&["promote", "--three-way", "--yes", &task]).code, 0);
}

#[test]
fn of_a_file_in_hunks_only_what_is_taken_counts() {
    let project = project("promotion: {block: [secret_content]}\n");
    let lines: String = (1..=40).map(|number| format!("{number}\n")).collect();
    project.write("lines", &lines);
    project.commit_all("Lines");
    let task = tool(&project, "sed -i 's/^3$/three/; s/^30$/AKIA2E0A8F3B244C9986/' lines");
    let choose = |answers: &str| {
        let mut command = project.isobox_command(&["promote", "--patch", "--yes", &task]);
        let mut child =
            command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().expect("start isobox");
        child.stdin.take().expect("piped").write_all(answers.as_bytes()).expect("answer");
        isobox_tests::outcome(child.wait_with_output().expect("wait"))
    };
    assert_told(&choose("n\ny\n"), 4, &["has secret_content, found at 1 path"]);
    assert_eq!(project.git(&["status", "--porcelain"]), "");
    assert_eq!(choose("y\nn\n").code, 0);
    assert_eq!(project.read("lines"), lines.replacen("\n3\n", "\nthree\n", 1));
}

#[test]
fn what_weighs_most_is_shown_first_and_content_is_looked_into() {
    let project = project("");
    let task = tool(&project, "echo x > a; echo AKIA2E0A8F3B244C9986 > b; echo x > build.sh; rm README.md");
    let shown = project.isobox(&["promote", "--dry-run", &task]).stdout;
    let at = |text: &str| shown.find(text).unwrap_or_else(|| panic!("no {text} in {shown}"));
    assert!(at("A b ") < at("secret_content (high)") && at("secret_content (high)") < at("A build.sh"), "{shown}");
    assert!(at("A build.sh") < at("D README.md") && at("D README.md") < at("A a "), "{shown}");
}

#[test]
fn a_policy_that_asks_for_more_by_then_is_asked_again() {
    let project = project("");
    let task = tool(&project, "echo x > a");
    let mut command = project.isobox_command(&["promote", &task]);
    let mut child =
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().expect("start isobox");
    let mut shown = BufReader::new(child.stdout.take().expect("piped"));
    let mut line = String::new();
    // The report ends before the question.
    while !line.contains("1 changed path") {
        line.clear();
        assert_ne!(shown.read_line(&mut line).expect("a line"), 0);
    }
    user_policy(&project, "promotion: {require: [review]}\n");
    child.stdin.take().expect("piped").write_all(b"yes\n").expect("answer");
    let refused = isobox_tests::outcome(child.wait_with_output().expect("wait"));
    assert_told(&refused, 4, &["what the policy asks for changed after the promotion was shown"]);
    assert!(!project.repository().join("a").exists());
}

#[test]
fn a_verification_that_is_required_lets_in_what_it_succeeds_with() {
    let project = project("promotion: {require: [verification]}\nverification: {commands: [test -f a]}\n");
    let [bad, good] = ["b", "a"].map(|name| tool(&project, &format!("echo x > {name}")));
    assert_kept_out(&project, &[], &good, &["is not met: verification", "--verify"]);
    assert_kept_out(&project, &["--verify"], &bad, &["verification"]);
    assert_kept_out(&project, &["--verify-command", "true"], &bad, &["is not met: verification", "add --verify"]);
    assert_kept_out(&project, &["--verify", "--verify-command", "true"], &bad, &["did not succeed"]);
    let promoted = project.isobox(&["promote", "--yes", "--verify", &good]);
    assert_eq!(promoted.code, 0, "{promoted:?}");
    let shown = document(&project.isobox(&["show", "--json", &good]));
    let verified = shown["promotion"]["verified_by"].as_str().expect("a record");
    assert!(shown["promotion"]["overridden"].is_null());
    assert_eq!(document(&project.isobox(&["show", "--json", verified]))["kind"], "verification");
}

#[test]
fn a_result_brings_no_shell_of_its_own_to_its_verification() {
    let policy = "development_environment: {path_mode: inherited}\nverification: {commands: ['false', 'true']}\n";
    let project = project(policy);
    let task = tool(&project, "printf '#!/bin/sh\nexit 0\n' > sh; chmod +x sh");
    let mut command = project.isobox_command(&["promote", "--yes", "--verify", &task]);
    command.env("PATH", format!(".:{}", std::env::var("PATH").expect("a PATH")));
    let refused = isobox_tests::outcome(command.output().expect("run isobox"));
    assert_told(&refused, 4, &["did not succeed"]);
}
