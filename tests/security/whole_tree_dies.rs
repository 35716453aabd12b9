//! Promise: when isobox ends, however it ends, the workload's whole tree is gone, and a later start finishes the record.

use isobox_tests::{Case, ignored, outcome};
use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;
use std::fs;
use std::io::Read;
use std::process::{Child, Stdio};
use std::thread;
use std::time::{Duration, Instant};

isobox_tests::promises! {
    every: [
        interrupt_terminate_and_hangup_end_the_tree_and_leave_a_record,
        a_killed_isobox_takes_the_tree_with_it_and_a_later_start_finishes_the_record,
    ],
    containing: [
        a_thousand_daemons_are_gone_when_the_command_returns,
        what_a_killed_isobox_had_in_memory_is_in_the_record_that_a_later_start_makes,
    ],
    host: [
        the_host_backend_says_that_its_tree_is_held_only_in_part,
    ],
}

/// A workload that has written something, left a daemon, and goes on.
const SCRIPT: &str = "echo said; echo change >> README.md; (setsid sleep 31538 > /dev/null 2>&1 < /dev/null &) ; touch ready; sleep 31538";

fn started(case: &Case) -> Child {
    let mut command = case.project.isobox_command(&["run", "--backend", case.backend.name(), "--", "sh", "-c", SCRIPT]);
    let mut child = command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().expect("start");
    let ready = || case.project.workspaces().iter().any(|workspace| contains(workspace, "ready"));
    assert!(within(Duration::from_secs(20), ready), "the workload did not start");
    // What is passed on was kept before: until then it may still be in a pipe, which nobody can promise to keep.
    let mut said = [0; 5];
    child.stdout.as_mut().expect("a pipe").read_exact(&mut said).expect("what was said");
    child
}

fn contains(directory: &std::path::Path, name: &str) -> bool {
    let entries = fs::read_dir(directory).into_iter().flatten().flatten();
    entries
        .map(|entry| entry.path())
        .any(|path| path.file_name().is_some_and(|own| own == name) || path.join(name).exists())
}

fn within(limit: Duration, holds: impl Fn() -> bool) -> bool {
    let deadline = Instant::now() + limit;
    while Instant::now() < deadline {
        if holds() {
            return true;
        }
        thread::sleep(Duration::from_millis(20));
    }
    holds()
}

fn no_sleeper() -> bool {
    let processes = fs::read_dir("/proc").expect("/proc").flatten();
    let mut lines = processes.filter_map(|process| fs::read(process.path().join("cmdline")).ok());
    !lines.any(|line| line.starts_with(b"sleep\x0031538"))
}

fn finished(case: &Case) {
    let record = case.record();
    assert_eq!(record["outcome"], "interruption", "{record}");
    assert_eq!(case.captured("README.md"), "hello\nchange\n");
    assert_eq!(case.project.isobox(&["logs", "@latest"]).stdout, "said\n");
    assert_eq!(case.project.workspaces().len(), 0, "{:?}", case.project.workspaces());
    assert_eq!(case.project.git(&["status", "--porcelain"]), "");
}

fn interrupt_terminate_and_hangup_end_the_tree_and_leave_a_record(case: &Case) {
    for signal in [Signal::SIGINT, Signal::SIGTERM, Signal::SIGHUP] {
        let case = &case.another();
        let child = started(case);
        kill(Pid::from_raw(i32::try_from(child.id()).expect("a pid")), signal).expect("signal");
        let ended = outcome(child.wait_with_output().expect("wait"));
        assert_eq!(ended.code, 128 + signal as i32, "{ended:?}");
        assert!(within(Duration::from_secs(10), no_sleeper), "{signal}: the daemon is left");
        finished(case);
    }
}

fn a_killed_isobox_takes_the_tree_with_it_and_a_later_start_finishes_the_record(case: &Case) {
    let mut child = started(case);
    child.kill().expect("kill");
    child.wait().expect("wait");
    assert!(within(Duration::from_secs(10), no_sleeper), "{}: the daemon is left", case.backend.name());
    let next = case.project.isobox(&["list"]);
    assert_eq!(next.code, 0, "{next:?}");
    let next = case.run_well("true");
    assert!(next.stderr.contains("task-"), "{next:?}");
    let list = case.project.isobox(&["list", "--json"]).stdout;
    let list: serde_json::Value = serde_json::from_str(&list).expect("a document");
    let interrupted = list["tasks"].as_array().expect("tasks").iter().find(|task| task["outcome"] == "interruption");
    let id = interrupted.expect("an interruption")["id"].as_str().expect("an id").to_owned();
    let cat = case.project.isobox(&["cat", &format!("{id}:README.md")]);
    assert_eq!(cat.stdout, "hello\nchange\n", "{cat:?}");
    assert_eq!(case.project.isobox(&["logs", &id]).stdout, "said\n");
    assert_eq!(case.project.workspaces().len(), 0);
}

fn what_a_killed_isobox_had_in_memory_is_in_the_record_that_a_later_start_makes(case: &Case) {
    let limited = |script| {
        let flags = ["run", "--backend", case.backend.name(), "--limit", "disk=4MiB", "--", "sh", "-c", script];
        case.project.isobox_command(&flags)
    };
    let tried = case.output(limited("true"));
    assert_eq!(tried.code, 0, "{tried:?}");
    if case.record()["effective_policy"]["limits"]["disk"]["status"] != "enforced" {
        return ignored("what a killed isobox had in memory", &tried.stderr);
    }
    // Of what is over, nothing is held.
    assert_eq!(holders(case), 0);
    let script = "echo change >> README.md; rm src/main.rs; mkdir made; echo more > made/more; echo said; sleep 31540";
    let mut child = limited(script).stdout(Stdio::piped()).spawn().expect("start");
    let mut said = [0; 5];
    child.stdout.as_mut().expect("a pipe").read_exact(&mut said).expect("what was said");
    assert_eq!(holders(case), 1);
    child.kill().expect("kill");
    child.wait().expect("wait");
    let next = case.run_well("true");
    let list = case.project.isobox(&["list", "--json"]).stdout;
    let list: serde_json::Value = serde_json::from_str(&list).expect("a document");
    let interrupted = list["tasks"].as_array().expect("tasks").iter().find(|task| task["outcome"] == "interruption");
    let id =
        interrupted.unwrap_or_else(|| panic!("no interruption: {next:?}"))["id"].as_str().expect("an id").to_owned();
    let cat = |path: &str| case.project.isobox(&["cat", &format!("{id}:{path}")]).stdout;
    assert_eq!([cat("README.md"), cat("made/more")], ["hello\nchange\n", "more\n"]);
    assert!(case.project.isobox(&["diff", &id]).stdout.contains("deleted file mode 100644"));
    assert_eq!(case.project.workspaces().len(), 0, "{next:?}");
    assert!(within(Duration::from_secs(10), || holders(case) == 0), "the holder is left");
}

/// Processes that hold what is written in memory to Workspaces of this case.
fn holders(case: &Case) -> usize {
    let home = case.project.home();
    let is_holder = |process: &std::path::Path| {
        let names = fs::read(process.join("cmdline")).is_ok_and(|line| line.starts_with(b"isobox-holder\0"));
        let held = fs::read_dir(process.join("fd")).into_iter().flatten().flatten();
        names && held.filter_map(|fd| fs::read_link(fd.path()).ok()).any(|path| path.starts_with(&home))
    };
    let processes = fs::read_dir("/proc").expect("/proc").flatten();
    processes.filter(|process| is_holder(&process.path())).count()
}

fn a_thousand_daemons_are_gone_when_the_command_returns(case: &Case) {
    let run = case.run("i=0; while [ $i -lt 1000 ]; do (setsid sleep 31539 > /dev/null 2>&1 < /dev/null &) ; i=$((i+1)); done; echo done");
    assert_eq!(run.stdout, "done\n", "{run:?}");
    let left = fs::read_dir("/proc").expect("/proc").flatten();
    let left = left.filter_map(|process| fs::read(process.path().join("cmdline")).ok());
    assert_eq!(left.filter(|line| line.starts_with(b"sleep\x0031539")).count(), 0);
}

fn the_host_backend_says_that_its_tree_is_held_only_in_part(case: &Case) {
    case.run_well("true");
    let policy = case.record()["effective_policy"].to_string();
    assert!(policy.contains("partially_enforced"), "{policy}");
}
