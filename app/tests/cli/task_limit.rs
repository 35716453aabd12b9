//! How many tasks of a store run at the same time.

use crate::schema_checker::assert_described;
use crate::support::{Running, assert_told, document, tool, user_policy};
use isobox_tests::{Outcome, Project, User, outcome};
use rustix::process::{Pid, Signal, kill_process};
use std::io::{BufRead, BufReader};
use std::process::{Child, Stdio};

/// A tool call that waits for its turn; its first line on standard error.
fn waiting(project: &Project, script: &str) -> (Child, String) {
    let mut command = project.isobox_command(&["tool", "--max-tasks", "1", "--", "sh", "-c", script]);
    command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut child = command.spawn().expect("start isobox");
    let mut line = String::new();
    BufReader::with_capacity(1, child.stderr.as_mut().expect("standard error")).read_line(&mut line).expect("a line");
    (child, line)
}

fn ended(child: Child) -> Outcome {
    outcome(child.wait_with_output().expect("wait for isobox"))
}

fn tasks(project: &Project) -> Vec<serde_json::Value> {
    document(&project.isobox(&["list", "--json"]))["tasks"].as_array().expect("tasks").clone()
}

#[test]
fn one_more_than_may_run_is_refused_where_nobody_wants_to_wait_and_nothing_is_made() {
    let project = Project::initialised(User::Current);
    let running = Running::start(&project, "cat");
    let refused = project.isobox(&["tool", "--max-tasks", "1", "--no-wait", "--", "true"]);
    assert_told(
        &refused,
        125,
        &["1 task runs in this task store", "`tasks.max` is 1", "nothing was started", "hint: "],
    );
    assert_eq!(tasks(&project).len(), 1);
    assert_eq!(project.workspaces().len(), 1);
    let beside = project.isobox(&["run", "--max-tasks=2", "--no-wait", "--", "true"]);
    assert_eq!(beside.code, 0, "{beside:?}");
    assert_eq!(running.wait().code, 0);
    let after = project.isobox(&["tool", "--max-tasks", "1", "--no-wait", "--", "true"]);
    assert_eq!(after.code, 0, "{after:?}");
}

#[test]
fn one_that_waits_says_so_and_starts_from_where_head_is_when_its_turn_has_come() {
    let project = Project::initialised(User::Current);
    let running = Running::start(&project, "cat");
    let (child, line) = waiting(&project, "cat README.md");
    assert_eq!(line, "waiting: 1 task runs in this task store, as many as may; --no-wait refuses instead\n");
    project.write("README.md", "later\n");
    project.commit_all("Later");
    assert_eq!(running.wait().code, 0);
    let ended = ended(child);
    assert_eq!((ended.code, ended.stdout.as_str()), (0, "later\n"), "{ended:?}");
}

#[test]
fn a_script_is_told_that_a_task_waits() {
    let project = Project::initialised(User::Current);
    let running = Running::start(&project, "cat");
    let events = project.scratch().join("events");
    let flag = format!("--events={}", events.display());
    let mut command = project.isobox_command(&["tool", "--max-tasks=1", &flag, "--", "true"]);
    let mut child = command.stdin(Stdio::null()).stderr(Stdio::piped()).spawn().expect("start isobox");
    BufReader::new(child.stderr.take().expect("standard error")).read_line(&mut String::new()).expect("a line");
    assert_eq!(running.wait().code, 0);
    child.wait().expect("wait for isobox");
    let told = std::fs::read_to_string(&events).expect("events");
    let first = told.lines().next().unwrap_or_else(|| panic!("nothing in {told:?}"));
    let first = serde_json::from_str(first).unwrap_or_else(|error| panic!("{error}: {told}"));
    assert_described("event", &first);
    assert_eq!((&first["event"], &first["running"]), (&"waiting".into(), &1.into()));
}

#[test]
fn a_killed_task_makes_room_and_a_killed_one_that_waited_leaves_nothing() {
    let project = Project::initialised(User::Current);
    let mut running = Running::start(&project, "cat");
    let (mut first, _) = waiting(&project, "echo first");
    let (second, _) = waiting(&project, "echo second");
    first.kill().expect("kill");
    first.wait().expect("wait");
    running.child.kill().expect("kill");
    running.child.wait().expect("wait");
    let ended = ended(second);
    assert_eq!((ended.code, ended.stdout.as_str()), (0, "second\n"), "{ended:?}");
    assert_eq!(tool(&project, "true").len(), "task-".len() + 16);
    assert_eq!(tasks(&project).len(), 3, "the killed task, the second, and the last");
    assert_eq!(project.workspaces().len(), 0);
}

#[test]
fn one_that_waits_ends_when_it_is_asked_to() {
    let project = Project::initialised(User::Current);
    let running = Running::start(&project, "cat");
    let (child, _) = waiting(&project, "true");
    kill_process(Pid::from_child(&child), Signal::TERM).expect("a signal");
    assert_ne!(ended(child).code, 0);
    assert_eq!(running.wait().code, 0);
    assert_eq!(tasks(&project).len(), 1);
}

#[test]
fn never_do_more_run_than_the_policy_allows_however_many_start_at_once() {
    let project = Project::initialised(User::Current);
    let policy = project.read(".isobox/config.yaml");
    project.write_policy(&policy.replace("max: unlimited", "max: 2"));
    project.commit_all("Two at once");
    assert_eq!(project.isobox(&["policy", "trust"]).code, 0);
    let start = |_| {
        let mut command = project.isobox_command(&["tool", "--", "sleep", "0.2"]);
        command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().expect("start isobox")
    };
    let children: Vec<Child> = (0..7).map(start).collect();
    for child in children {
        let ended = ended(child);
        assert_eq!(ended.code, 0, "{ended:?}");
    }
    let records: Vec<_> = tasks(&project);
    assert_eq!(records.len(), 7);
    let times = |task: &serde_json::Value| {
        let shown = document(&project.isobox(&["show", "--json", task["id"].as_str().expect("an id")]));
        let time = |key: &str| shown[key].as_str().unwrap_or_else(|| panic!("{key} in {shown}")).to_owned();
        (time("started_at"), time("ended_at"))
    };
    let times: Vec<_> = records.iter().map(times).collect();
    for (start, _) in &times {
        let beside = times.iter().filter(|(began, ended)| began <= start && start < ended).count();
        assert!(beside <= 2, "{beside} at {start}: {times:?}");
    }
}

#[test]
fn a_flag_beyond_the_users_own_policy_is_refused() {
    let project = Project::initialised(User::Current);
    user_policy(&project, "tasks: {max: 2}\n");
    let shown = project.isobox(&["policy", "show", "--effective"]).stdout;
    assert!(shown.lines().any(|line| line.contains("tasks.max") && line.contains('2')), "{shown}");
    for command in ["tool", "run"] {
        let refused = project.isobox(&[command, "--max-tasks", "3", "--", "true"]);
        assert_told(&refused, 125, &["your own policy allows less", "`tasks.max`"]);
    }
    assert_eq!(project.isobox(&["tool", "--max-tasks", "1", "--", "true"]).code, 0);
    assert_told(&project.isobox(&["tool", "--max-tasks", "0", "--", "true"]), 125, &["from 1 to 4294967295"]);
}

#[test]
fn a_users_own_limit_holds_where_a_project_has_no_policy() {
    let project = Project::bare(User::Current);
    user_policy(&project, "tasks: {max: 1}\n");
    let ran = project.isobox(&["run", "--", "true"]);
    assert_eq!(ran.code, 0, "{ran:?}");
    let mut command = project.isobox_command(&["run", "--", "cat"]);
    command.stdin(Stdio::piped()).stdout(Stdio::null()).stderr(Stdio::piped());
    let mut running = command.spawn().expect("start isobox");
    BufReader::new(running.stderr.as_mut().expect("standard error")).read_line(&mut String::new()).expect("a line");
    assert_told(&project.isobox(&["run", "--no-wait", "--", "true"]), 125, &["1 task runs", "`tasks.max` is 1"]);
    assert_eq!(ended(running).code, 0);
}
