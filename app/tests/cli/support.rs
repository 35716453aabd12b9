//! What the tests of the command line share.

use isobox_tests::{Outcome, Project};
use nix::pty::openpty;
use serde_json::Value;
use std::fs::File;
use std::io::{self, Read, Write};
use std::process::Stdio;

/// The document that a command printed.
pub(crate) fn document(outcome: &Outcome) -> Value {
    serde_json::from_str(&outcome.stdout).unwrap_or_else(|error| panic!("{error}: {outcome:?}"))
}

/// Runs a tool call that must succeed; the id of its task.
pub(crate) fn tool(project: &Project, script: &str) -> String {
    let tool = project.isobox(&["tool", "--", "sh", "-c", script]);
    assert_eq!(tool.code, 0, "{tool:?}");
    task_of(&tool)
}

/// The task that a command said that it completed.
pub(crate) fn task_of(outcome: &Outcome) -> String {
    let line = outcome.stderr.lines().find(|line| line.contains(": completed outcome="));
    let line = line.unwrap_or_else(|| panic!("no completion in {outcome:?}"));
    line.split([' ', ':']).find(|word| word.starts_with("task-")).expect("an id").to_owned()
}

/// Asserts the exit code, and that each of `words` is on standard error.
pub(crate) fn assert_refused(outcome: &Outcome, code: i32, words: &[&str]) {
    assert_eq!(outcome.code, code, "{outcome:?}");
    for word in words {
        assert!(outcome.stderr.contains(word), "`{word}` is not in {outcome:?}");
    }
}

/// Runs isobox with standard output and standard error on a terminal, and standard input too if something is `typed`; its
/// exit code, and what the terminal showed, what was typed included.
pub(crate) fn terminal(project: &Project, arguments: &[&str], typed: Option<&str>) -> (i32, String) {
    let pty = openpty(None, None).expect("a terminal");
    let copy = || pty.slave.try_clone().expect("a copy");
    let mut command = project.isobox_command(arguments);
    command.stdin(typed.map_or_else(Stdio::null, |_| copy().into())).stdout(copy()).stderr(copy());
    let mut child = command.spawn().expect("run isobox");
    drop((command, pty.slave));
    let mut master = File::from(pty.master);
    master.write_all(typed.unwrap_or_default().as_bytes()).expect("type");
    let mut shown = Vec::new();
    // A terminal whose last program has gone reads as EIO; see pty(7).
    let read = master.read_to_end(&mut shown);
    assert!(read.is_ok() || read.is_err_and(|error: io::Error| error.raw_os_error() == Some(nix::libc::EIO)));
    let code = child.wait().expect("wait").code().expect("an exit code");
    (code, String::from_utf8(shown).expect("text"))
}
