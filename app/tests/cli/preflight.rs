//! What is refused before a Sandbox exists, and that nothing is left then.

use crate::support::{assert_told, document};
use isobox_tests::{Machine, Outcome, Project, User, ignored, outcome};
use std::fs;
use std::process::{Child, Stdio};

fn assert_nothing_was_made(project: &Project) {
    assert_eq!(project.workspaces(), Vec::<std::path::PathBuf>::new());
    let list = project.isobox(&["list", "--json"]);
    assert!(list.code == 6 || list.stdout.contains("\"tasks\":[]"), "{list:?}");
}

#[test]
fn a_dirty_repository_is_refused_with_its_first_ten_entries_and_a_count() {
    let project = Project::initialised(User::Current);
    for number in 0..13 {
        project.write(&format!("new-{number:02}"), "");
    }
    let refused = project.isobox(&["tool", "--", "true"]);
    assert_told(
        &refused,
        125,
        &["isobox tool preflight", "13 entries", "untracked: new-00", "untracked: new-09", "… and 3 more", "hint: "],
    );
    assert!(!refused.stderr.contains("new-10"), "{refused:?}");
    assert_nothing_was_made(&project);
}

#[test]
fn output_that_the_caller_redirects_into_the_repository_is_named_as_what_makes_it_unclean() {
    let project = Project::initialised(User::Current);
    let file = fs::File::create(project.repository().join("result.txt")).expect("a file");
    let mut command = project.isobox_command(&["tool", "--", "true"]);
    let refused =
        outcome(command.stdout(file).stderr(Stdio::piped()).spawn().and_then(Child::wait_with_output).expect("run"));
    assert_told(
        &refused,
        125,
        &["standard output goes to ", "/result.txt, which makes the repository unclean", "untracked: result.txt"],
    );
    fs::remove_file(project.repository().join("result.txt")).expect("remove");
    let outside = fs::File::create(project.scratch().join("result.txt")).expect("a file");
    let mut command = project.isobox_command(&["tool", "--", "true"]);
    let ran =
        outcome(command.stdout(outside).stderr(Stdio::piped()).spawn().and_then(Child::wait_with_output).expect("run"));
    assert!(ran.code == 0 && !ran.stderr.contains("warning:"), "{ran:?}");
}

#[test]
fn a_project_without_policy_and_one_that_forbids_tool_calls_are_told_apart() {
    let project = Project::bare(User::Current);
    assert_told(&project.isobox(&["tool", "--", "true"]), 125, &["isobox tool preflight", "isobox init"]);
    project.write_policy("api_version: isobox.dev/v1alpha1\nkind: ProjectPolicy\n");
    project.commit_all("Policy");
    assert_told(&project.isobox(&["tool", "--", "true"]), 125, &["isobox tool preflight", "tool_call.enabled"]);
    assert_nothing_was_made(&project);
    let session = project.isobox(&["run", "--", "true"]);
    assert_eq!(session.code, 0, "{session:?}");
}

/// Runs `isobox` on `machine`, with no program on PATH.
fn without_programs(project: &Project, machine: Machine, arguments: &[&str]) -> Outcome {
    let mut command = project.isobox_command(arguments);
    command.env("PATH", "/nonexistent");
    outcome(machine.output(command).expect("run isobox"))
}

#[test]
fn without_bwrap_what_runs_is_contained_all_the_same() {
    let project = Project::initialised(User::Ordinary);
    let run = |arguments: &[&str]| without_programs(&project, Machine::Whole, arguments);
    assert_told(&run(&["run", "--backend=bubblewrap", "--", "true"]), 125, &["bubblewrap", "hint: "]);
    assert_nothing_was_made(&project);
    let doctor = document(&run(&["doctor", "--json"]));
    let findings = doctor["findings"].as_array().expect("findings");
    if findings.iter().any(|finding| finding["check"] == "sandbox.starts" && finding["severity"] != "ok") {
        return ignored("a task without bwrap", "the backend `landlock` starts no sandbox here");
    }
    let secret = project.home().join("secret");
    fs::write(&secret, "secret\n").expect("write");
    for command in ["tool", "run"] {
        let ran = run(&[command, "--", "cat", &secret.display().to_string()]);
        assert_eq!((ran.code, ran.stdout.as_str()), (1, ""), "{ran:?}");
        let policy = &document(&project.isobox(&["show", "--json", "@latest"]))["effective_policy"];
        assert_eq!(policy["runtime_backend"], "landlock");
        assert_eq!(policy["enforcement"]["filesystem"]["status"], "enforced");
    }
}

#[test]
fn without_bwrap_and_namespaces_nothing_runs_uncontained() {
    let project = Project::initialised(User::Ordinary);
    for arguments in
        [&["tool", "--", "true"][..], &["run", "--", "true"], &["run", "--backend=bubblewrap", "--", "true"]]
    {
        let refused = without_programs(&project, Machine::WithoutUserNamespaces, arguments);
        assert_told(&refused, 125, &["bubblewrap", "hint: "]);
    }
    assert_nothing_was_made(&project);
}

#[test]
fn what_cannot_be_enforced_yet_is_refused_by_name() {
    let project = Project::initialised(User::Current);
    for (arguments, word) in [
        (&["run", "--read", "/etc", "--", "true"][..], "/etc"),
        (&["run", "--read", "/nonexistent-18", "--", "true"], "/nonexistent-18"),
    ] {
        assert_told(&project.isobox(arguments), 125, &[word]);
    }
    project.write_policy(
        "api_version: isobox.dev/v1alpha1\nkind: ProjectPolicy\ntool_call:\n  enabled: true\nnetwork:\n  default: deny\n  allow: [example.com]\n",
    );
    project.commit_all("Policy");
    assert_told(&project.isobox(&["tool", "--", "true"]), 125, &["network.allow", "example.com"]);
    assert_nothing_was_made(&project);
}

#[test]
fn a_path_to_read_is_meant_from_where_the_caller_stands() {
    let project = Project::initialised(User::Current);
    let tools = project.scratch().join("tools");
    std::fs::create_dir(&tools).expect("a folder");
    std::fs::write(tools.join("program"), "found\n").expect("a file");
    let program = tools.canonicalize().expect("a path").join("program");
    let mut command = project.isobox_command(&["run", "-q", "--read", "../scratch/tools", "--", "cat"]);
    let read = outcome(command.arg(&program).output().expect("run isobox"));
    assert_eq!(read.stdout, "found\n", "{read:?}");
}

#[test]
fn a_repository_that_cannot_be_used_is_refused_with_its_reason() {
    let project = Project::initialised(User::Current);
    let empty = project.scratch().join("empty");
    let made = project.command("git").args(["init", "-q"]).arg(&empty).status().expect("run git");
    assert!(made.success());
    for (place, word) in [(&empty, "no commit yet"), (&project.home(), "not inside a Git repository")] {
        let mut command = project.isobox_command(&["run", "--", "true"]);
        assert_told(&outcome(command.current_dir(place).output().expect("run isobox")), 125, &[word, "hint: "]);
    }
}
