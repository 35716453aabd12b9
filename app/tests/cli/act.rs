//! `reject`, `stop`, `wait`, `rerun`, `workspace`, and the states of `list`.

use crate::support::{Running, assert_told, document, tool};
use isobox_tests::{Project, User, ignored, outcome};
use serde_json::{Value, json};
use std::fs;
use std::io::{BufRead, BufReader, Write};
use std::process::Stdio;

fn listed(project: &Project, task: &str) -> Value {
    let list = document(&project.isobox(&["list", "--json"]));
    let tasks = list["tasks"].as_array().expect("tasks").clone();
    tasks.into_iter().find(|listed| listed["id"] == task).unwrap_or_else(|| panic!("{task} is not in {list}"))
}

#[test]
fn a_rejected_result_is_not_promoted_unless_it_is_asked_for_again() {
    let project = Project::initialised(User::Current);
    let task = tool(&project, "echo change >> README.md");
    assert_eq!(listed(&project, &task)["state"], "unreviewed");
    let rejected = project.isobox(&["reject", &task, "--reason", "not \u{1b}[1m good"]);
    assert_eq!(
        (rejected.code, rejected.stderr.as_str()),
        (0, format!("rejected {task}, next: isobox list --state unreviewed\n").as_str())
    );
    assert_eq!(listed(&project, &task)["state"], "rejected");
    let view = project.read(&format!(".isobox/tasks/{task}/record.json"));
    assert!(view.contains("\"state\": \"rejected\""), "{view}");
    assert!(project.isobox(&["show", &task]).stdout.contains("rejected: not \\x1b[1m good"));
    assert_told(&project.isobox(&["promote", "--yes", &task]), 4, &["was rejected", "--again"]);
    assert_eq!(project.read("README.md"), "hello\n");
    assert_eq!(project.isobox(&["promote", "--yes", "--again", &task]).code, 0);
    assert_eq!(listed(&project, &task)["state"], "promoted");
    assert_told(&project.isobox(&["reject", &task]), 1, &["was promoted before", "nothing was changed"]);
}

#[test]
fn a_list_is_narrowed_to_states() {
    let project = Project::initialised(User::Current);
    let (first, second) = (tool(&project, "echo one >> README.md"), tool(&project, "echo two >> README.md"));
    assert_eq!(project.isobox(&["reject", &first]).code, 0);
    let ids = |states: &[&str]| {
        let list = document(&project.isobox(&[&["list", "--json"], states].concat()));
        list["tasks"].as_array().expect("tasks").iter().map(|task| task["id"].clone()).collect::<Vec<_>>()
    };
    assert_eq!(ids(&["--state", "rejected"]), [json!(first)]);
    assert_eq!(ids(&["--state", "unreviewed", "--state", "rejected"]), [json!(second), json!(first)]);
    assert_eq!(ids(&["--state=running"]), Vec::<Value>::new());
    assert_told(&project.isobox(&["list", "--state", "done"]), 2, &["done"]);
}

fn a_task_is_followed_and_stopped_as(user: User) {
    let project = Project::initialised(user);
    let running = Running::start(&project, "echo began; echo change >> README.md; cat; echo never");
    let mut follower = project.isobox_command(&["logs", "--follow", &running.task]);
    let mut follower = follower.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().expect("start isobox");
    let mut line = String::new();
    BufReader::new(follower.stdout.as_mut().expect("a pipe")).read_line(&mut line).expect("a line");
    assert_eq!(line, "began\n");
    let seen = listed(&project, &running.task);
    assert_eq!((&seen["state"], &seen["outcome"], &seen["record"]), (&json!("running"), &Value::Null, &Value::Null));
    let task = running.task.clone();
    let stopped = project.isobox(&["stop", "@latest"]);
    assert_eq!((stopped.code, stopped.stderr), (0, format!("isobox task {task}: stopped outcome=interruption\n")));
    let ended = running.wait();
    assert!(ended.code == 143 && !ended.stderr.contains("warning:"), "{ended:?}");
    let followed = outcome(follower.wait_with_output().expect("wait for isobox"));
    assert_eq!((followed.code, followed.stdout.as_str()), (0, ""));
    assert_eq!(listed(&project, &task)["state"], "interrupted");
    assert_eq!(project.isobox(&["logs", &task]).stdout, "began\n");
    assert_eq!(project.isobox(&["diff", "--name-only", &task]).stdout, "README.md\n");
    assert_told(&project.isobox(&["stop", &task]), 1, &["is not running", "outcome=interruption"]);
}

#[test]
fn a_second_rejection_adds_nothing_unless_it_has_a_reason() {
    let project = Project::initialised(User::Current);
    let task = tool(&project, "echo change >> README.md");
    let events = || document(&project.isobox(&["show", "--json", &task]))["events"].as_array().expect("events").len();
    assert_told(&project.isobox(&["reject", &task]), 0, &[&format!("rejected {task}, next: ")]);
    assert_told(&project.isobox(&["reject", &task]), 0, &[&format!("{task} was rejected before, next: ")]);
    assert_eq!(events(), 1);
    assert_told(&project.isobox(&["reject", &task, "-m", "too slow"]), 0, &[&format!("rejected {task}, next: ")]);
    assert_eq!(events(), 2);
}

#[test]
fn a_task_that_is_not_over_is_told_from_one_that_is_not_there() {
    let project = Project::initialised(User::Current);
    let running = Running::start(&project, "echo began; cat");
    for arguments in [&["show"][..], &["diff"], &["logs"]] {
        let told = project.isobox(&[arguments, &[&running.task]].concat());
        assert_told(&told, 5, &["is still running", "isobox wait", "isobox stop"]);
    }
    assert_eq!(project.isobox(&["stop", &running.task]).code, 0);
}

#[test]
fn a_running_task_is_followed_and_stopped_from_another_terminal() {
    a_task_is_followed_and_stopped_as(User::Current);
}

#[test]
fn an_ordinary_user_follows_and_stops_a_running_task() {
    a_task_is_followed_and_stopped_as(User::Ordinary);
}

#[test]
fn much_output_is_followed_byte_for_byte() {
    let project = Project::initialised(User::Current);
    let running = Running::start(&project, "read line; seq 1 600000; seq 1 9 >&2");
    let mut follower = project.isobox_command(&["--quiet", "logs", "--follow", &running.task]);
    let follower = follower.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().expect("start isobox");
    let mut running = running;
    running.child.stdin.take().expect("a pipe").write_all(b"go\n").expect("written");
    // Both at once: a pipe that nobody reads would stop the workload.
    let told = std::thread::spawn(move || running.wait());
    let followed = outcome(follower.wait_with_output().expect("wait for isobox"));
    let told = told.join().expect("no panic");
    assert_eq!(told.code, 0);
    assert!(followed.stdout == told.stdout, "{} bytes, not {}", followed.stdout.len(), told.stdout.len());
    assert_eq!(followed.stderr, "1\n2\n3\n4\n5\n6\n7\n8\n9\n");
}

#[test]
fn waiting_passes_on_how_a_task_ends() {
    let project = Project::initialised(User::Current);
    let mut running = Running::start(&project, "read line; exit 7");
    let mut waiting = project.isobox_command(&["wait", &running.task]);
    let waiting = waiting.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().expect("start isobox");
    running.child.stdin.take().expect("a pipe").write_all(b"go\n").expect("written");
    let waited = outcome(waiting.wait_with_output().expect("wait for isobox"));
    assert_eq!(waited.code, 7);
    let task = running.task.clone();
    assert_eq!(running.wait().code, 7);
    let again = project.isobox(&["wait", &task]);
    let line = format!("isobox task {task}: completed outcome=workload_command_exit exit_code=7\n");
    assert_eq!((again.code, again.stderr), (7, line));
}

#[test]
fn a_task_whose_isobox_was_killed_is_interrupted_and_recorded_by_whoever_waits() {
    let project = Project::initialised(User::Current);
    let mut running = Running::start(&project, "echo change >> README.md; echo began; cat");
    let task = running.task.clone();
    let mut line = String::new();
    BufReader::new(running.child.stdout.as_mut().expect("a pipe")).read_line(&mut line).expect("a line");
    running.child.kill().expect("killed");
    running.child.wait().expect("gone");
    assert_eq!(listed(&project, &task)["state"], "interrupted");
    assert_told(&project.isobox(&["stop", &task]), 1, &["is not running", "was killed"]);
    let waited = project.isobox(&["wait", &task]);
    assert_eq!(waited.code, 143, "{waited:?}");
    assert_eq!(project.isobox(&["diff", "--name-only", &task]).stdout, "README.md\n");
    assert!(project.workspaces().is_empty());
}

#[test]
fn a_task_is_attempted_once_more_on_its_own_commit_or_on_head() {
    let project = Project::initialised(User::Current);
    let task = tool(&project, "cat README.md");
    let first = document(&project.isobox(&["show", "--json", &task]));
    project.write("README.md", "moved\n");
    project.commit_all("Move on");
    let rerun = project.isobox(&["rerun", &task]);
    assert_eq!((rerun.code, rerun.stdout.as_str()), (0, "hello\n"), "{rerun:?}");
    let second = document(&project.isobox(&["show", "--json", &task]));
    assert_eq!((&second["id"], &second["attempt"]), (&first["id"], &json!(2)));
    assert_eq!(second["parents"], json!([first["record"]]));
    assert_eq!(second["workspace"]["commit"], first["workspace"]["commit"]);
    assert_eq!(second["effective_policy"], first["effective_policy"]);
    assert_eq!(project.isobox(&["rerun", "--current", &task]).stdout, "moved\n");
    let third = document(&project.isobox(&["show", "--json", &task]));
    assert_eq!((&third["attempt"], &third["parents"]), (&json!(3), &json!([second["record"]])));
    assert_eq!(third["workspace"]["commit"], project.git(&["rev-parse", "HEAD"]).trim());
    assert!(project.workspaces().is_empty());
}

#[test]
fn a_rerun_ends_as_its_workload_and_keeps_the_policy_of_the_session() {
    let project = Project::initialised(User::Current);
    let run = project.isobox(&["run", "--backend", "host", "--", "sh", "-c", "exit 9"]);
    assert_eq!(run.code, 9);
    let refused = project.isobox(&["rerun", "@latest"]);
    assert_told(
        &refused,
        125,
        &["`runtime_backend` was host and is now auto", "nothing was started", "--trust-policy"],
    );
    assert_eq!(project.isobox(&["rerun", "--trust-policy", "@latest"]).code, 9);
    let record = document(&project.isobox(&["show", "--json", "@latest"]));
    assert_eq!(record["effective_policy"]["runtime_backend"], "host");
}

#[test]
fn a_command_with_masked_secrets_is_not_attempted_again() {
    let project = Project::initialised(User::Current);
    let task = {
        let run =
            project.isobox(&["tool", "--", "sh", "-c", "true", "--token=ghp_0123456789abcdefghijABCDEFGHIJ012345"]);
        assert_eq!(run.code, 0, "{run:?}");
        crate::support::task_of(&run)
    };
    assert_told(&project.isobox(&["rerun", &task]), 125, &["cannot attempt", "secrets", "hint: "]);
    assert_told(&project.isobox(&["rerun", "task-0000000000000000"]), 125, &["there is no task"]);
}

fn a_kept_workspace_is_listed_and_disposed_as(user: User) {
    let project = Project::initialised(user);
    let run = project.isobox(&["run", "--retain-workspace", "--", "sh", "-c", "mkdir -m 0 locked; echo kept > kept"]);
    assert_eq!(run.code, 0, "{run:?}");
    let task = crate::support::task_of(&run);
    let kept = document(&project.isobox(&["workspace", "list", "--json"]));
    assert_eq!(kept["schema"], "isobox.workspaces/v1");
    assert_eq!(kept["workspaces"][0]["id"], task);
    let path = kept["workspaces"][0]["path"].as_str().expect("a path").to_owned();
    assert_eq!(fs::read_to_string(format!("{path}/kept")).expect("kept"), "kept\n");
    assert!(project.isobox(&["workspace", "list"]).stdout.ends_with(&format!("  {path}\n")));
    let disposed = project.isobox(&["workspace", "dispose", &task]);
    assert_eq!(disposed.code, 0, "{disposed:?}");
    assert!(project.workspaces().is_empty());
    let kept = document(&project.isobox(&["workspace", "list", "--json"]));
    assert_eq!(kept["workspaces"], json!([]));
    assert_eq!(project.isobox(&["workspace", "dispose", "--all"]).code, 0);
    let again = project.isobox(&["workspace", "dispose", &task]);
    assert!(again.code == 0 && again.stderr.contains("was gone already"), "{again:?}");
    let other = tool(&project, "true");
    assert_told(&project.isobox(&["workspace", "dispose", &other]), 1, &["no workspace was kept"]);
    assert_told(&project.isobox(&["workspace", "dispose"]), 2, &[]);
}

#[test]
fn a_kept_workspace_is_listed_and_disposed() {
    a_kept_workspace_is_listed_and_disposed_as(User::Current);
}

#[test]
fn an_ordinary_user_lists_and_disposes_a_kept_workspace() {
    a_kept_workspace_is_listed_and_disposed_as(User::Ordinary);
}

#[test]
fn what_was_attempted_once_is_not_attempted_again_beyond_the_users_own_policy() {
    let project = Project::initialised(User::Current);
    let ran = project.isobox(&["run", "--backend", "host", "--network", "inherited", "--unsafe-network", "--", "true"]);
    assert_eq!(ran.code, 0, "{ran:?}");
    let own = project.home().join(".config/isobox");
    fs::create_dir_all(&own).expect("a folder");
    let text = "api_version: isobox.dev/v1alpha1\nkind: UserPolicy\nruntime_backend: auto\nnetwork:\n  default: deny\n";
    fs::write(own.join("config.yaml"), text).expect("write");
    assert_told(&project.isobox(&["rerun", "@latest"]), 125, &["your own policy allows less"]);
    assert_eq!(document(&project.isobox(&["list", "--json"]))["tasks"].as_array().map(Vec::len), Some(1));
}

#[test]
fn what_another_user_left_unfinished_is_left_to_them() {
    if !nix::unistd::geteuid().is_root() {
        return ignored("an attempt of another user", "the tests do not run as root");
    }
    let project = Project::initialised(User::Current);
    let mut running = Running::start(&project, "echo said; cat");
    running.child.kill().expect("kill isobox");
    running.child.wait().expect("wait for isobox");
    let tmp = project.repository().join(".git/isobox/store/tmp");
    let attempt = fs::read_dir(&tmp).expect("list").flatten().next().expect("an attempt").path();
    // Whose word it is decides whether it is believed: root would read and remove for it what its owner may not.
    std::os::unix::fs::chown(attempt.join("attempt"), Some(65_534), None).expect("root may");
    let next = project.isobox(&["tool", "--", "true"]);
    assert!(next.code == 0 && !next.stderr.contains("was interrupted"), "{next:?}");
    assert!(attempt.exists());
    std::os::unix::fs::chown(attempt.join("attempt"), Some(0), None).expect("root may");
    assert!(project.isobox(&["tool", "--", "true"]).stderr.contains("was interrupted"));
    assert!(!attempt.exists());
}
