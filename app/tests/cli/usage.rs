//! What is typed, and the exit codes.

use crate::support::document;
use isobox_tests::{Project, User, on_every_backend, outcome};
use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::PermissionsExt;

#[test]
fn a_command_line_that_cannot_be_understood_is_usage_or_125_around_a_workload() {
    let project = Project::bare(User::Current);
    for (arguments, code) in [
        (&["list", "--bogus"][..], 2),
        (&["bogus"], 2),
        (&["--quiet"], 2),
        (&["policy", "--quiet"], 2),
        (&["promote"], 2),
        (&["cat", "no-colon"], 2),
        (&["tool", "--bogus", "--", "true"], 125),
        (&["--quiet", "tool"], 125),
        (&["run"], 125),
        (&["run", "--backend", "docker", "--", "true"], 125),
        (&["run", "--reuse-input", "nonsense", "--", "true"], 125),
    ] {
        let refused = project.isobox(arguments);
        assert_eq!(refused.code, code, "{arguments:?}: {refused:?}");
        assert!(refused.stderr.starts_with("error: ") || refused.stderr.contains("Usage: isobox"), "{refused:?}");
        assert_eq!(refused.stdout, "");
    }
}

#[test]
fn a_slip_on_the_command_line_is_told_with_what_to_type_instead() {
    let project = Project::bare(User::Current);
    project.write("made", "#!/bin/sh\n");
    let made = project.repository().join("made");
    std::fs::set_permissions(made, std::fs::Permissions::from_mode(0o755)).expect("chmod");
    for (arguments, message, hint) in [
        (&["-q"][..], "no command was given", "`isobox --help` lists the commands"),
        (&["sh", "-c", "echo hi"], "'sh'", "did you mean `show`, or `isobox tool -- sh -c 'echo hi'`?"),
        (&["status"], "'status'", "did you mean `isobox list`?"),
        (&["workspace", "remove", "x"], "'remove'", "did you mean `isobox workspace dispose`?"),
        (&["echo", "hi"], "'echo'", "did you mean `isobox tool -- echo hi`?"),
        (&["-q", "./made", "x"], "'./made'", "did you mean `isobox tool -- ./made x`?"),
        (&["./README.md"], "'./README.md'", "`isobox --help` lists the commands"),
        (&["lst"], "'lst'", "did you mean `list`? `isobox --help` lists the commands"),
        (&["diff"], "<TASK>", "isobox diff @latest"),
        (&["foo"], "'foo'", "`isobox --help` lists the commands"),
        (&["run", "--netwrok", "deny", "--", "true"], "'--netwrok'", "did you mean `--network`?"),
        (&["tool", "true"], "'true'", "isobox tool -- true"),
        (&["-q", "run"], "<CMD>...", "isobox run -- make test"),
        (&["tool", "--network", "deny", "--", "true"], "'--network'", "in the policy file alone"),
        (&["promote", "--force", "@latest"], "'--force'", "`isobox promote --help`"),
        (&["run", "--backend", "docker", "--", "true"], "possible values: auto,", "`isobox run --help`"),
    ] {
        let refused = project.isobox(arguments);
        let (told, advice) = refused.stderr.split_once("\nhint: ").expect("a hint");
        assert!(told.starts_with("error: ") && told.contains(message), "{refused:?}");
        assert!(advice.contains(hint), "{refused:?}");
        assert!(!refused.stderr.contains("--source") && !refused.stderr.contains("'-- "), "{refused:?}");
    }
}

#[test]
fn a_bare_command_shows_what_can_follow_it() {
    let project = Project::bare(User::Current);
    for (bare, asked) in
        [(&[][..], &["-h"][..]), (&["policy"], &["policy", "-h"]), (&["workspace"], &["workspace", "-h"])]
    {
        let (bare, asked) = (project.isobox(bare), project.isobox(asked));
        assert!(bare.stdout.contains("Usage: isobox"), "{bare:?}");
        assert_eq!((bare.code, bare.stdout, bare.stderr.as_str()), (0, asked.stdout, ""));
    }
}

#[test]
fn flags_may_be_spelled_with_a_space_or_an_equals_sign() {
    let project = Project::initialised(User::Current);
    for arguments in [&["run", "--backend", "host", "--", "true"][..], &["run", "--backend=host", "--", "true"]] {
        let run = project.isobox(arguments);
        assert_eq!(run.code, 0, "{run:?}");
        let record = document(&project.isobox(&["show", "--json", "@latest"]));
        assert_eq!(record["effective_policy"]["runtime_backend"], "host");
    }
}

#[test]
fn errors_are_one_json_document_on_demand() {
    let project = Project::bare(User::Current);
    for (arguments, kind, code) in [
        (&["--json-errors", "list", "--records", "/nonexistent-18"][..], "store", 6),
        (&["list", "--json-errors", "--bogus"], "usage", 2),
        (&["--json-errors", "tool", "--", "true"], "general", 125),
    ] {
        let failed = project.isobox(arguments);
        assert_eq!(failed.code, code, "{failed:?}");
        let error: serde_json::Value = serde_json::from_str(&failed.stderr).expect("one document");
        assert_eq!(error["schema"], "isobox.error/v1");
        assert_eq!((error["kind"].as_str(), error["exit_code"].as_i64()), (Some(kind), Some(i64::from(code))));
    }
}

#[test]
fn json_errors_after_the_double_dash_belong_to_the_workload() {
    let project = Project::bare(User::Current);
    let failed = project.isobox(&["tool", "--", "echo", "--json-errors"]);
    assert!(failed.stderr.starts_with("error: "), "{failed:?}");
}

#[test]
fn the_exit_codes_can_be_looked_up() {
    let project = Project::bare(User::Current);
    let help = project.isobox(&["help", "exit-codes"]);
    let codes: Vec<&str> = help.stdout.lines().filter_map(|line| line.split_whitespace().next()).collect();
    assert_eq!(codes, ["0", "1", "2", "3", "4", "5", "6", "124", "125", "126", "127", "128+n"]);
    assert_eq!(project.isobox(&["help", "promote"]).code, 0);
    assert_eq!(project.isobox(&["help", "nothing"]).code, 2);
}

#[test]
fn the_version_is_printed_in_three_ways() {
    let project = Project::bare(User::Current);
    let version = document(&project.isobox(&["version", "--json"]));
    assert_eq!(version["schema"], "isobox.version/v1");
    let expected = format!("isobox {}\n", version["version"].as_str().expect("a version"));
    assert_eq!(project.isobox(&["version"]).stdout, expected);
    assert_eq!(project.isobox(&["--version"]).stdout, expected);
}

#[test]
fn every_way_to_end_has_its_exit_code() {
    on_every_backend(|case| {
        for (command, code, ended) in [
            (&["true"][..], 0, "outcome=success"),
            (&["sh", "-c", "exit 42"], 42, "outcome=workload_command_exit exit_code=42"),
            (&["sh", "-c", "kill -TERM $$"], 143, "outcome=workload_command_exit exit_code=143 signal=15"),
            (&["./README.md"], 126, "outcome=launch_failure"),
            (&["no-such-command-18"], 127, "outcome=launch_failure"),
        ] {
            let run = case.run_command(command);
            assert_eq!(run.code, code, "{run:?}");
            assert!(run.stderr.contains(&format!(": completed {ended}\n")), "{ended}: {run:?}");
        }
    });
}

#[test]
fn arguments_that_are_no_text_reach_the_command_and_the_record_byte_for_byte() {
    on_every_backend(|case| {
        let mut command = case.project.isobox_command(&["run", "--backend", case.backend.name(), "--", "printf", "%s"]);
        let output = command.arg(OsStr::from_bytes(b"a\xff\nb")).output().expect("run isobox");
        assert_eq!(output.stdout, b"a\xff\nb");
        assert_eq!(outcome(output).code, 0);
        assert_eq!(case.record()["command"][2]["hex"], "61ff0a62");
    });
}

#[test]
fn lifecycle_lines_are_on_standard_error_in_their_order() {
    let project = Project::initialised(User::Current);
    let tool = project.isobox(&["tool", "--", "sh", "-c", "echo out; echo err >&2; echo more >> README.md"]);
    assert_eq!(tool.stdout, "out\n");
    let lines: Vec<&str> = tool.stderr.lines().collect();
    let id = crate::support::task_of(&tool);
    assert_eq!(lines[0], format!("isobox task {id}: starting tool call"));
    let policy = "policy network=deny network_enforcement=enforced credentials=none credential_enforcement=enforced";
    assert!(lines[1].starts_with(&format!("isobox task {id}: {policy}")), "{tool:?}");
    assert_eq!(lines[2], "err");
    assert_eq!(lines[3], format!("isobox task {id}: completed outcome=success"));
    assert_eq!(lines[4], format!("isobox task {id}: 1 changed file, next: isobox diff {id} && isobox promote {id}"));
    assert_eq!(lines.len(), 5);
}

#[test]
fn a_quiet_call_prints_what_the_workload_prints_and_nothing_else() {
    let project = Project::initialised(User::Current);
    let tool = project.isobox(&["--quiet", "tool", "--", "sh", "-c", "echo out; echo err >&2"]);
    assert_eq!((tool.stdout.as_str(), tool.stderr.as_str()), ("out\n", "err\n"));
}

#[test]
fn a_session_says_what_became_of_its_workspace() {
    let project = Project::initialised(User::Current);
    let disposed = project.isobox(&["run", "--", "true"]);
    assert!(disposed.stderr.contains(": workspace disposed\n"), "{disposed:?}");
    let retained = project.isobox(&["run", "--retain-workspace", "--", "sh", "-c", "echo kept > kept"]);
    let path = retained.stderr.lines().find_map(|line| line.split_once(": workspace retained at: ")).expect("a path").1;
    assert_eq!(std::fs::read_to_string(std::path::Path::new(path).join("kept")).expect("kept"), "kept\n");
    let record = document(&project.isobox(&["show", "--json", "@latest"]));
    assert_eq!(record["workspace"]["path"], path);
    assert_eq!(record["workspace"]["retention"], "retained");
}
