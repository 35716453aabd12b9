//! Pruning a store: what is shown, what goes, and what stays whatever is asked for.

use crate::schema_checker::assert_described;
use crate::support::{assert_told, document, task_of, tool};
use isobox_tests::{Project, User};

/// Four tasks, the oldest first: one without changes, one that was promoted, one that was rejected, one nobody decided about.
fn project() -> (Project, [String; 4]) {
    let project = Project::initialised(User::Current);
    let quiet = tool(&project, "echo quiet");
    let promoted = tool(&project, "echo promoted >> README.md");
    assert_eq!(project.isobox(&["promote", "--yes", &promoted]).code, 0);
    project.commit_all("Promoted");
    let rejected = tool(&project, "echo rejected > new");
    assert_eq!(project.isobox(&["reject", &rejected]).code, 0);
    let undecided = tool(&project, "echo undecided > new");
    (project, [quiet, promoted, rejected, undecided])
}

fn listed(project: &Project) -> Vec<String> {
    let list = document(&project.isobox(&["list", "--json"]));
    list["tasks"].as_array().expect("tasks").iter().map(|task| task["id"].as_str().expect("an id").into()).collect()
}

#[test]
fn nothing_goes_unless_it_is_applied_and_work_nobody_decided_about_stays() {
    let (project, [quiet, promoted, rejected, undecided]) = project();
    let before = listed(&project);
    let told = project.isobox(&["store", "prune", "--keep-last", "0"]);
    assert_eq!(told.code, 0, "{told:?}");
    for gone in [&quiet, &promoted, &rejected] {
        assert!(told.stdout.contains(gone.as_str()), "{told:?}");
    }
    assert!(!told.stdout.contains(&undecided), "{told:?}");
    assert!(told.stdout.contains("kept      1 record (1 unpromoted)\ndropped   3 records\n"), "{told:?}");
    assert!(told.stderr.contains("nothing was removed yet; run it with --apply"), "{told:?}");
    assert_eq!(listed(&project), before);
    let applied = project.isobox(&["store", "prune", "--keep-last", "0", "--apply"]);
    assert_eq!(applied.code, 0, "{applied:?}");
    assert_eq!(listed(&project), [undecided.as_str()]);
    assert_eq!(project.isobox(&["show", &promoted]).code, 5);
    assert_eq!(project.isobox(&["verify", "--deep"]).code, 0);
    assert!(!project.repository().join(".isobox/tasks").join(&promoted).exists(), "its view went too");
    assert!(project.repository().join(".isobox/tasks").join(&undecided).exists());
    assert_eq!(project.isobox(&["promote", "--yes", &undecided]).code, 0);
}

#[test]
fn what_is_pinned_or_kept_by_a_rule_stays() {
    let (project, [quiet, promoted, rejected, undecided]) = project();
    assert_eq!(project.isobox(&["store", "pin", &quiet]).code, 0);
    assert_described("record", &document(&project.isobox(&["show", "--json", &quiet])));
    let pinned = project.isobox(&["store", "pin", &quiet]);
    assert!(pinned.stderr.contains("was pinned before"), "{pinned:?}");
    let told = project.isobox(&["store", "prune", "--keep-promoted", "--drop-unpromoted", "--apply", "--json"]);
    let done = document(&told);
    assert_described("store-prune", &done);
    assert_eq!((&done["kept"]["pinned"], &done["kept"]["promoted"]), (&1.into(), &1.into()), "{done:#}");
    let dropped: Vec<_> = done["dropped"].as_array().expect("tasks").iter().map(|task| task["id"].clone()).collect();
    assert_eq!(dropped, [undecided.as_str(), rejected.as_str()]);
    assert_eq!(listed(&project), [promoted.as_str(), quiet.as_str()]);
    assert_eq!(project.isobox(&["store", "unpin", &quiet]).code, 0);
    assert_eq!(project.isobox(&["store", "prune", "--keep-promoted", "--apply"]).code, 0);
    assert_eq!(listed(&project), [promoted.as_str()]);
}

#[test]
fn attempts_that_go_are_told_apart_and_every_state_is_described() {
    let (project, [_, _, _, undecided]) = project();
    assert_eq!(project.isobox(&["rerun", &undecided]).code, 0);
    let arguments = ["store", "prune", "--keep-last", "0", "--drop-unpromoted"];
    let shown = document(&project.isobox(&[&arguments[..], &["--json"]].concat()));
    assert_described("store-prune", &shown);
    let dropped = shown["dropped"].as_array().expect("records");
    let states: Vec<_> = dropped.iter().map(|record| record["state"].as_str().expect("a state")).collect();
    assert_eq!(states, ["unreviewed", "superseded", "rejected", "promoted", "unchanged"]);
    let told = project.isobox(&arguments).stdout;
    assert!(told.starts_with("to drop:\nTASK "), "{told}");
    for attempt in ["#1 ", "#2 "] {
        assert!(told.contains(&format!("\n{undecided}{attempt}")), "{told}");
    }
}

#[test]
fn an_attempt_that_another_one_was_promoted_for_does_not_come_back() {
    let project = Project::initialised(User::Current);
    let task = tool(&project, "echo change >> README.md");
    assert_eq!(project.isobox(&["rerun", &task]).code, 0);
    assert_eq!(project.isobox(&["promote", "--yes", &task]).code, 0);
    let applied = project.isobox(&["store", "prune", "--keep-last", "0", "--apply"]);
    assert_eq!(applied.code, 0, "{applied:?}");
    assert_eq!(listed(&project), Vec::<String>::new());
}

#[test]
fn what_list_calls_unreviewed_stays() {
    let project = Project::initialised(User::Current);
    project.write(".gitignore", "/.isobox/tasks/\nout/\n");
    project.commit_all("Ignore what is built");
    let ran = project.isobox(&["tool", "--", "sh", "-c", "mkdir out; echo 1 > out/a"]);
    let task = task_of(&ran);
    assert!(ran.stderr.ends_with(&format!("1 path not captured, next: isobox diff --stat {task}\n")), "{ran:?}");
    assert_eq!(document(&project.isobox(&["list", "--json"]))["tasks"][0]["state"], "unreviewed");
    assert_eq!(project.isobox(&["store", "prune", "--keep-last", "0", "--apply"]).code, 0);
    assert_eq!(listed(&project), [task]);
}

#[test]
fn what_was_not_removed_is_told_after_the_summary_in_one_stream() {
    let (project, _) = project();
    let mut command = project.command("sh");
    command.args(["-c", "\"$0\" store prune --keep-last 0 2>&1"]).arg(isobox_tests::isobox_program());
    let told = isobox_tests::outcome(command.output().expect("run sh")).stdout;
    let end = "dropped   3 records\nnothing was removed yet; run it with --apply to remove them\n";
    assert!(told.starts_with("to drop:\nTASK ") && told.ends_with(end), "{told}");
}

#[test]
fn a_prune_that_cannot_give_the_room_back_says_that_the_records_are_dropped() {
    let (project, [quiet, ..]) = project();
    let lock = std::fs::File::create(project.repository().join(".git/isobox/store/locks/compact")).expect("a lock");
    lock.lock().expect("nobody holds it");
    let prune = ["store", "prune", "--keep-last", "0", "--apply"];
    let told = project.isobox(&prune);
    assert_told(&told, 6, &["the records were dropped, but their room was not given back", "then try again"]);
    assert!(!listed(&project).contains(&quiet));
    drop(lock);
    let again = project.isobox(&prune);
    assert_eq!(again.code, 0, "{again:?}");
    assert_eq!(project.isobox(&["verify", "--deep"]).code, 0);
}

#[test]
fn a_size_keeps_the_newest_that_fit() {
    let project = Project::initialised(User::Current);
    let tasks: Vec<String> =
        (0..4).map(|n| tool(&project, &format!("head -c 1000 /dev/zero | tr '\\0' {n}"))).collect();
    let told = project.isobox(&["store", "prune", "--max-size", "3KiB", "--apply"]);
    assert_eq!(told.code, 0, "{told:?}");
    assert_eq!(listed(&project), [tasks[3].as_str(), &tasks[2]]);
}

#[test]
fn a_prune_that_nothing_guides_or_whose_words_are_no_amounts_is_refused() {
    let (project, _) = project();
    let before = listed(&project);
    for arguments in [
        &["store", "prune", "--apply"][..],
        &["store", "prune", "--keep-within", "30", "--apply"],
        &["store", "prune", "--max-size", "lots", "--apply"],
        &["store", "prune", "--keep-last", "-1", "--apply"],
    ] {
        let told = project.isobox(arguments);
        assert_eq!((told.code, told.stdout.as_str()), (2, ""), "{told:?}");
    }
    assert_eq!(listed(&project), before);
}

#[test]
fn a_clock_that_may_have_jumped_is_not_believed() {
    let (project, _) = project();
    let before = listed(&project);
    let told = project.isobox(&["store", "prune", "--keep-within", "0s", "--apply"]);
    assert_eq!(told.code, 1, "{told:?}");
    assert!(told.stderr.contains("it may have jumped ahead") && told.stderr.contains("--trust-clock"), "{told:?}");
    assert_eq!(listed(&project), before);
    assert_eq!(project.isobox(&["store", "prune", "--keep-within", "0s", "--trust-clock", "--apply"]).code, 0);
    assert_eq!(listed(&project).len(), 1);
}
