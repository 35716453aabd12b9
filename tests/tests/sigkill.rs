//! isobox killed at random moments: nothing acknowledged is lost, and nothing of it stays behind.
//!
//! A thousand kills of the program that `scripts/setup` built:
//! `ISOBOX_BIN=PROGRAM ISOBOX_KILLS=1000 cargo nextest run -p isobox-tests --test sigkill --no-capture`.

use isobox_tests::{Project, User, outcome};
use std::collections::HashSet;
use std::fs;
use std::path::PathBuf;
use std::process::Stdio;
use std::thread;
use std::time::{Duration, Instant};

const KILLS: &str = "ISOBOX_KILLS";
/// How often a tool call is killed in the run that is part of every test run.
const FEW: u32 = 200;

#[test]
fn two_hundred_kills_of_a_tool_call_lose_and_leave_nothing() {
    let kills = std::env::var(KILLS).map_or(FEW, |kills| kills.parse().expect("a number"));
    let project = Project::initialised(User::Current);
    let marker = format!("isobox-sigkill-{}", std::process::id());
    let script =
        format!(": {marker}; echo said; echo changed >> README.md; (setsid sleep 31536 &) ; head -c 200000 /dev/zero");
    let whole = Instant::now();
    let first = project.isobox(&["tool", "--", "sh", "-c", &script]);
    assert_eq!(first.code, 0, "{first:?}");
    let whole = whole.elapsed();
    let mut acknowledged = HashSet::new();
    for round in 0..kills {
        let mut command = project.isobox_command(&["tool", "--", "sh", "-c", &script]);
        let mut isobox = command.stdout(Stdio::null()).stderr(Stdio::piped()).spawn().expect("start");
        // Spread over a little more than a whole call, in an order that jumps about.
        thread::sleep(whole.mul_f64(f64::from(round * 83 % kills) * 1.2 / f64::from(kills)));
        isobox.kill().expect("kill");
        let left = outcome(isobox.wait_with_output().expect("wait"));
        acknowledged.extend(completed_tasks(&left.stderr));
    }
    let next = project.isobox(&["tool", "--", "true"]);
    assert_eq!(next.code, 0, "{next:?}");
    assert_eq!(project.workspaces(), Vec::<PathBuf>::new());
    assert_eq!(wait_until_gone(&marker), Vec::<String>::new());
    let mounts = fs::read_to_string("/proc/self/mounts").expect("mounts");
    assert!(!mounts.contains(&*project.home().to_string_lossy()), "{mounts}");
    assert_eq!(project.git(&["status", "--porcelain"]), "");
    let list = project.isobox(&["list", "--json"]);
    println!("{} of {kills} calls were acknowledged before the kill", acknowledged.len());
    assert_eq!(project.isobox(&["verify", "--deep"]).code, 0);
    for task in acknowledged {
        assert!(list.stdout.contains(&task), "{task} is lost");
        assert_eq!(project.isobox(&["show", "--json", &task]).code, 0, "{task}");
    }
}

fn completed_tasks(stderr: &str) -> Vec<String> {
    let lines = stderr.lines().filter(|line| line.contains(": completed outcome="));
    lines.filter_map(|line| line.split([' ', ':']).find(|word| word.starts_with("task-"))).map(str::to_owned).collect()
}

/// Command lines that hold `marker` or are the daemon of the script, once they had a moment to die.
fn wait_until_gone(marker: &str) -> Vec<String> {
    let deadline = Instant::now() + Duration::from_secs(10);
    loop {
        let left = running(marker);
        if left.is_empty() || Instant::now() > deadline {
            return left;
        }
        thread::sleep(Duration::from_millis(50));
    }
}

fn running(marker: &str) -> Vec<String> {
    let processes = fs::read_dir("/proc").expect("/proc").flatten();
    let lines = processes.filter_map(|process| fs::read(process.path().join("cmdline")).ok());
    let lines = lines.map(|line| String::from_utf8_lossy(&line).replace('\0', " "));
    lines.filter(|line| line.contains(marker) || line.starts_with("sleep 31536")).collect()
}
