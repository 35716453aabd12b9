//! `list`, `show`, `diff`, `logs`, `cat`: naming tasks, and the documents.

use crate::support::{assert_told, document, tool};
use isobox_tests::{Project, User};
use std::collections::HashSet;
use std::fs;
use std::io::Read;
use std::process::Stdio;

#[test]
fn a_task_can_be_named_in_every_way() {
    let project = Project::initialised(User::Current);
    let (first, second) = (tool(&project, "echo one"), tool(&project, "echo two"));
    let digest =
        document(&project.isobox(&["show", "--json", &first]))["record"].as_str().expect("a digest").to_owned();
    let view = format!(".isobox/tasks/{first}/");
    let hex = first.trim_start_matches("task-");
    for name in [first.as_str(), hex, &hex[..12], &first[..14], "@latest~1", "@latest~", &digest, &view] {
        assert_eq!(project.isobox(&["logs", name]).stdout, "one\n", "{name}");
    }
    assert_eq!(document(&project.isobox(&["show", "--json", "@latest"]))["id"], second);
}

#[test]
fn a_view_directory_selects_its_store_from_anywhere() {
    let project = Project::initialised(User::Current);
    let task = tool(&project, "echo one");
    let view = project.repository().join(".isobox/tasks").join(&task);
    let mut command = project.isobox_command(&["logs".as_ref(), view.as_os_str()]);
    let logs = command.current_dir(project.scratch()).output().expect("run isobox");
    assert_eq!(logs.stdout, b"one\n");
}

#[test]
fn an_ambiguous_prefix_lists_its_candidates() {
    let project = Project::initialised(User::Current);
    let mut digits = HashSet::new();
    let shared = loop {
        let task = tool(&project, "exit 0");
        let digit = task.chars().nth(5).expect("a digit");
        if !digits.insert(digit) {
            break digit.to_string();
        }
    };
    assert_told(&project.isobox(&["show", &shared]), 5, &["more than one task", "sh -c 'exit 0'", "hint: "]);
}

#[test]
fn what_changed_is_shown_of_chosen_paths_alone() {
    let project = Project::initialised(User::Current);
    let script = "mkdir -p empty src/deep 'src/ä \"q\" b' && echo a > src/a && echo b > src/deep/b && echo s > srcs && \
        echo more >> README.md && printf 'x\\0y' > 'src/ä \"q\" b/x'";
    let task = tool(&project, script);
    let diff = |words: &[&str]| {
        let told = project.isobox(&[&["diff", task.as_str()], words].concat());
        assert_eq!(told.code, 0, "{told:?}");
        told.stdout
    };
    let whole = diff(&[]);
    let all = ["README.md", "src/a", "src/deep/b", "src/ä \"q\" b/x", "srcs"];
    assert_eq!(all.map(|path| diff(&[path])).concat(), whole);
    assert_eq!(diff(&["./src/"]), all[1..4].iter().map(|path| diff(&["--", path])).collect::<String>());
    assert_eq!(diff(&["srcs", "README.md"]), [diff(&["README.md"]), diff(&["srcs"])].concat());
    assert!(diff(&["src/deep"]).starts_with("diff --git a/src/deep/b b/src/deep/b\n"));
    assert_eq!(diff(&["src/nothing", "sr"]), "");

    assert_eq!(diff(&["--name-only", "src/deep", "srcs"]), "src/deep/b\nsrcs\n");
    let stat = diff(&["--stat", "src"]);
    assert_eq!(
        (stat.lines().count(), stat.lines().last()),
        (4, Some("3 changed paths: 3 added, 0 modified, 0 deleted"))
    );
    // What was not captured is told of what was chosen, and of what is above that.
    let left_out = diff(&["--stat", "empty/deep", "README.md"]);
    assert!(left_out.contains("\n? empty (not captured: an empty directory)\n"), "{left_out}");
    assert!(!diff(&["--stat", "src"]).contains('?'));
    assert_told(&project.isobox(&["diff", "--json", &task, "src"]), 2, &["cannot be used with"]);
    assert_told(&project.isobox(&["diff", &task, "../x"]), 2, &["`../x` is no path in a repository", "hint: "]);
}

#[test]
fn what_is_no_task_is_told_with_a_next_step() {
    let project = Project::initialised(User::Current);
    assert_told(&project.isobox(&["show", "@latest"]), 6, &["there is no task store", "hint: "]);
    tool(&project, "true");
    for name in ["task-0000000000000000", "@latest~7", "not-a-task", "b3:00"] {
        assert_told(&project.isobox(&["show", name]), 5, &["error: ", "hint: "]);
    }
}

#[test]
fn the_list_is_a_document_with_full_ids_newest_first() {
    let project = Project::initialised(User::Current);
    let (first, second) = (tool(&project, "echo change >> README.md"), tool(&project, "true"));
    assert_eq!(project.isobox(&["promote", "--yes", &first]).code, 0);
    let list = document(&project.isobox(&["list", "--json"]));
    assert_eq!(list["schema"], "isobox.list/v1");
    let tasks = list["tasks"].as_array().expect("tasks");
    assert_eq!(tasks.iter().map(|task| &task["id"]).collect::<Vec<_>>(), [&second, &first]);
    assert_eq!(tasks[0]["promotion"]["state"], "not_promoted");
    assert_eq!(tasks[1]["promotion"]["state"], "promoted");
    assert_eq!(tasks[1]["changes"]["modified"], 1);
    assert_eq!(tasks[0]["command"], serde_json::json!(["sh", "-c", "true"]));
}

#[test]
fn the_record_names_outputs_policy_and_source() {
    let project = Project::initialised(User::Current);
    let task = tool(&project, "echo said; echo change >> README.md; printf '#!/bin/sh\\n' > new.sh");
    let record = document(&project.isobox(&["show", "--json", &task]));
    assert_eq!(record["schema"], "isobox.record/v1");
    assert_eq!(record["schema_version"], "v2");
    assert_eq!(record["outcome"], "success");
    assert_eq!(record["result"]["artifacts"]["stdout"]["length"], 5);
    assert_eq!(record["result"]["artifacts"]["stderr"], serde_json::Value::Null);
    assert_eq!(record["workspace"]["commit"], project.git(&["rev-parse", "HEAD"]).trim());
    assert_eq!(record["effective_policy"]["enforcement"]["network"]["status"], "enforced");
    assert_eq!(record["promotion_report"]["changed_files"], 2);
    assert_eq!(record["promotion_report"]["files"][1]["path"], "new.sh");
    assert_eq!(record["promotion_report"]["files"][1]["findings"][0]["category"], "script");
}

#[test]
fn the_view_holds_the_same_record_and_the_outputs() {
    let project = Project::initialised(User::Current);
    let task = tool(&project, "echo said; echo change >> README.md");
    let view = project.repository().join(".isobox/tasks").join(&task);
    let stored: serde_json::Value =
        serde_json::from_slice(&fs::read(view.join("record.json")).expect("a record")).expect("a document");
    let mut shown = document(&project.isobox(&["show", "--json", &task]));
    shown.as_object_mut().expect("an object").remove("schema");
    assert_eq!(stored, shown);
    assert_eq!(fs::read(view.join("artifacts/stdout.txt")).expect("stdout"), b"said\n");
    assert!(!view.join("artifacts/stderr.txt").exists());
    let patch = fs::read_to_string(view.join("artifacts/diff.patch")).expect("a patch");
    assert_eq!(patch, project.isobox(&["diff", &task]).stdout);
}

#[test]
fn changed_paths_are_listed_alone_or_with_totals() {
    let project = Project::initialised(User::Current);
    let task = tool(&project, "echo change >> README.md; rm run.sh; mkdir empty");
    assert_eq!(project.isobox(&["diff", "--name-only", &task]).stdout, "README.md\nrun.sh\n");
    let stat = project.isobox(&["diff", "--stat", &task]).stdout;
    assert!(stat.contains("M README.md (13 bytes)\n"), "{stat}");
    assert!(stat.contains("? empty (not captured: an empty directory)\n"), "{stat}");
    assert!(stat.ends_with("2 changed paths: 0 added, 1 modified, 1 deleted, 1 not captured\n"), "{stat}");
}

#[test]
fn a_file_is_printed_as_the_task_left_it_or_it_is_said_where_it_is() {
    let project = Project::initialised(User::Current);
    let task = tool(&project, "echo change >> README.md; rm run.sh");
    let cat = |path: &str| project.isobox(&["cat", &format!("{task}:{path}")]);
    assert_eq!(cat("README.md").stdout, "hello\nchange\n");
    assert_told(&cat("run.sh"), 1, &["deleted run.sh", "git show"]);
    assert_told(&cat("src/main.rs"), 1, &["did not change src/main.rs", "git show"]);
    assert_told(&cat("../etc/passwd"), 2, &["TASK:PATH"]);
}

#[test]
fn a_reader_that_goes_away_is_no_failure() {
    let project = Project::initialised(User::Current);
    tool(&project, "head -c 3000000 /dev/zero");
    let mut command = project.command("sh");
    let program = isobox_tests::isobox_program();
    command.args(["-c", "\"$0\" logs @latest | head -c 1 > /dev/null; \"$0\" list | true"]).arg(program);
    let piped = isobox_tests::outcome(command.output().expect("run sh"));
    assert_eq!((piped.code, piped.stderr.as_str()), (0, ""));
}

#[test]
fn an_empty_store_says_how_a_task_is_made() {
    let project = Project::initialised(User::Current);
    project.write("dirt", "");
    assert_eq!(project.isobox(&["tool", "--", "true"]).code, 125);
    let list = project.isobox(&["list"]);
    assert_eq!((list.code, list.stdout.as_str()), (0, ""), "{list:?}");
    assert!(list.stderr.contains("`isobox tool -- CMD`"), "{list:?}");
    assert_eq!(project.isobox(&["list", "--json"]).stderr, "");
}

#[test]
fn an_interrupted_task_is_told_of_until_it_is_on_record() {
    let project = Project::initialised(User::Current);
    let mut command = project.isobox_command(&["run", "--", "sh", "-c", "echo up; sleep 100"]);
    let mut child = command.stdout(Stdio::piped()).stderr(Stdio::null()).spawn().expect("run isobox");
    child.stdout.take().expect("a pipe").read_exact(&mut [0; 3]).expect("it is up");
    child.kill().expect("kill");
    child.wait().expect("wait");
    for arguments in [&["list"][..], &["list", "--json"]] {
        let told = project.isobox(arguments);
        assert!(format!("{}{}", told.stdout, told.stderr).contains("interrupted"), "{told:?}");
        assert!(!told.stderr.contains("no task yet"), "{told:?}");
    }
    tool(&project, "true");
    let list = project.isobox(&["list"]);
    assert!(list.stderr.is_empty() && list.stdout.contains("interrupt"), "{list:?}");
}
