//! What `isobox backend list` tells, on this machine and on such as lack something.

use crate::schema_checker::assert_described;
use crate::support::{document, user_policy};
use isobox_tests::{Machine, Project, User, ignored, outcome};
use serde_json::{Value, json};
use std::process::Command;

/// The document on `machine`, with or without `bwrap` on PATH.
fn listed(project: &Project, machine: Machine, path: Option<&str>) -> Value {
    let mut command = project.isobox_command(&["backend", "list", "--json"]);
    path.map(|path| command.env("PATH", path));
    let ran = outcome(machine.output(command).expect("run isobox"));
    assert_eq!(ran.code, 0, "{ran:?}");
    let told = document(&ran);
    assert_described("backends", &told);
    told
}

fn backend<'a>(told: &'a Value, name: &str) -> &'a Value {
    let found = told["backends"].as_array().expect("backends").iter().find(|backend| backend["backend"] == name);
    found.unwrap_or_else(|| panic!("no {name} in {told:#}"))
}

fn status<'a>(told: &'a Value, name: &str, control: &str) -> &'a Value {
    &backend(told, name)["enforcement"][control]["status"]
}

/// Whether nothing keeps the backend from starting.
fn starts(told: &Value, name: &str) -> bool {
    backend(told, name)["unavailable"].is_null()
}

#[test]
fn what_auto_takes_is_what_a_task_then_runs_on() {
    let project = Project::initialised(User::Ordinary);
    let told = listed(&project, Machine::Whole, None);
    assert_eq!(told["policy"], json!({ "of": "project", "runtime_backend": "auto" }));
    assert_eq!(status(&told, "host", "filesystem"), "not_enforced");
    let Some(taken) = told["auto"]["backend"].as_str() else {
        return ignored("the backend of a task", "no backend starts here");
    };
    assert_eq!(status(&told, taken, "filesystem"), "enforced");
    assert_eq!(project.isobox(&["run", "--", "true"]).code, 0);
    let policy = &document(&project.isobox(&["show", "--json", "@latest"]))["effective_policy"];
    assert_eq!(policy["runtime_backend"], taken);
    assert_eq!(policy["enforcement"], backend(&told, taken)["enforcement"]);
}

#[test]
fn the_policy_is_that_of_the_directory_that_is_named_below_the_users_own() {
    let project = Project::initialised(User::Current);
    let before = listed(&project, Machine::Whole, None);
    let head = "api_version: isobox.dev/v1alpha1\nkind: ProjectPolicy\n";
    project.write(".isobox/config.yaml", &format!("{head}runtime_backend: bubblewrap\n"));
    let told = listed(&project, Machine::Whole, None);
    assert_eq!(told["policy"], json!({ "of": "project", "runtime_backend": "bubblewrap" }));
    assert_eq!(told["auto"], before["auto"]);
    let outside = document(&project.isobox(&["backend", "list", "--json", "/"]));
    assert_eq!(outside["policy"], json!({ "of": "default", "runtime_backend": "auto" }));
    project.write(".isobox/config.yaml", "network: {default: dney}\n");
    assert_eq!(project.isobox(&["backend", "list"]).code, 3);
    assert_eq!(project.isobox(&["backend", "list", "/nonexistent"]).code, 2);
    user_policy(&project, "runtime_backend: bubblewrap\nrequire: [limits]\n");
    let outside = document(&project.isobox(&["backend", "list", "--json", "/"]));
    assert_eq!(outside["policy"], json!({ "of": "default", "runtime_backend": "bubblewrap" }));
    assert!(outside["auto"]["refused"].as_str().expect("why").contains("limits"), "{outside:#}");
}

#[test]
fn without_bwrap_landlock_is_taken() {
    let project = Project::initialised(User::Ordinary);
    let told = listed(&project, Machine::Whole, Some("/nonexistent"));
    assert!(backend(&told, "bubblewrap")["unavailable"].as_str().expect("why").contains("bwrap"), "{told:#}");
    assert_eq!(status(&told, "bubblewrap", "filesystem"), "not_enforced");
    if !starts(&told, "landlock") || status(&told, "landlock", "filesystem") != "enforced" {
        return ignored("backends without bwrap", "the backend `landlock` does not contain the file system here");
    }
    assert_eq!(told["auto"]["backend"], "landlock");
    assert!(told["auto"]["why_this_backend"].as_str().expect("why").contains("bubblewrap: "), "{told:#}");
}

#[test]
fn without_user_namespaces_landlock_holds_in_part_and_auto_takes_none() {
    let project = Project::initialised(User::Ordinary);
    let told = listed(&project, Machine::WithoutUserNamespaces, Some("/nonexistent"));
    assert_eq!((&told["auto"]["backend"], &told["auto"]["why_this_backend"]), (&Value::Null, &Value::Null));
    assert!(told["auto"]["refused"].as_str().expect("why").contains("landlock: "), "{told:#}");
    if !starts(&told, "landlock") {
        return ignored("landlock without namespaces", "it does not start here");
    }
    assert_eq!(status(&told, "landlock", "filesystem"), "partially_enforced");
    assert_eq!(status(&told, "landlock", "network"), "enforced");
}

#[test]
fn without_landlock_that_backend_cannot_be_used() {
    let project = Project::initialised(User::Ordinary);
    let told = listed(&project, Machine::WithoutLandlock, None);
    assert!(!starts(&told, "landlock"), "{told:#}");
    assert_eq!(status(&told, "landlock", "filesystem"), "not_enforced");
    if !starts(&told, "bubblewrap") {
        return ignored("bubblewrap without Landlock", "it does not start here");
    }
    assert_eq!(told["auto"]["backend"], "bubblewrap");
}

/// Whether calls of Landlock can be answered here as an older kernel does.
fn can_be_older(project: &Project) -> bool {
    if let Some(reason) = Machine::OldLandlock(0).obstacle() {
        ignored("older versions of Landlock", reason);
        return false;
    }
    let has_python = Command::new("/usr/bin/python3").arg("--version").output().is_ok_and(|run| run.status.success());
    let is_there = has_python && starts(&listed(project, Machine::Whole, None), "landlock");
    if !is_there {
        ignored("older versions of Landlock", "there is no Landlock or no /usr/bin/python3 here");
    }
    is_there
}

/// What a Task of `landlock` comes to on `machine`, and what its record says is enforced.
fn ran(project: &Project, machine: Machine) -> (i32, Value) {
    let command = project.isobox_command(&["run", "-q", "--backend", "landlock", "--", "cat", "README.md"]);
    let ran = outcome(machine.output(command).expect("run isobox"));
    let shown = document(&project.isobox(&["show", "--json", "@latest"]));
    (ran.code, shown["effective_policy"]["enforcement"].clone())
}

/// What tells of signals and abstract sockets that this Landlock does not keep apart.
fn tells_of_scopes(told: &Value) -> bool {
    backend(told, "landlock")["limitations"].to_string().contains("does not keep abstract sockets and signals apart")
}

#[test]
fn what_is_claimed_on_an_older_landlock_is_what_a_task_then_has() {
    for user in isobox_tests::users() {
        let project = Project::initialised(*user);
        if !can_be_older(&project) {
            return;
        }
        let whole = listed(&project, Machine::Whole, None);
        for abi in 0..=7 {
            let machine = Machine::OldLandlock(abi);
            let told = listed(&project, machine, None);
            assert_eq!(starts(&told, "landlock"), abi > 0, "{abi}: {told:#}");
            if abi == 0 {
                assert_eq!(status(&told, "landlock", "filesystem"), "not_enforced");
                assert_eq!(told["auto"]["backend"], "bubblewrap", "{told:#}");
                continue;
            }
            // Namespaces do what an older Landlock does not.
            let enforcement = &backend(&told, "landlock")["enforcement"];
            assert_eq!(enforcement, &backend(&whole, "landlock")["enforcement"], "{abi}");
            assert_eq!(tells_of_scopes(&told), abi < 6, "{abi}: {told:#}");
            assert_eq!(ran(&project, machine), (0, enforcement.clone()), "{abi}");
        }
    }
}

#[test]
fn without_namespaces_an_older_landlock_claims_less_or_starts_nothing() {
    for user in isobox_tests::users() {
        let project = Project::initialised(*user);
        if !can_be_older(&project) {
            return;
        }
        for abi in 0..=7 {
            let machine = Machine::OldLandlockAlone(abi);
            let told = listed(&project, machine, Some("/nonexistent"));
            assert_eq!(told["auto"]["backend"], Value::Null, "{abi}: {told:#}");
            // An older one lets files of the user be truncated.
            assert_eq!(starts(&told, "landlock"), abi >= 3, "{abi}: {told:#}");
            if abi < 3 {
                assert_eq!(status(&told, "landlock", "filesystem"), "not_enforced", "{abi}");
                let command = project.isobox_command(&["run", "-q", "--backend", "landlock", "--", "true"]);
                assert_eq!(outcome(machine.output(command).expect("run isobox")).code, 125, "{abi}");
                continue;
            }
            let enforcement = &backend(&told, "landlock")["enforcement"];
            let reason = enforcement["processes"]["reason"].as_str().unwrap_or_default();
            assert_eq!(reason.contains("signalled"), abi < 6, "{abi}: {reason}");
            let network = enforcement["network"]["mechanism"].as_str().unwrap_or_default();
            assert_eq!(network.contains("Landlock refuses TCP"), abi >= 4, "{abi}: {network}");
            assert_eq!(ran(&project, machine), (0, enforcement.clone()), "{abi}");
        }
    }
}
