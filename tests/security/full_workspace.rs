//! Promise: a workload that fills a Workspace of a limited size loses nothing but what did not fit, and harms nobody after it.

use isobox_tests::{Case, Outcome, ignored, promises};
use std::path::PathBuf;

promises! {
    containing: [
        what_fits_is_captured_and_what_does_not_is_told,
        a_workload_that_makes_room_again_succeeds_and_is_promoted,
        as_many_files_as_fit_are_captured,
        deletions_of_a_full_workspace_are_captured,
    ],
}

/// Runs a script whose Workspace has limits; `None` where they cannot hold.
fn limited(case: &Case, limits: &[&str], script: &str) -> Option<Outcome> {
    let flags = limits.iter().flat_map(|limit| ["--limit", limit]);
    let command = ["--", "sh", "-c", script];
    let arguments: Vec<_> = ["run", "--backend", case.backend.name()].into_iter().chain(flags).chain(command).collect();
    let run = case.project.isobox(&arguments);
    let limits = case.record()["effective_policy"]["limits"].as_object().expect("a map").clone();
    if let Some(unheld) = limits.values().find(|limit| limit["status"] == "not_enforced") {
        ignored("a workspace of a limited size", &unheld["reason"].to_string());
        return None;
    }
    Some(run)
}

/// Nothing is left of a Task, and the next one is as any other.
fn assert_nobody_is_harmed(case: &Case) {
    assert_eq!(case.project.workspaces(), Vec::<PathBuf>::new());
    assert_eq!(case.project.isobox(&["verify"]).code, 0);
    case.run_well("test ! -e bomb && echo next > next");
    assert_eq!(case.captured("next"), "next\n");
}

/// The limit that the newest record says was met, and with which outcome.
fn met(case: &Case) -> (String, String) {
    let record = case.record();
    let met: Vec<_> = record["exceeded_limits"].as_array().expect("a list").iter().map(|met| &met["limit"]).collect();
    let [met] = met[..] else { panic!("{met:?}") };
    (met.as_str().expect("a name").to_owned(), record["outcome"].as_str().expect("a name").to_owned())
}

fn what_fits_is_captured_and_what_does_not_is_told(case: &Case) {
    let script = "echo kept > kept; echo more >> README.md; mkdir d; head -c 1M /dev/zero > d/whole
        head -c 100M /dev/zero > bomb; code=$?; wc -c < d/whole; exit $code";
    let Some(run) = limited(case, &["disk=8MiB"], script) else { return };
    assert_eq!((run.code, run.stdout.as_str()), (1, "1048576\n"), "{run:?}");
    assert!(run.stderr.contains("No space left on device"), "{run:?}");
    assert_eq!(met(case), ("disk".into(), "limit_exceeded".into()));
    assert_eq!((case.captured("kept"), case.captured("README.md")), ("kept\n".into(), "hello\nmore\n".into()));
    assert_eq!(case.captured("d/whole"), "\0".repeat(1 << 20));
    let bomb = case.captured("bomb");
    assert!(bomb.len() > 6 << 20 && bomb.len() < 8 << 20 && bomb.bytes().all(|byte| byte == 0), "{}", bomb.len());
    assert_eq!(case.project.isobox(&["diff", "--name-only", "@latest"]).stdout, "README.md\nbomb\nd/whole\nkept\n");
    let shown = case.project.isobox(&["show", "@latest"]).stdout;
    assert!(shown.contains("limit=disk"), "{shown}");
    // Nobody knows what is missing.
    assert_ne!(case.promote().code, 0);
    assert_eq!(case.project.read("README.md"), "hello\n");
    assert_nobody_is_harmed(case);
}

fn a_workload_that_makes_room_again_succeeds_and_is_promoted(case: &Case) {
    let script = "head -c 100M /dev/zero > bomb 2> /dev/null || rm bomb; echo after > after; echo more >> README.md";
    let Some(run) = limited(case, &["disk=8MiB"], script) else { return };
    assert_eq!(run.code, 0, "{run:?}");
    // How full it is is seen in the end.
    assert_eq!(case.record()["exceeded_limits"], serde_json::json!([]));
    case.promote_well();
    assert_eq!(
        (case.project.read("after"), case.project.read("README.md")),
        ("after\n".into(), "hello\nmore\n".into())
    );
    case.project.commit_all("Promoted");
    assert_nobody_is_harmed(case);
}

fn as_many_files_as_fit_are_captured(case: &Case) {
    let script = "for n in $(seq 1000); do touch bomb$n || break; done; ls | grep -c bomb; exit 3";
    let Some(run) = limited(case, &["disk=8MiB", "inodes=100"], script) else { return };
    let made: usize = run.stdout.trim().parse().expect("a number");
    // The file system has some for what isobox itself lays out.
    assert!(run.code == 3 && (90..120).contains(&made), "{run:?}");
    assert_eq!(met(case), ("inodes".into(), "limit_exceeded".into()));
    assert_eq!(case.project.isobox(&["diff", "--name-only", "@latest"]).stdout.lines().count(), made);
    assert_nobody_is_harmed(case);
}

/// Hiding what the commit has takes room, too.
fn deletions_of_a_full_workspace_are_captured(case: &Case) {
    let script = "head -c 100M /dev/zero > bomb 2> /dev/null; rm README.md && echo removed; rm -r src && echo removed
        ls -d README.md src 2> /dev/null; exit 3";
    let Some(run) = limited(case, &["disk=8MiB"], script) else { return };
    assert_eq!(run.code, 3, "{run:?}");
    let shown = case.project.isobox(&["diff", "--json", "@latest"]).stdout;
    let gone = |path: &str| !run.stdout.lines().any(|line| line == path);
    let named = case.project.isobox(&["diff", "--name-only", "@latest"]).stdout;
    for (path, file) in [("README.md", "README.md"), ("src", "src/main.rs")] {
        // What is captured is what the workload saw.
        assert_eq!(named.lines().any(|line| line == file), gone(path), "{path}: {run:?} {shown}");
    }
    assert_nobody_is_harmed(case);
}
