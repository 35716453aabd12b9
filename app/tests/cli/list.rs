//! `list` with filters, orders and limits.

use crate::support::{assert_told, document, tool};
use isobox_tests::{Project, User, on_a_terminal};
use serde_json::Value;

/// A project with three tasks, of which the second took longest and changed a file in `src`, and the third failed.
fn worked_in() -> (Project, [String; 3]) {
    let project = Project::initialised(User::Current);
    let first = tool(&project, "echo one >> README.md");
    let second = tool(&project, "mkdir -p src; echo two > src/two; sleep 0.5");
    let failed = project.isobox(&["tool", "--", "sh", "-c", "echo three; exit 3"]);
    assert_eq!(failed.code, 3, "{failed:?}");
    let newest = document(&project.isobox(&["list", "--json", "--limit", "1"]));
    let third = newest["tasks"][0]["id"].as_str().expect("an id").to_owned();
    (project, [first, second, third])
}

fn listed(project: &Project, arguments: &[&str]) -> Vec<String> {
    let told = project.isobox(&[&["list", "--json"], arguments].concat());
    let list = document(&told);
    let tasks = list["tasks"].as_array().expect("tasks").iter();
    tasks.map(|task| task["id"].as_str().expect("an id").to_owned()).collect()
}

#[test]
fn every_filter_leaves_out_what_is_not_so() {
    let (project, [first, second, third]) = worked_in();
    assert_eq!(project.isobox(&["promote", "--yes", &first]).code, 0);
    let hex = &second["task-".len()..];
    for (arguments, expected) in [
        (&["--outcome", "workload_command_exit"][..], vec![&third]),
        (&["--outcome", "success", "--outcome", "workload_command_exit"], vec![&third, &second, &first]),
        (&["--state", "promoted"], vec![&first]),
        (&["--promoted"], vec![&first]),
        (&["--unpromoted"], vec![&third, &second]),
        (&["--command", "src/two"], vec![&second]),
        (&["--command", "sh -c*three*"], vec![&third]),
        (&["--command", "*three"], vec![]),
        (&["--path", "src"], vec![&second]),
        (&["--path", "*.md"], vec![&first]),
        (&["--path", "**/two"], vec![&second]),
        (&["--task", &hex[..10]], vec![&second]),
        (&["--task", &second[..15]], vec![&second]),
        (&["--backend", "host"], vec![]),
        (&["--since", "1h"], vec![&third, &second, &first]),
        (&["--since", "2100-01-01"], vec![]),
        (&["--until", "1h"], vec![]),
        (&["--until", "2100-01-01", "--since", "today"], vec![&third, &second, &first]),
        (&["--unpromoted", "--outcome", "success"], vec![&second]),
        (&["--reverse"], vec![&first, &second, &third]),
        (&["--sort", "duration", "--limit", "1"], vec![&second]),
        (&["--sort", "output", "-n", "1"], vec![&third]),
    ] {
        // A day may begin just now.
        if arguments.contains(&"today") && listed(&project, &["--since", "today"]).len() < 3 {
            continue;
        }
        assert_eq!(listed(&project, arguments), expected.into_iter().cloned().collect::<Vec<_>>(), "{arguments:?}");
    }
}

#[test]
fn what_a_limit_leaves_out_is_counted_wherever_it_is_read() {
    let (project, [_, second, third]) = worked_in();
    let table = project.isobox(&["list", "--limit", "2"]);
    assert_eq!(table.stdout.lines().count(), 3);
    assert_eq!(table.stderr, "1 more task not shown; --limit takes a number or `all`\n");
    let lines = project.isobox(&["list", "--jsonl", "-n", "1"]);
    let line: Value = serde_json::from_str(&lines.stdout).expect("one line");
    assert_eq!(
        (&line["id"], lines.stderr.as_str()),
        (&Value::from(third), "2 more tasks not shown; --limit takes a number or `all`\n")
    );
    let told = project.isobox(&["list", "--json", "--outcome", "success", "-n", "1"]);
    let list = document(&told);
    assert_eq!((&list["tasks"][0]["id"], told.stderr.as_str()), (&Value::from(second), ""));
    assert_eq!((&list["not_shown"], &list["not_looked_at"]), (&Value::from(0), &Value::from(1)));
    let all = project.isobox(&["list", "--limit", "all"]);
    assert_eq!((all.stdout.lines().count(), all.stderr.as_str()), (4, ""));
}

#[test]
fn what_tasks_are_ordered_by_is_shown() {
    let (project, _) = worked_in();
    let sorted = project.isobox(&["list", "--sort", "output"]).stdout;
    let rows: Vec<&str> = sorted.lines().collect();
    assert!(rows[0].contains("  OUTPUT  STATE") && rows[1].contains("  6 B  unchanged "), "{sorted}");
}

#[test]
fn what_is_no_value_is_told_with_what_was_meant() {
    let project = Project::initialised(User::Current);
    for (arguments, words) in [
        (&["--outcome", "sucess"][..], &["did you mean `success`?"][..]),
        (&["--state", "promotd"], &["did you mean `promoted`?"]),
        (&["--sort", "durtion"], &["did you mean `duration`?"]),
        (&["--backend", "bubblewrp"], &["did you mean `bubblewrap`?"]),
        (&["--since", "2 months"], &["`2 months` is no time", "2h, 3d", "2026-11-29"]),
        (&["--until", "2026-02-30"], &["`2026-02-30` is no time"]),
        (&["--limit", "0"], &["a number from 1 on, or all"]),
        (&["--path", "/etc"], &["from the root of the repository"]),
        (&["--task", "xyz"], &["16 hex digits"]),
        (&["--promoted", "--unpromoted"], &["cannot be used with"]),
        (&["--json", "--jsonl"], &["cannot be used with"]),
    ] {
        assert_told(&project.isobox(&[&["list"], arguments].concat()), 2, words);
    }
}

#[test]
fn nothing_that_matches_is_said_to_be_none() {
    let (project, _) = worked_in();
    let none = project.isobox(&["list", "--command", "no such"]);
    assert_eq!((none.code, none.stdout.as_str(), none.stderr.as_str()), (0, "", "no task matches\n"));
    let none = project.isobox(&["list", "--jsonl", "--command", "no such"]);
    assert_eq!((none.code, none.stdout.as_str(), none.stderr.as_str()), (0, "", ""));
}

#[test]
fn a_damaged_record_is_told_and_costs_its_own_row_in_every_order() {
    let (project, [first, second, third]) = worked_in();
    let lane = project.repository().join(".git/isobox/store/lanes/lane-00.pack");
    let mut bytes = std::fs::read(&lane).expect("a lane");
    // A record is an entry of kind 2; the third one comes last.
    let headers: Vec<usize> =
        bytes.windows(6).enumerate().filter(|(_, it)| it.starts_with(b"\xb1ISO\x01\x02")).map(|(at, _)| at).collect();
    bytes[headers[1] + 70] ^= 1;
    std::fs::write(&lane, bytes).expect("write");
    for order in [&["--sort", "time"][..], &["--sort", "duration"], &["--reverse"]] {
        let told = project.isobox(&[&["list"], order].concat());
        assert_eq!(told.code, 6, "{told:?}");
        assert!(
            told.stdout.contains(&first) && told.stdout.contains(&third) && !told.stdout.contains(&second),
            "{told:?}"
        );
        assert_eq!(told.stderr.matches("warning:").count(), 1, "{told:?}");
    }
}

#[test]
fn the_store_is_measured_for_people_and_programs() {
    let (project, _) = worked_in();
    let (code, shown) = on_a_terminal(project.isobox_command(&["store", "stat"]), 80);
    assert_eq!(code, 0, "{shown}");
    assert!(shown.contains("records                   3") && shown.contains("deduplication"), "{shown}");
    assert!(shown.lines().all(|line| line.chars().count() <= 80), "{shown}");
    let stat = document(&project.isobox(&["store", "stat", "--json"]));
    // What was said, and when.
    assert_eq!(stat["kinds"]["outputs"]["count"], 2);
    assert_eq!(stat["attempts"], serde_json::json!({ "running": 0, "interrupted": 0 }));
    assert!(stat["dedup_ratio"].as_f64() > Some(1.0), "{stat:#}");
    let empty = Project::initialised(User::Current);
    assert_told(&empty.isobox(&["store", "stat"]), 6, &["there is no task store"]);
}

#[test]
fn before_the_first_task_there_is_nothing_to_list_and_nothing_is_wrong() {
    let project = Project::initialised(User::Current);
    assert_told(&project.isobox(&["list"]), 0, &["there is no task yet: `isobox tool -- CMD`"]);
    let told = project.isobox(&["list", "--json"]);
    assert_eq!((told.code, told.stderr.as_str(), document(&told)["tasks"].clone()), (0, "", serde_json::json!([])));
    assert!(!project.repository().join(".git/isobox").exists(), "looking makes no store");
    assert_told(&project.isobox(&["list", "--records", "../mistyped"]), 6, &["there is no task store"]);
}
