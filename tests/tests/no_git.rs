//! isobox needs no `git` program, and starts nothing but itself, `bwrap` and the workload.

use isobox_tests::{Outcome, Project, User, isobox_program, outcome};
use std::collections::BTreeSet;
use std::fs;
use std::os::unix::fs::symlink;
use std::process::{Command, Stdio};

#[test]
fn the_whole_workflow_works_without_git_on_path() {
    for user in [User::Current, User::Ordinary] {
        let project = Project::bare(user);
        let run = |arguments: &[&str]| without_git(&project, arguments);
        assert_eq!(run(&["init"]).code, 0);
        project.commit_all("Set up isobox");
        assert_eq!(run(&["tool", "--", "sh", "-c", "echo changed >> README.md"]).code, 0);
        assert_eq!(run(&["run", "--", "sh", "-c", "echo changed >> README.md"]).code, 0);
        for looking in ["show", "diff", "logs"] {
            let looked = run(&[looking, "@latest"]);
            assert_eq!(looked.code, 0, "{looked:?}");
        }
        assert_eq!(run(&["cat", "@latest:README.md"]).stdout, "hello\nchanged\n");
        let promoted = run(&["promote", "--yes", "@latest"]);
        assert_eq!(promoted.code, 0, "{promoted:?}");
        assert_eq!(project.read("README.md"), "hello\nchanged\n");
    }
}

#[test]
fn a_tool_call_executes_isobox_bwrap_and_the_workload_alone() {
    let project = Project::initialised(User::Current);
    // The first call tries in a Sandbox of its own, by a shell, what an overlay keeps here; no later one does.
    for tried in [&["sh", "mkdir", "rm"][..], &[]] {
        let (started, trace) = executed(&project);
        let strangers: Vec<_> =
            started.iter().filter(|name| !is_expected(name) && !tried.contains(&name.as_str())).collect();
        assert!(strangers.is_empty(), "{strangers:?} in\n{trace}");
        assert!(started.contains("uname"), "{trace}");
    }
}

/// The names of the programs that a tool call executes, and what says so.
fn executed(project: &Project) -> (BTreeSet<String>, String) {
    let log = project.scratch().join("execve.log");
    let mut command = project.command("strace");
    command.args(["-f", "-q", "-o"]).arg(&log).arg("--trace=execve,execveat");
    command.arg(isobox_program()).args(["tool", "--", "uname", "-s"]).stdin(Stdio::null());
    let traced = outcome(command.output().expect("run strace"));
    assert_eq!(traced.code, 0, "{traced:?}");
    let trace = fs::read_to_string(&log).expect("a trace");
    // A call during which another process was seen is told in two lines, the first of which names the program.
    let worked = |line: &&str| line.ends_with("= 0") || line.ends_with("<unfinished ...>");
    let started = trace.lines().filter(worked).filter_map(program).map(str::to_owned).collect();
    (started, trace)
}

/// The file name of what a line of the trace executed.
fn program(line: &str) -> Option<&str> {
    line.split('"').nth(1)?.rsplit('/').next()
}

fn is_expected(name: &str) -> bool {
    let program = isobox_program();
    let is_isobox = program.file_name().is_some_and(|own| own == name) || name == "isobox-stage";
    // A program that is executed by descriptor shows as a number, or as nothing.
    is_isobox || ["bwrap", "uname", "exe", ""].contains(&name) || name.bytes().all(|byte| byte.is_ascii_digit())
}

fn without_git(project: &Project, arguments: &[&str]) -> Outcome {
    let bin = project.scratch().join("bin");
    if !bin.exists() {
        fs::create_dir(&bin).expect("a folder");
        symlink("/usr/bin/bwrap", bin.join("bwrap")).expect("a link");
    }
    let mut command: Command = project.isobox_command(arguments);
    outcome(command.env("PATH", bin).output().expect("run isobox"))
}
