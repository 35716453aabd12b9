//! What isobox may be started with: limits, masks and directories that other programs set.

use crate::support::{assert_told, task_of};
use isobox_tests::{Outcome, Project, User, outcome};
use std::fs;

const BACKENDS: [&str; 3] = ["landlock", "bubblewrap", "host"];

/// Runs `isobox` with `arguments` after `settings` of a shell, in the repository.
fn under(project: &Project, settings: &str, arguments: &[&str]) -> Outcome {
    let mut command = project.command("/bin/sh");
    command.args(["-c", &format!("{settings}; exec \"$0\" \"$@\"")]).arg(isobox_tests::isobox_program());
    outcome(command.args(arguments).stdin(std::process::Stdio::null()).output().expect("run isobox"))
}

#[test]
fn sixty_four_descriptors_are_enough() {
    for backend in BACKENDS {
        let project = Project::initialised(User::Current);
        let run = under(&project, "ulimit -n 64", &["run", "--backend", backend, "--", "sh", "-c", "echo x > new"]);
        assert_eq!(run.code, 0, "{backend}: {run:?}");
        assert_eq!(project.workspaces().len(), 0);
    }
}

/// Does something in a project of each user on each backend.
fn everywhere(test: impl Fn(&Project, &str)) {
    for user in [User::Current, User::Ordinary] {
        BACKENDS.iter().for_each(|backend| test(&Project::initialised(user), backend));
    }
}

#[test]
fn a_umask_that_takes_the_owners_rights_hinders_nothing() {
    everywhere(|project, backend| {
        let script = "echo x > new; mkdir d; echo y > d/f";
        let run = under(project, "umask 0777", &["run", "--backend", backend, "--", "sh", "-c", script]);
        assert_eq!(run.code, 0, "{backend}: {run:?}");
        let promoted = under(project, "umask 0777", &["promote", "--yes", "@latest"]);
        assert_eq!(promoted.code, 0, "{backend}: {promoted:?}");
        assert_eq!((project.read("new").as_str(), project.read("d/f").as_str()), ("x\n", "y\n"));
        assert_eq!(project.workspaces().len(), 0);
    });
}

#[test]
fn what_a_workload_makes_has_the_modes_that_its_caller_wants() {
    everywhere(|project, backend| {
        let script = "umask; touch f; mkdir d; stat -c %a f d";
        for (mask, modes) in [("0022", "644\n755"), ("0077", "600\n700")] {
            let arguments = ["run", "--backend", backend, "--", "sh", "-c", script];
            let run = under(project, &format!("umask {mask}"), &arguments);
            assert_eq!((run.code, run.stdout), (0, format!("{mask}\n{modes}\n")), "{backend}");
        }
    });
}

#[test]
fn a_limit_on_file_sizes_is_an_error_and_no_death() {
    for backend in BACKENDS {
        let project = Project::initialised(User::Current);
        assert_eq!(project.isobox(&["run", "--", "true"]).code, 0);
        for blocks in ["0", "1", "100"] {
            let arguments = ["run", "--backend", backend, "--", "sh", "-c", "head -c 300000 /dev/urandom >&2"];
            let run = under(&project, &format!("ulimit -f {blocks}"), &arguments);
            let told =
                run.stderr.contains("error: ") || run.stderr.contains("bytes of output were passed on but not kept");
            assert!(matches!(run.code, 0 | 125) && told, "{backend}, {blocks}: {}", run.code);
        }
        let next = project.isobox(&["run", "--", "true"]);
        assert_eq!(next.code, 0, "{next:?}");
        assert_eq!(project.workspaces().len(), 0, "{backend}");
        assert_eq!(project.git(&["status", "--porcelain"]), "");
    }
}

#[test]
fn a_current_directory_that_was_removed_does_not_matter_where_the_source_is_named() {
    let project = Project::initialised(User::Current);
    let gone = project.scratch().join("gone");
    fs::create_dir(&gone).expect("a folder");
    let leave = format!("cd '{0}'; rmdir '{0}'", gone.display());
    let source = project.repository().display().to_string();
    let run = under(&project, &leave, &["tool", "--source", &source, "--", "pwd"]);
    assert_eq!((run.code, run.stdout.as_str()), (0, "/workspace\n"), "{run:?}");
    task_of(&run);
    fs::create_dir(&gone).expect("a folder");
    assert_told(&under(&project, &leave, &["tool", "--", "true"]), 125, &["error: ", "hint: "]);
}

#[test]
fn a_command_that_its_record_cannot_hold_is_refused_before_it_runs() {
    let project = Project::initialised(User::Current);
    let (kept, long) = ("x".repeat(100_000), "y".repeat(47_900));
    let fits: Vec<&str> = ["run", "--", "true"].into_iter().chain([kept.as_str(); 9]).collect();
    assert_eq!(project.isobox(&fits).code, 0);
    let mut arguments = vec!["run", "--", "true"];
    arguments.extend([kept.as_str(); 10]);
    arguments.push(&long);
    assert_told(&project.isobox(&arguments), 125, &["error: ", "bytes", "hint: "]);
    let listed = project.isobox(&["list", "--json"]);
    assert_eq!(listed.stdout.matches("\"id\"").count(), 1, "{listed:?}");
    assert_eq!(project.workspaces().len(), 0);
}
