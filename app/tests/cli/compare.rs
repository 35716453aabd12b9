//! `isobox compare`: what several tasks made of the same base.

use crate::support::{assert_told, document, task_of, tool};
use isobox_tests::{Project, User};
use serde_json::json;

/// Two tasks of one commit that have one path in common, one that differs, and one each of their own.
fn two_tasks() -> (Project, String, String) {
    let project = Project::initialised(User::Current);
    let first =
        tool(&project, "echo same > same; echo one >> README.md; mkdir tests; echo t > tests/test_a.py; mkdir empty");
    let script = "echo same > same; echo another >> README.md; rm run.sh; printf '#!/bin/sh\\n' > tool.sh; chmod +x tool.sh; exit 3";
    let second = task_of(&project.isobox(&["tool", "--", "sh", "-c", script]));
    (project, first, second)
}

#[test]
fn every_path_says_whether_the_results_are_the_same() {
    let (project, first, second) = two_tasks();
    let told = project.isobox(&["compare", &first, &second]);
    assert_eq!(told.code, 0, "{told:?}");
    let paths: Vec<&str> = told.stdout.split("\n\n").nth(2).expect("paths").lines().collect();
    let expected = [
        "≠ MM README.md (A 10 bytes, B 14 bytes)",
        "· ?. empty (A not captured)",
        "· .D run.sh",
        "    B ! script (medium)",
        "= AA same (5 bytes)",
        "· A. tests/test_a.py (A 2 bytes)",
        "· .A tool.sh (B 10 bytes)",
        "    B ! script (medium)",
        "    B ! executable_added (medium)",
        "6 paths: 1 the same (=), 1 different (≠), 4 not changed by both (·)",
    ];
    assert_eq!(paths, expected);
    let chosen = project.isobox(&["compare", &first, &second, "--", "same", "tests"]).stdout;
    assert!(chosen.ends_with("\n\n= AA same (5 bytes)\n· A. tests/test_a.py (A 2 bytes)\n2 paths: 1 the same (=), 0 different (≠), 1 not changed by both (·)\n"), "{chosen}");
}

#[test]
fn what_is_known_of_the_tasks_stands_side_by_side() {
    let (project, first, second) = two_tasks();
    let told = project.isobox(&["compare", &first, &second, &first]).stdout;
    assert!(told.lines().all(|line| line.chars().count() <= 80), "{told}");
    let row = |label: &str| {
        let line = told.lines().find(|line| line.starts_with(label)).unwrap_or_else(|| panic!("{label} in {told}"));
        line[label.len()..].split_whitespace().map(str::to_owned).collect::<Vec<_>>()
    };
    assert!(told.starts_with(&format!("A  {first} (attempt 1)  sh -c ")), "{told}");
    assert_eq!(row("outcome"), ["success", "workload_command_exit", "success"]);
    assert_eq!(row("exit code"), ["0", "3", "0"]);
    assert_eq!(row("paths"), ["+2", "~1", "-0", "+2", "~1", "-1", "+2", "~1", "-0"]);
    assert_eq!(row("left out"), ["1", "0", "1"]);
    assert_eq!(row("test files"), ["+1", "~0", "-0", "+0", "~0", "-0", "+1", "~0", "-0"]);
    assert_eq!(row("medium risk"), ["0", "2", "0"]);
    let document = document(&project.isobox(&["compare", "--json", &first, &second]));
    assert_eq!((&document["same"], &document["different"], &document["partial"]), (&json!(1), &json!(1), &json!(4)));
    assert_eq!(document["tasks"][1]["exit_code"], 3);
    assert_eq!(document["tasks"][0]["lines"], json!({ "added": 3, "removed": 0 }));
    assert_eq!(document["files"][2]["results"][0], serde_json::Value::Null);
    assert_eq!(document["files"][2]["results"][1]["change"], "deleted");
}

#[test]
fn tasks_of_other_commits_are_refused_and_so_is_one_alone() {
    let (project, first, _) = two_tasks();
    project.write("later", "later\n");
    project.commit_all("Later");
    let later = tool(&project, "echo one >> README.md");
    let refused = project.isobox(&["compare", &first, &later]);
    assert_told(&refused, 1, &["cannot compare", &first, "one started from ", "hint: `isobox rerun "]);
    assert_eq!(refused.stdout, "");
    assert_told(&project.isobox(&["compare", &first]), 2, &["2 values required"]);
    assert_told(&project.isobox(&["compare", &first, &first, &first, &first, &first, &first]), 2, &["5 at most"]);
    assert_told(&project.isobox(&["compare", &first, "@latest~9"]), 5, &["error: "]);
}

#[test]
fn hostile_names_do_not_drive_the_terminal() {
    let project = Project::initialised(User::Current);
    let task = tool(&project, r"touch $(printf 'x\033[2J\342\200\256')");
    let (code, shown) = isobox_tests::on_a_terminal(project.isobox_command(&["compare", &task, &task]), 80);
    assert!(code == 0 && shown.contains("= AA x\\x1b[2J\\u{202e} (0 bytes)"), "{shown}");
    assert!(!shown.contains('\u{1b}') && !shown.contains('\u{202e}'), "{shown}");
}
