//! What a terminal is shown.

use crate::support::{assert_told, tool};
use isobox_tests::{Project, User, isobox_program, outcome};

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
fn hostile_names_are_shown_escaped_on_a_terminal_and_raw_in_a_pipe_that_wants_them_so() {
    let project = Project::initialised(User::Current);
    let task = tool(&project, r"touch $(printf 'x\033[2J')");
    assert_eq!(on_a_terminal(&project, &["diff", "--name-only", &task]), "x\\x1b[2J\r\n");
    assert_eq!(on_a_terminal(&project, &["diff", "--name-only", "-z", &task]), "x\\x1b[2J\r\n");
    assert_eq!(project.isobox(&["diff", "--name-only", "-z", &task]).stdout, "x\u{1b}[2J\0");
    assert_eq!(project.isobox(&["diff", "--name-only", &task]).stdout, "\"x\\033[2J\"\n");
    assert!(!on_a_terminal(&project, &["diff", &task]).contains('\u{1b}'));
    assert!(!on_a_terminal(&project, &["show", &task]).contains('\u{1b}'));
}

/// What `isobox export` shows on a terminal where every directory takes its time.
fn slow_export(project: &Project, name: &str, flags: &str) -> String {
    let (isobox, destination) = (isobox_program(), project.scratch().join(name));
    let slowly = "strace -f -q -o /dev/null --inject=?mkdir,mkdirat:delay_enter=1300000";
    let line = format!("{slowly} {} {flags} export @latest {}", isobox.display(), destination.display());
    let shown = outcome(project.command("script").args(["-qec", &line, "/dev/null"]).output().expect("run script"));
    assert_eq!(shown.code, 0, "{shown:?}");
    shown.stdout
}

#[test]
fn what_takes_a_while_is_told_on_a_terminal_and_nothing_of_it_stays() {
    let project = Project::initialised(User::Current);
    tool(&project, "echo said");
    let shown = slow_export(&project, "told", "");
    let (before, after) = shown.rsplit_once("\x1b8\x1b[J").unwrap_or_else(|| panic!("{shown:?}"));
    assert!(before.contains("\x1b7exporting… (1 s)"), "{shown:?}");
    assert!(after.starts_with("exported task-"), "{shown:?}");
    assert_eq!(slow_export(&project, "quiet", "--quiet"), "");
    assert!(!slow_export(&project, "json", "--json-errors").contains('\x1b'));
}

#[test]
fn where_there_is_nothing_to_show_a_terminal_is_told_so_and_what_to_do_next() {
    let project = Project::initialised(User::Current);
    let failed = project.isobox(&["tool", "--", "no-such-program"]);
    assert_told(&failed, 127, &["not on the PATH of the sandbox", "hint: ", "isobox help policy", "next: isobox show"]);
    let task = tool(&project, "true");
    assert_eq!(
        on_a_terminal(&project, &["diff", &task]),
        format!("{task} changed nothing, next: isobox show {task}\r\n")
    );
    assert!(on_a_terminal(&project, &["logs", &task]).contains("printed nothing"));
    assert!(!on_a_terminal(&project, &["list"]).contains("next: "));
    assert_eq!(project.isobox(&["diff", &task]).stderr, "");
    let task = tool(&project, "echo x >> README.md; : a command that is far too long for a terminal of no size at all");
    let list = on_a_terminal(&project, &["list"]);
    assert!(list.contains("1 result to review, next: isobox show TASK"), "{list}");
    assert!(list.contains(&format!("\r\n{task}")), "{list}");
    let promoted = on_a_terminal(&project, &["promote", "--yes", &task]);
    assert!(promoted.ends_with("which starts from your last commit, next: git status\r\n"), "{promoted}");
    assert!(!on_a_terminal(&project, &["list"]).contains("next: "));
}
