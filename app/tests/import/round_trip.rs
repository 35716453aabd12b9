//! What is imported comes out as it went in.

use crate::place::{document, files, import, old, record, task, totals, write, write_record};
use isobox_tests::{Project, User};
use serde_json::json;
use std::path::{Path, PathBuf};

/// A directory of real record directories to try instead, for measurements.
const GIVEN: &str = "ISOBOX_V1_DIRECTORIES";

fn place(project: &Project) -> PathBuf {
    if let Some(given) = std::env::var_os(GIVEN) {
        return given.into();
    }
    let place = old(project);
    for n in 0..40 {
        write_record(&place, n, &record(n));
    }
    place
}

fn export(project: &Project, task: &str, destination: &Path) {
    let arguments = ["export".as_ref(), "--layout".as_ref(), "v1".as_ref(), task.as_ref(), destination.as_os_str()];
    let exported = project.isobox(&arguments);
    assert_eq!(exported.code, 0, "{exported:?}");
}

#[test]
fn directories_come_out_byte_for_byte_and_a_second_import_does_nothing() {
    let project = Project::bare(User::Current);
    let place = place(&project);
    let before = files(&place);
    let count = before.keys().filter(|path| path.ends_with("/record.json")).count() as u64;
    let (first, code) = import(&project, &place);
    assert_eq!((totals(&first), code), ([count, 0, 0, 0], 0), "{first}");
    let (second, code) = import(&project, &place);
    assert_eq!((totals(&second), code), ([0, count, 0, 0], 0), "{second}");
    let out = project.scratch().join("out");
    export(&project, "@all", &out);
    assert!(files(&out) == before, "what came out differs");
    assert!(files(&place) == before, "the old directories were changed");
}

#[test]
fn an_imported_record_says_what_the_old_one_did_and_claims_no_more() {
    let project = Project::bare(User::Current);
    write_record(&old(&project), 4, &record(4));
    assert_eq!(import(&project, &old(&project)).1, 0);
    let shown = document(&project.isobox(&["show", "--json", &task(4)]));
    assert_eq!((&shown["outcome"], &shown["result"]["exit_code"]), (&json!("workload_command_exit"), &json!(1)));
    assert_eq!(shown["command"], json!(["agent", "--fix", "bug 4"]));
    assert_eq!((&shown["created_at"], &shown["origin"]), (&json!("2026-01-01T00:04:00.123Z"), &json!("go-v1")));
    assert_eq!(shown["effective_policy"]["enforcement"]["filesystem"]["status"], "not_enforced");
    assert_eq!(project.isobox(&["logs", &task(4)]).stdout, "output of 4\n".repeat(5));
    let timed = project.isobox(&["logs", "--timestamps", &task(4)]);
    let told = "error: the record of task-0000000000000004 does not say when its output came\nhint: ";
    assert!(timed.code == 1 && timed.stdout.is_empty() && timed.stderr.starts_with(told), "{timed:?}");
    assert_eq!(project.isobox(&["diff", &task(4)]).stdout, "diff --git a/f b/f\n+4\n");
    let shown = project.isobox(&["show", &task(4)]).stdout;
    assert!(shown.contains("changes      a patch of 22 bytes, which was imported"), "{shown}");
    assert!(project.isobox(&["list"]).stdout.contains("  patch  "));
    let promoted = project.isobox(&["promote", "--yes", &task(4)]);
    assert_eq!(promoted.code, 4, "{promoted:?}");
    assert!(promoted.stderr.contains("git apply"), "{promoted:?}");
}

#[test]
fn a_promotion_becomes_an_event() {
    let project = Project::bare(User::Current);
    for (n, mode) in [(1, "interactive"), (2, "explicit_non_interactive"), (3, "manual")] {
        let mut record = record(n);
        record["promotion"]["confirmation"]["mode"] = mode.into();
        record["promotion_report"] =
            json!({ "schema_version": "v1", "changed_files": [{ "path": "f" }, { "path": "g" }] });
        write_record(&old(&project), n, &record);
    }
    assert_eq!(import(&project, &old(&project)).1, 0);
    assert_eq!(totals(&import(&project, &old(&project)).0), [0, 3, 0, 0]);
    for (n, confirmation) in [(1, "interactive"), (2, "explicit_flag"), (3, "unknown")] {
        let shown = document(&project.isobox(&["show", "--json", &task(n)]));
        assert_eq!(shown["events"].as_array().map(Vec::len), Some(1), "{shown}");
        assert_eq!(shown["promotion"]["confirmation"], confirmation);
        assert_eq!(
            (&shown["promotion"]["paths"], &shown["promotion"]["repository"]),
            (&json!(2), &json!("/home/ana/app"))
        );
    }
}

#[test]
fn inline_outputs_empty_references_and_untracked_files_are_taken_over() {
    let project = Project::bare(User::Current);
    let place = old(&project);
    let mut inline = record(1);
    inline["result"] = json!({ "stdout": "in the record\n", "stderr": "also\n", "diff": "" });
    write(&place, &task(1), &[("record.json", inline.to_string().as_bytes())]);
    let mut untracked = record(2);
    untracked["result"]["artifacts"]["untracked_files"] =
        json!([{ "path": "artifacts/u/1", "target_path": "a" }, { "path": "artifacts/u/\u{e9}", "target_path": "b" }]);
    write_record(&place, 2, &untracked);
    let large = vec![7; 3 << 20];
    write(&place, &task(2), &[("artifacts/u/1", &large), ("artifacts/u/\u{e9}", b""), ("artifacts/stdout.txt", b"")]);
    let before = files(&place);
    assert_eq!(totals(&import(&project, &place).0), [2, 0, 0, 0]);
    let logs = project.isobox(&["logs", &task(1)]);
    assert_eq!((logs.stdout.as_str(), logs.stderr.as_str()), ("in the record\n", "also\n"));
    let out = project.scratch().join("out");
    export(&project, &task(1), &out);
    export(&project, &task(2), &out);
    assert!(files(&out) == before, "what came out differs");
}

#[test]
fn a_missing_artifact_is_marked_and_a_changed_record_is_a_further_attempt() {
    let project = Project::bare(User::Current);
    let place = old(&project);
    write_record(&place, 1, &record(1));
    std::fs::remove_file(place.join(task(1)).join("artifacts/stdout.txt")).expect("remove");
    let (told, code) = import(&project, &place);
    assert_eq!((totals(&told), code), ([1, 0, 0, 0], 0));
    assert!(
        told["directories"][0]["reasons"][0].as_str().is_some_and(|why| why.contains("stdout.txt, which is not there"))
    );
    let before = files(&place);
    let out = project.scratch().join("out");
    export(&project, &task(1), &out);
    assert!(files(&out) == before, "a file came out that never went in");
    let mut changed = record(1);
    changed["outcome"] = json!({ "type": "launch_failure", "error": "no such file" });
    write_record(&place, 1, &changed);
    assert_eq!(totals(&import(&project, &place).0), [1, 0, 0, 0]);
    let shown = document(&project.isobox(&["show", "--json", &task(1)]));
    assert_eq!((&shown["attempt"], &shown["outcome_detail"]), (&json!(2), &json!("no such file")));
    assert_eq!(shown["parents"].as_array().map(Vec::len), Some(1));
}

#[test]
fn a_task_of_this_version_goes_out_in_the_old_layout() {
    let project = Project::initialised(User::Current);
    let ran = project.isobox(&["run", "--backend", "host", "--", "sh", "-c", "echo out; echo change >> README.md"]);
    assert_eq!(ran.code, 0, "{ran:?}");
    let out = project.scratch().join("out");
    export(&project, "@latest", &out);
    let files = files(&out);
    let json = files.iter().find(|(path, _)| path.ends_with("record.json")).expect("a record").1;
    let record: serde_json::Value = serde_json::from_slice(json).expect("JSON");
    assert_eq!((&record["schema_version"], &record["outcome"]["type"]), (&json!("v1"), &json!("success")));
    let stdout = files.iter().find(|(path, _)| path.ends_with("artifacts/stdout.txt")).expect("an output");
    assert_eq!(stdout.1, b"out\n");
    let again = project.isobox(&["export".as_ref(), "@latest".as_ref(), out.as_os_str()]);
    assert_eq!(again.code, 1, "{again:?}");
    assert!(again.stderr.contains("is there already"), "{again:?}");
}
