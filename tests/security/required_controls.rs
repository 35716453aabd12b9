//! Promise: what is required is enforced, or nothing is started; and what is weaker than a project's policy is meant.

use isobox_tests::{Case, Project, User, promises};

promises! {
    bubblewrap: [
        what_is_required_and_enforced_is_on_record,
        a_session_weaker_than_the_projects_policy_needs_the_word_for_it,
    ],
    host: [
        what_is_required_and_not_enforced_starts_nothing,
        a_program_is_told_what_is_not_enforced_and_why,
        what_a_user_requires_holds_in_every_project,
        host_is_asked_for_by_name_unless_the_project_names_what_contains,
        a_limit_is_raised_or_lifted_only_by_the_word_for_it,
        a_limit_that_is_required_and_does_not_hold_starts_nothing,
    ],
}

const POLICY: &str = ".isobox/config.yaml";

/// Fails if a Task was begun.
fn assert_nothing_began(project: &Project, known: &str) {
    assert_eq!(project.isobox(&["list"]).stdout, known);
    assert_eq!(project.workspaces(), Vec::<std::path::PathBuf>::new());
}

/// The project, with `from` of its policy changed to `to`.
fn with_policy(project: &Project, from: &str, to: &str) {
    let policy = project.read(POLICY);
    assert!(policy.contains(from), "{policy}");
    project.write_policy(&policy.replace(from, to));
    project.commit_all("Policy");
}

fn what_is_required_and_not_enforced_starts_nothing(case: &Case) {
    let project = &case.project;
    let mark = project.scratch().join("mark");
    let touch = mark.to_str().expect("text");
    let known = project.isobox(&["list"]).stdout;
    let run = project.isobox(&["run", "--backend=host", "--require=network", "--", "touch", touch]);
    assert_eq!(run.code, 125, "{run:?}");
    assert!(run.stderr.contains("not everything that is required is enforced here: host: `network` is not enforced"));
    with_policy(project, "runtime_backend: auto", "runtime_backend: host");
    let tool = project.isobox(&["tool", "--require", "ipc,network", "--", "touch", touch]);
    assert_eq!(tool.code, 125, "{tool:?}");
    with_policy(project, "\nrequire: []", "\nrequire: [filesystem]");
    let tool = project.isobox(&["tool", "--", "touch", touch]);
    assert!(tool.code == 125 && tool.stderr.contains("`filesystem` is not enforced"), "{tool:?}");
    assert!(!mark.exists());
    assert_nothing_began(project, &known);
}

fn a_program_is_told_what_is_not_enforced_and_why(case: &Case) {
    let refused = case.project.isobox(&["run", "--json-errors", "--backend=host", "--require=network", "--", "true"]);
    let error: serde_json::Value = serde_json::from_str(refused.stderr.lines().last().expect("a line")).expect("JSON");
    assert_eq!((error["exit_code"].as_u64(), refused.code), (Some(125), 125));
    let told = &error["not_enforced"];
    assert_eq!(told.as_array().map(Vec::len), Some(1), "{error}");
    assert_eq!(told[0]["required"], "network");
    assert_eq!(told[0]["backend"], "host");
    assert_eq!(told[0]["status"], "not_enforced");
    assert!(told[0]["reason"].as_str().is_some_and(|reason| !reason.is_empty()), "{error}");
}

fn what_is_required_and_enforced_is_on_record(case: &Case) {
    with_policy(&case.project, "\nrequire: []", "\nrequire: [network]");
    let tool = case.project.isobox(&["tool", "--require", "syscalls", "--", "true"]);
    assert_eq!(tool.code, 0, "{tool:?}");
    let policy = &case.record()["effective_policy"];
    assert_eq!(policy["require"], serde_json::json!(["network", "syscalls"]));
    assert_eq!(policy["enforcement"]["network"]["status"], "enforced");
    let again = case.project.isobox(&["rerun", "--require", "privileges", "@latest"]);
    assert_eq!(again.code, 0, "{again:?}");
    let required = serde_json::json!(["network", "privileges", "syscalls"]);
    assert_eq!(case.record()["effective_policy"]["require"], required);
}

fn what_a_user_requires_holds_in_every_project(case: &Case) {
    let config = case.project.home().join(".config/isobox");
    std::fs::create_dir_all(&config).expect("create");
    let text = "api_version: isobox.dev/v1alpha1\nkind: UserPolicy\nrequire: [network]\n";
    std::fs::write(config.join("config.yaml"), text).expect("write");
    let run = case.project.isobox(&["run", "--backend=host", "--", "true"]);
    assert!(run.code == 125 && run.stderr.contains("`network` is not enforced"), "{run:?}");
    let shown = case.project.isobox(&["policy", "show", "--effective"]);
    assert!(shown.stdout.lines().any(|line| line.split_whitespace().eq(["require", "user", "[network]"])), "{shown:?}");
}

fn a_session_weaker_than_the_projects_policy_needs_the_word_for_it(case: &Case) {
    let project = &case.project;
    let known = project.isobox(&["list"]).stdout;
    let refused = project.isobox(&["run", "--network", "inherited", "--", "true"]);
    assert_eq!(refused.code, 125, "{refused:?}");
    assert!(refused.stderr.contains("weaker than the project's policy") && refused.stderr.contains("--unsafe-network"));
    assert_nothing_began(project, &known);
    let run = project.isobox(&["run", "-q", "--network", "inherited", "--unsafe-network", "--", "true"]);
    assert_eq!(run.code, 0, "{run:?}");
    assert!(run.stderr.contains("warning: this session is less contained than the project's policy says"), "{run:?}");
    assert_eq!(case.record()["effective_policy"]["unsafe_overrides"], serde_json::json!(["network"]));
    let shown = project.isobox(&["show", "@latest"]).stdout;
    assert!(shown.contains("unsafe       network.default"), "{shown}");
    // What the policy says itself, or what is narrower, needs none.
    with_policy(project, "default: deny", "default: inherited");
    for access in ["inherited", "deny"] {
        let run = project.isobox(&["run", "--network", access, "--", "true"]);
        assert_eq!(run.code, 0, "{run:?}");
        assert_eq!(case.record()["effective_policy"]["unsafe_overrides"], serde_json::json!([]));
    }
}

fn host_is_asked_for_by_name_unless_the_project_names_what_contains(case: &Case) {
    let run = case.project.isobox(&["run", "--backend=host", "--", "true"]);
    assert!(run.code == 0 && run.stderr.contains("`runtime_backend` is host, and not auto"), "{run:?}");
    assert_eq!(case.record()["effective_policy"]["unsafe_overrides"], serde_json::json!(["backend"]));
    with_policy(&case.project, "runtime_backend: auto", "runtime_backend: bubblewrap");
    let refused = case.project.isobox(&["run", "--backend=host", "--", "true"]);
    assert!(refused.code == 125 && refused.stderr.contains("--unsafe-backend"), "{refused:?}");
    let run = case.project.isobox(&["run", "--backend=host", "--unsafe-backend", "--", "true"]);
    assert_eq!(run.code, 0, "{run:?}");
}

fn a_limit_is_raised_or_lifted_only_by_the_word_for_it(case: &Case) {
    let project = &case.project;
    with_policy(project, "runtime_backend: auto", "runtime_backend: host");
    with_policy(project, "\n  time: unlimited", "\n  time: 1h");
    with_policy(project, "\n  output: unlimited", "\n  output: 1MiB");
    let known = project.isobox(&["list"]).stdout;
    for wider in ["time=unlimited", "time=2h", "output=2MiB"] {
        let refused = project.isobox(&["run", "--limit", wider, "--", "true"]);
        let told = format!("`--limit {wider}` is weaker than the project's policy");
        assert!(refused.code == 125 && refused.stderr.contains(&told), "{refused:?}");
        assert!(refused.stderr.contains("add --unsafe-limits"), "{refused:?}");
    }
    assert_nothing_began(project, &known);
    let typed = ["--limit", "time=unlimited", "--limit", "output=2MiB", "--unsafe-limits"];
    let run = project.isobox(&[&["run", "-q"], &typed[..], &["--", "true"]].concat());
    let warnings = run.stderr.lines().filter(|line| line.contains("warning: this session is less contained"));
    assert!(run.code == 0 && warnings.count() == 2, "{run:?}");
    assert_eq!(case.record()["effective_policy"]["unsafe_overrides"], serde_json::json!(["limits"]));
    // Lower ones, and others, take nothing away.
    let run = project.isobox(&["run", "-q", "--limit", "time=30m", "--limit", "open_files=100", "--", "true"]);
    assert!(run.code == 0 && !run.stderr.contains("less contained"), "{run:?}");
    assert_eq!(case.record()["effective_policy"]["unsafe_overrides"], serde_json::json!([]));
}

/// On `host` no limit but that of output holds whole.
fn a_limit_that_is_required_and_does_not_hold_starts_nothing(case: &Case) {
    let project = &case.project;
    let known = project.isobox(&["list"]).stdout;
    let run = |more: &[&str]| {
        let flags = ["run", "-q", "--json-errors", "--backend=host"];
        project.isobox(&[&flags[..], more, &["--", "true"]].concat())
    };
    let refused = run(&["--require=memory", "--limit=memory=1GiB"]);
    let error: serde_json::Value = serde_json::from_str(refused.stderr.lines().last().expect("a line")).expect("JSON");
    let (required, status) = (&error["not_enforced"][0]["required"], &error["not_enforced"][0]["status"]);
    assert_eq!((refused.code, required, status), (125, &"memory".into(), &"partially_enforced".into()), "{refused:?}");
    let refused = run(&["--require=limits.processes"]);
    assert!(refused.code == 125 && refused.stderr.contains("the policy sets no such limit"), "{refused:?}");
    assert_nothing_began(project, &known);
    let held = run(&["--require=output", "--limit=output=1MiB"]);
    assert_eq!(held.code, 0, "{held:?}");
    assert_eq!(case.record()["effective_policy"]["require"], serde_json::json!(["output"]));
}

#[test]
fn where_no_file_says_anything_what_is_typed_is_the_policy() {
    let project = Project::bare(User::Current);
    let run = project.isobox(&["run", "--network", "inherited", "--backend", "host", "--", "true"]);
    assert!(run.code == 0 && !run.stderr.contains("warning"), "{run:?}");
}
