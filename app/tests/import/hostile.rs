//! Record directories that somebody made to harm: each is refused by itself, and all others are imported.

use crate::place::{files, import, old, record, task, totals, write, write_record};
use isobox_tests::{Project, User};
use serde_json::{Value, json};
use std::fs;
use std::os::unix::fs::symlink;
use std::path::Path;
use std::process::Command;

fn with(n: u64, change: impl FnOnce(&mut Value)) -> Value {
    let mut record = record(n);
    change(&mut record);
    record
}

/// Writes directories that are to be refused; why each is.
fn write_hostile(place: &Path, secret: &Path) -> Vec<(u64, &'static str)> {
    let mut expected = Vec::new();
    let mut refused = |n, record: &Value, why| {
        write_record(place, n, record);
        expected.push((n, why));
    };
    let stdout = |path: &str| json!({ "path": path });
    refused(1, &with(1, |r| r["result"]["artifacts"]["stdout"] = stdout("../../secret")), "component `.` or `..`");
    let absolute = secret.to_str().expect("UTF-8");
    refused(2, &with(2, |r| r["result"]["artifacts"]["stdout"] = stdout(absolute)), "absolute");
    refused(3, &with(3, |r| r["schema_version"] = "v7".into()), "schema_version");
    refused(4, &with(4, |r| r["result"]["exit_status"] = "3".into()), "expected an integer");
    for (n, why) in
        [(5, "symbolic link"), (6, "symbolic link"), (7, "a pipe"), (8, "symbolic link"), (9, "symbolic link")]
    {
        refused(n, &record(n), why);
    }
    refused(10, &record(10), "larger than isobox reads");
    let artifact = |n| place.join(task(n)).join("artifacts/stdout.txt");
    for n in [5, 7] {
        fs::remove_file(artifact(n)).expect("remove");
    }
    symlink(secret, artifact(5)).expect("a link");
    fs::rename(place.join(task(6)).join("artifacts"), place.join("moved")).expect("rename");
    symlink("../moved", place.join(task(6)).join("artifacts")).expect("a link");
    assert!(Command::new("mkfifo").arg(artifact(7)).status().expect("run mkfifo").success());
    fs::rename(place.join(task(8)), place.join("elsewhere.d")).expect("rename");
    fs::remove_file(place.join("elsewhere.d/record.json")).expect("remove");
    symlink("elsewhere.d", place.join(task(8))).expect("a link");
    fs::remove_file(place.join(task(9)).join("record.json")).expect("remove");
    symlink(secret, place.join(task(9)).join("record.json")).expect("a link");
    let spaces = fs::OpenOptions::new().write(true).open(place.join(task(10)).join("record.json")).expect("open");
    spaces.set_len(20 << 20).expect("grow");
    for (n, json, why) in [
        (11, r#"{"schema_version":"v1","id":"a","id":"b"}"#.to_owned(), "`id` is there twice"),
        (12, r#"{"schema_version":"v1","x":{"y":[{"z":1,"z":1}]}}"#.to_owned(), "`z` is there twice"),
        (13, format!("{{\"schema_version\":\"v1\",\"x\":{}{}}}", "[".repeat(100_000), "]".repeat(100_000)), "deeper"),
    ] {
        write(place, &task(n), &[("record.json", json.as_bytes())]);
        expected.push((n, why));
    }
    write(place, "renamed", &[("record.json", record(14).to_string().as_bytes())]);
    expected
}

#[test]
fn hostile_directories_are_refused_one_by_one_and_the_rest_is_imported() {
    let project = Project::bare(User::Current);
    let place = old(&project);
    let secret = project.scratch().join("secret");
    fs::write(&secret, "the host's secret").expect("write");
    let mut expected = write_hostile(&place, &secret);
    for n in 100..105 {
        write_record(&place, n, &record(n));
    }
    let before = files(&place);
    let (told, code) = import(&project, &place);
    assert_eq!((totals(&told), code), ([5, 0, 0, expected.len() as u64 + 1], 1), "{told:#}");
    expected.sort();
    for (n, why) in expected {
        let path = place.join(task(n)).to_string_lossy().into_owned();
        let entry = told["directories"].as_array().expect("a list").iter().find(|entry| entry["path"] == path);
        let reason = entry.and_then(|entry| entry["reasons"][0].as_str()).unwrap_or_else(|| panic!("{path}: {told:#}"));
        assert!(reason.contains(why), "{n}: `{why}` is not in `{reason}`");
        assert_eq!(project.isobox(&["show", &task(n)]).code, 5, "{n} was imported");
    }
    assert!(files(&place) == before, "the old directories were changed");
    let (again, code) = import(&project, &place);
    assert_eq!((totals(&again)[..2].to_vec(), code), (vec![0, 5], 1), "{again:#}");
}

#[test]
fn a_record_that_is_not_whole_is_listed_and_its_artifacts_are_kept() {
    let project = Project::bare(User::Current);
    let place = old(&project);
    for n in 1..4 {
        write_record(&place, n, &record(n));
    }
    let json = |n| place.join(task(n)).join("record.json");
    fs::write(json(1), "").expect("write");
    let whole = fs::read(json(2)).expect("read");
    fs::write(json(2), &whole[..whole.len() / 2]).expect("write");
    fs::remove_file(json(3)).expect("remove");
    for _ in 0..2 {
        let (told, code) = import(&project, &place);
        assert_eq!((totals(&told), code), ([0, 0, 3, 0], 1), "{told:#}");
    }
    for n in 1..4 {
        let logs = project.isobox(&["logs", &task(n)]);
        assert_eq!(logs.stdout, format!("output of {n}\n").repeat(1 + n as usize), "{logs:?}");
        let shown = crate::place::document(&project.isobox(&["show", "--json", &task(n)]));
        assert_eq!((&shown["outcome"], &shown["attempt"]), (&json!("interruption"), &json!(1)));
        assert_eq!(project.isobox(&["promote", "--yes", "--source", ".", &task(n)]).code, 4);
    }
}

#[test]
fn a_record_that_calls_itself_otherwise_goes_by_the_name_of_its_directory() {
    let project = Project::bare(User::Current);
    let place = old(&project);
    write_record(&place, 1, &with(1, |record| record["id"] = "task-\u{1b}[2J".into()));
    let outcome = project.isobox(&["import".as_ref(), place.as_os_str()]);
    assert_eq!((outcome.code, outcome.stdout.as_str()), (0, "imported 1 record\n"), "{outcome:?}");
    assert!(outcome.stderr.contains("calls itself"), "{outcome:?}");
    assert!(!outcome.stderr.contains('\u{1b}'), "{outcome:?}");
    assert_eq!(project.isobox(&["show", &task(1)]).code, 0);
}

#[test]
fn a_place_that_is_not_there_is_told() {
    let project = Project::bare(User::Current);
    let outcome = project.isobox(&["import", "nowhere"]);
    assert_eq!(outcome.code, 1, "{outcome:?}");
    assert!(outcome.stderr.contains("open nowhere"), "{outcome:?}");
    assert_eq!(project.isobox(&["import"]).code, 2);
    let empty = project.isobox(&["import", "."]);
    assert!(empty.code == 1 && empty.stderr.contains("there is no record in ."), "{empty:?}");
}
