//! A full disk, an I/O error or a kill at any system call of `isobox`: the trusted repository stays whole, and every
//! Task that was acknowledged stays readable.

use isobox_tests::{CALL_GROUPS, FAULTS, Fault, Injected, Outcome, Project, User, run_with_fault};

const CHANGE: [&str; 5] =
    ["tool", "--", "sh", "-c", "echo said; echo changed >> README.md; echo new > new.txt; rm run.sh"];
/// Far above what any of the commands needs; a loop that gets here never came to an end.
const MOST_CALLS: u32 = 2000;

#[test]
fn a_tool_call_survives_a_fault_at_any_system_call() {
    each_fault(|calls, fault| {
        let project = Project::initialised(User::Current);
        until_none_is_hit(|nth| {
            let injected = run_with_fault(&project, &CHANGE, calls, fault, nth);
            assert_repository_is_untouched(&project);
            let listed = assert_store_is_whole(&project);
            if injected.outcome.code == 0 {
                let task = acknowledged_task(&injected.outcome);
                assert!(listed.contains(&task), "{task} was acknowledged with {fault:?} at {calls} {nth}, but is gone");
            }
            injected
        });
        assert_next_start_cleans_up(&project);
    });
}

#[test]
fn a_recovery_survives_a_fault_at_any_system_call() {
    each_fault(|calls, fault| {
        until_none_is_hit(|nth| {
            let project = Project::initialised(User::Current);
            leave_a_killed_attempt(&project);
            let injected = run_with_fault(&project, &["tool", "--", "true"], calls, fault, nth);
            assert_repository_is_untouched(&project);
            assert_next_start_cleans_up(&project);
            let listed = assert_store_is_whole(&project);
            assert!(
                listed.contains("interruption"),
                "the killed attempt is lost with {fault:?} at {calls} {nth}: {listed}"
            );
            injected
        });
    });
}

#[test]
fn a_promotion_survives_a_fault_at_any_system_call() {
    each_fault(|calls, fault| {
        let project = Project::initialised(User::Current);
        let task = acknowledged_task(&project.isobox(&CHANGE));
        let before = tree(&project);
        until_none_is_hit(|nth| {
            let injected = run_with_fault(&project, &["promote", "--yes", &task], calls, fault, nth);
            let start = project.isobox(&["tool", "--", "true"]);
            assert!([0, 125].contains(&start.code), "{start:?}");
            let after = tree(&project);
            let listed = assert_store_is_whole(&project);
            let is_recorded = listed.contains("\"promoted\"");
            if after == before {
                assert!(injected.outcome.code != 0, "success without a change, {fault:?} at {calls} {nth}");
                assert!(!is_recorded, "recorded but not done, {fault:?} at {calls} {nth}");
            } else {
                assert_eq!(after, "README.md=hello\nchanged\nnew.txt=new\n", "{fault:?} at {calls} {nth}");
                assert!(is_recorded, "done but not recorded, {fault:?} at {calls} {nth}: {injected:?}");
                return Injected { was_hit: false, ..injected };
            }
            injected
        });
    });
}

#[test]
fn a_checkpoint_survives_a_fault_at_any_system_call() {
    each_fault(|calls, fault| {
        let project = Project::initialised(User::Current);
        assert_eq!(project.isobox(&CHANGE).code, 0);
        let first = project.isobox(&["audit", "init-key"]);
        assert_eq!(first.code, 0, "{first:?}");
        until_none_is_hit(|nth| {
            assert_eq!(project.isobox(&["tool", "--", "true"]).code, 0);
            let injected = run_with_fault(&project, &["audit", "checkpoint"], calls, fault, nth);
            let printed = injected.outcome.stdout.clone();
            let next = project.isobox(&["audit", "checkpoint"]);
            assert_eq!(next.code, 0, "{fault:?} at {calls} {nth}: {next:?}");
            let kept = project.scratch().join("checkpoint");
            // Of what was killed, the printed checkpoint may be cut short.
            std::fs::write(&kept, if injected.outcome.code == 0 { printed } else { next.stdout }).expect("write");
            let told = project.isobox(&["verify", "--since", &kept.to_string_lossy()]);
            assert_eq!(told.code, 0, "{fault:?} at {calls} {nth}: {told:?}");
            assert!(
                told.stdout.contains("completeness  holds") && told.stdout.contains("signature     holds"),
                "{told:?}"
            );
            injected
        });
    });
}

#[test]
fn an_import_survives_a_fault_at_any_system_call() {
    let source = Project::initialised(User::Current);
    for script in ["echo said; echo new > new.txt", "head -c 1200000 /dev/urandom > big"] {
        assert_eq!(source.isobox(&["tool", "--", "sh", "-c", script]).code, 0);
    }
    let archive = source.scratch().join("all.isobox").to_str().expect("UTF-8").to_owned();
    assert_eq!(source.isobox(&["export", "--format", "archive", "@all", &archive]).code, 0);
    each_fault(|calls, fault| {
        until_none_is_hit(|nth| {
            let project = Project::bare(User::Current);
            let injected = run_with_fault(&project, &["import", "--json", &archive], calls, fault, nth);
            let what = format!("{fault:?} at {calls} {nth}: {injected:?}");
            let listed = assert_store_is_whole(&project);
            let count = listed.matches("\"record\":\"").count() + listed.matches("\"record\": \"").count();
            if injected.outcome.code == 0 {
                assert_eq!(count, 2, "{what}");
            }
            // Again, and it is as if nothing had happened.
            let again = project.isobox(&["import", &archive]);
            assert_eq!(again.code, 0, "{what}, then {again:?}");
            let copy = project.scratch().join("copy.isobox").to_str().expect("UTF-8").to_owned();
            let exported = project.isobox(&["export", "--format", "archive", "@all", &copy]);
            assert_eq!(exported.code, 0, "{what}, then {exported:?}");
            assert!(std::fs::read(&copy).expect("read") == std::fs::read(&archive).expect("read"), "{what}");
            injected
        });
    });
}

#[test]
fn a_repair_survives_a_fault_at_any_system_call() {
    let source = Project::initialised(User::Current);
    for script in ["printf 'said %s first' it", "head -c 1200000 /dev/urandom"] {
        assert_eq!(source.isobox(&["tool", "--", "sh", "-c", script]).code, 0);
    }
    let archive = source.scratch().join("all.isobox").to_str().expect("UTF-8").to_owned();
    assert_eq!(source.isobox(&["export", "--format", "archive", "@all", &archive]).code, 0);
    let damaged = source.scratch().join("damaged").to_str().expect("UTF-8").to_owned();
    assert_eq!(source.isobox(&["import", "--records", &damaged, &archive]).code, 0);
    damage(&format!("{damaged}/store"));
    each_fault(|calls, fault| {
        until_none_is_hit(|nth| {
            let project = Project::bare(User::Current);
            let records = project.scratch().join("records").to_str().expect("UTF-8").to_owned();
            let copied = project.command("cp").args(["-a", &damaged, &records]).status().expect("run cp");
            assert!(copied.success());
            let repair = ["store", "repair", "--records", &records, "--from", &archive];
            let injected = run_with_fault(&project, &repair, calls, fault, nth);
            let what = format!("{fault:?} at {calls} {nth}: {injected:?}");
            let verify = || project.isobox(&["verify", "--deep", "--records", &records]);
            if injected.outcome.code == 0 {
                assert_eq!(verify().code, 0, "{what}");
            }
            let again = project.isobox(&repair);
            assert_eq!(again.code, 0, "{what}, then {again:?}");
            assert_eq!(verify().code, 0, "{what}");
            injected
        });
    });
}

/// Flips a bit of an output in a lane, and one of a large artifact.
fn damage(store: &str) {
    let lane = format!("{store}/lanes/lane-00.pack");
    let mut pack = std::fs::read(&lane).expect("read");
    let at = pack.windows(13).position(|window| window == b"said it first").expect("it stands there as it is");
    pack[at] ^= 1;
    std::fs::write(&lane, pack).expect("damage");
    let folder =
        std::fs::read_dir(format!("{store}/large")).expect("list").next().expect("a folder").expect("a folder");
    let large = std::fs::read_dir(folder.path()).expect("list").next().expect("a file").expect("a file").path();
    let mut bytes = std::fs::read(&large).expect("read");
    bytes[600_000] ^= 1;
    std::fs::write(&large, bytes).expect("damage");
}

fn each_fault(check: impl Fn(&str, Fault) + Sync) {
    for calls in CALL_GROUPS {
        for fault in FAULTS {
            check(calls, fault);
        }
    }
}

fn until_none_is_hit(mut run: impl FnMut(u32) -> Injected) {
    assert!((1..MOST_CALLS).any(|nth| !run(nth).was_hit), "the command never ran without a fault");
}

fn leave_a_killed_attempt(project: &Project) {
    use std::io::{BufRead, BufReader};
    let mut command = project.isobox_command(&[
        "tool",
        "--",
        "sh",
        "-c",
        "echo half > README.md; echo ready; exec tail -f /dev/null",
    ]);
    let mut isobox =
        command.stdout(std::process::Stdio::piped()).stderr(std::process::Stdio::null()).spawn().expect("start");
    let mut line = String::new();
    BufReader::new(isobox.stdout.take().expect("a pipe")).read_line(&mut line).expect("read");
    assert_eq!(line, "ready\n");
    isobox.kill().expect("kill");
    isobox.wait().expect("wait");
}

fn assert_repository_is_untouched(project: &Project) {
    assert_eq!(project.git(&["status", "--porcelain"]), "");
    assert_eq!(tree(project), "README.md=hello\nrun.sh=#!/bin/sh\necho ran\n");
}

fn assert_store_is_whole(project: &Project) -> String {
    let list = project.isobox(&["list", "--json"]);
    if list.code == 6 && list.stderr.contains("there is no task store") {
        // A first call that failed before it made one; nothing can have been acknowledged.
        return String::new();
    }
    assert_eq!(list.code, 0, "{list:?}");
    let document: serde_json::Value = serde_json::from_str(&list.stdout).expect("a JSON document");
    let tasks = document["tasks"].as_array().expect("tasks").iter();
    // What was interrupted and is not on record yet has nothing to show.
    for task in tasks.filter(|task| !task["record"].is_null()) {
        let id = task["id"].as_str().expect("an id");
        let show = project.isobox(&["show", "--json", id]);
        assert_eq!(show.code, 0, "{show:?}");
    }
    list.stdout
}

fn assert_next_start_cleans_up(project: &Project) {
    let start = project.isobox(&["tool", "--", "true"]);
    assert_eq!(start.code, 0, "{start:?}");
    // A Workspace that could not be captured is kept, and its record says where.
    let records = all_records(project);
    for workspace in project.workspaces() {
        assert!(records.contains(&*workspace.to_string_lossy()), "{} is in no record: {records}", workspace.display());
    }
}

fn all_records(project: &Project) -> String {
    let list = project.isobox(&["list", "--json"]).stdout;
    let list: serde_json::Value = serde_json::from_str(&list).expect("a JSON document");
    let ids = list["tasks"].as_array().expect("tasks").iter().filter_map(|task| task["id"].as_str());
    ids.map(|id| project.isobox(&["show", "--json", id]).stdout).collect()
}

/// The id in any of the lines `isobox task ID: …`: one of them may be what the fault swallowed.
fn acknowledged_task(outcome: &Outcome) -> String {
    let mut words = outcome.stderr.split([' ', ':', '\n']);
    words.find(|word| word.starts_with("task-")).unwrap_or_else(|| panic!("{outcome:?}")).to_owned()
}

fn tree(project: &Project) -> String {
    ["README.md", "new.txt", "run.sh"]
        .into_iter()
        .filter(|path| project.repository().join(path).exists())
        .map(|path| format!("{path}={}", project.read(path)))
        .collect()
}
