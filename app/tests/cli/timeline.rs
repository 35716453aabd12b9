//! In which order output came, and when: `logs`, `logs --timestamps`.

use crate::support::{Running, document, tool};
use isobox_tests::{Outcome, Project, User, outcome};
use serde_json::Value;
use std::io::{BufRead, BufReader, Write};
use std::process::Stdio;

/// What `arguments` print where both streams are one pipe.
fn in_one_place(project: &Project, arguments: &[&str]) -> String {
    let (mut reader, writer) = std::io::pipe().expect("a pipe");
    let mut command = project.isobox_command(arguments);
    command.stdout(writer.try_clone().expect("a descriptor")).stderr(writer);
    let mut child = command.spawn().expect("start isobox");
    drop(command);
    let printed = std::io::read_to_string(&mut reader).expect("text");
    assert_eq!(child.wait().expect("wait for isobox").code(), Some(0), "{printed}");
    printed
}

/// The time before each line, and the line.
fn taken_apart(printed: &str) -> Vec<(String, String)> {
    let split = |line: &str| line.split_once(' ').map(|(time, line)| (time.to_owned(), line.to_owned()));
    printed.lines().map(|line| split(line).unwrap_or_else(|| panic!("no time: {line}"))).collect()
}

fn lines(printed: &str) -> Vec<String> {
    taken_apart(printed).into_iter().map(|(_, line)| line).collect()
}

fn assert_times_ascend(printed: &str) {
    let times: Vec<String> = taken_apart(printed).into_iter().map(|(time, _)| time).collect();
    assert!(times.is_sorted(), "{printed}");
    let is_time = |time: &String| time.len() == 24 && time.starts_with("20") && time.ends_with('Z');
    assert!(times.iter().all(is_time), "{printed}");
}

const ALTERNATING: &str = "for n in 1 2 3; do echo out $n; sleep 0.05; echo err $n >&2; sleep 0.05; done";
const ALTERNATED: &str = "out 1\nerr 1\nout 2\nerr 2\nout 3\nerr 3\n";

#[test]
fn both_outputs_are_printed_in_the_order_in_which_they_came() {
    let project = Project::initialised(User::Current);
    let task = tool(&project, ALTERNATING);
    assert_eq!(in_one_place(&project, &["logs", &task]), ALTERNATED);
    let (code, shown) = isobox_tests::on_a_terminal(project.isobox_command(&["logs", &task]), 80);
    assert_eq!((code, shown), (0, ALTERNATED.replace('\n', "\r\n")));
    let apart = project.isobox(&["logs", &task]);
    assert_eq!((apart.stdout.as_str(), apart.stderr.as_str()), ("out 1\nout 2\nout 3\n", "err 1\nerr 2\nerr 3\n"));
    assert_eq!(project.isobox(&["logs", "--stderr", &task]).stdout, "err 1\nerr 2\nerr 3\n");
    let shown = document(&project.isobox(&["show", "--json", &task]));
    assert!(shown["result"]["artifacts"]["timeline"]["length"].as_u64().is_some_and(|length| length > 16), "{shown}");
}

#[test]
fn each_line_has_the_time_of_its_first_byte() {
    let project = Project::initialised(User::Current);
    let task = tool(&project, "printf 'half '; sleep 0.3; echo whole; echo late; printf 'no end' >&2");
    let printed = project.isobox(&["logs", "-t", "--stdout", &task]).stdout;
    let found = taken_apart(&printed);
    assert_eq!(found.iter().map(|found| found.1.as_str()).collect::<Vec<_>>(), ["half whole", "late"]);
    assert_times_ascend(&printed);
    assert_ne!(found[0].0, found[1].0);
    assert_eq!(lines(&project.isobox(&["logs", "--timestamps", "--stderr", &task]).stdout), ["no end"]);
    let started = document(&project.isobox(&["show", "--json", &task]))["started_at"].clone();
    assert!(started.as_str().is_some_and(|started| started <= found[0].0.as_str()), "{started} {printed}");
}

#[test]
fn a_line_is_not_interrupted_by_the_other_output() {
    let project = Project::initialised(User::Current);
    let task = tool(&project, "printf 'half '; sleep 0.05; echo err >&2; sleep 0.05; echo whole");
    assert_eq!(in_one_place(&project, &["logs", &task]), "half err\nwhole\n");
    let printed = in_one_place(&project, &["logs", "-t", &task]);
    assert_eq!(lines(&printed), ["half whole", "err"]);
    assert_times_ascend(&printed);
}

#[test]
fn secrets_are_left_out_of_lines_with_times() {
    let project = Project::initialised(User::Current);
    project.write("leak.sh", "echo before; echo API_KEY=hunter22; echo after >&2");
    project.commit_all("Leak");
    assert_eq!(project.isobox(&["tool", "-q", "--", "sh", "leak.sh"]).code, 0);
    for flags in [&["logs", "-t", "--redact", "@latest"][..], &["logs", "-t", "--redact", "--follow", "@latest"]] {
        let told = project.isobox(flags);
        assert_eq!(lines(&told.stdout), ["before", "API_KEY=[redacted]"]);
        assert!(told.stderr.contains(" after\n1 secret-shaped string redacted\n"), "{told:?}");
    }
}

#[test]
fn a_running_task_is_followed_with_times() {
    let project = Project::initialised(User::Current);
    let mut running =
        Running::start(&project, "echo began; echo err >&2; read line; echo went on; read line; echo over");
    let mut follower = project.isobox_command(&["--quiet", "logs", "--follow", "-t", &running.task]);
    let mut follower = follower.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().expect("start isobox");
    let mut followed = BufReader::new(follower.stdout.take().expect("a pipe"));
    let mut printed = String::new();
    followed.read_line(&mut printed).expect("a line");
    assert_eq!(lines(&printed), ["began"]);
    let mut keys = running.child.stdin.take().expect("a pipe");
    keys.write_all(b"go\n").expect("written");
    followed.read_line(&mut printed).expect("a line");
    assert_eq!(lines(&printed), ["began", "went on"]);
    keys.write_all(b"go\n").expect("written");
    assert_eq!(running.wait().code, 0);
    printed.push_str(&std::io::read_to_string(followed).expect("text"));
    let ended: Outcome = outcome(follower.wait_with_output().expect("wait for isobox"));
    assert_eq!((ended.code, lines(&ended.stderr)), (0, vec!["err".to_owned()]));
    assert_eq!(lines(&printed), ["began", "went on", "over"]);
    assert_times_ascend(&printed);
    // What was told while it ran is what is on record.
    assert_eq!(project.isobox(&["logs", "-t", "--stdout", "@latest"]).stdout, printed);
}

#[test]
fn much_output_has_times_and_comes_back_byte_for_byte() {
    let project = Project::initialised(User::Current);
    let script = "seq 1 300000; seq 1 300000 >&2; seq 1 9; head -c 10000000 /dev/zero | tr '\\0' x";
    let task = tool(&project, script);
    let plain = project.isobox(&["logs", &task]);
    let stamped = project.isobox(&["logs", "-t", &task]);
    for (plain, stamped) in [(plain.stdout, stamped.stdout), (plain.stderr, stamped.stderr)] {
        let found = stamped.lines().map(|line| &line[25..]);
        assert!(found.eq(plain.lines()), "{} bytes of {}", stamped.len(), plain.len());
    }
    let timeline = document(&project.isobox(&["show", "--json", &task]))["result"]["artifacts"]["timeline"].clone();
    assert!(timeline["length"].as_u64().is_some_and(|length| length < 100_000), "{timeline}");
}

#[test]
fn a_task_without_output_has_no_timeline() {
    let project = Project::initialised(User::Current);
    let task = tool(&project, "true");
    let shown = document(&project.isobox(&["show", "--json", &task]));
    assert_eq!(shown["result"]["artifacts"]["timeline"], Value::Null);
    let told = project.isobox(&["logs", "-t", &task]);
    assert_eq!((told.code, told.stdout.as_str()), (0, ""));
}

#[test]
fn what_a_killed_isobox_had_kept_has_its_times() {
    let project = Project::initialised(User::Current);
    let mut running = Running::start(&project, "echo began; sleep 0.05; echo err >&2; sleep 0.05; echo more; cat");
    let mut follower = project.isobox_command(&["--quiet", "logs", "--follow", &running.task]);
    let mut follower = follower.stdout(Stdio::piped()).stderr(Stdio::null()).spawn().expect("start isobox");
    let mut followed = BufReader::new(follower.stdout.take().expect("a pipe")).lines();
    assert_eq!(followed.by_ref().take(2).map(|line| line.expect("a line")).collect::<Vec<_>>(), ["began", "more"]);
    running.child.kill().expect("kill isobox");
    running.child.wait().expect("wait for isobox");
    follower.wait().expect("wait for isobox");
    let task = running.task.clone();
    project.isobox(&["wait", &task]);
    let printed = in_one_place(&project, &["logs", "-t", &task]);
    assert_eq!(lines(&printed), ["began", "err", "more"]);
    assert_times_ascend(&printed);
}
