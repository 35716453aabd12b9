//! What a terminal is shown.

use crate::support::tool;
use isobox_tests::{Project, User};

/// What `arguments` print with standard output and standard error on a terminal.
fn on_a_terminal(project: &Project, arguments: &[&str]) -> String {
    let (code, shown) = isobox_tests::on_a_terminal(project.isobox_command(arguments), 80);
    assert_eq!(code, 0, "{shown}");
    shown
}

const HOSTILE: &str = r"printf 'a\033[2Jb\r\n\342\200\256c\377\n'";
const SHOWN: &str = "a\\x1b[2Jb\\r\r\n\\u{202e}c\\xff\r\n";

#[test]
fn output_of_a_workload_does_not_drive_the_terminal() {
    let project = Project::initialised(User::Current);
    let tool_shown = on_a_terminal(&project, &["--quiet", "tool", "--", "sh", "-c", HOSTILE]);
    assert_eq!(tool_shown, SHOWN);
    assert_eq!(on_a_terminal(&project, &["logs", "@latest"]), SHOWN);
}

#[test]
fn code_is_shown_on_a_terminal_as_it_was_written() {
    let project = Project::initialised(User::Current);
    let task = tool(&project, r#"printf '%s\n' 'split("\n") \d+' > code"#);
    assert!(on_a_terminal(&project, &["diff", &task]).contains("+split(\"\\n\") \\d+\r\n"));
}

#[test]
fn hostile_names_are_shown_escaped_on_a_terminal_and_raw_in_a_pipe() {
    let project = Project::initialised(User::Current);
    let task = tool(&project, r"touch $(printf 'x\033[2J')");
    assert_eq!(on_a_terminal(&project, &["diff", "--name-only", &task]), "x\\x1b[2J\r\n");
    assert_eq!(project.isobox(&["diff", "--name-only", &task]).stdout, "x\u{1b}[2J\n");
    assert!(!on_a_terminal(&project, &["diff", &task]).contains('\u{1b}'));
    assert!(!on_a_terminal(&project, &["show", &task]).contains('\u{1b}'));
}
