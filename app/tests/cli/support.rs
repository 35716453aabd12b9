//! What the tests of the command line share.

use isobox_tests::{Outcome, Project};
use serde_json::Value;

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
pub(crate) fn assert_told(outcome: &Outcome, code: i32, words: &[&str]) {
    assert_eq!(outcome.code, code, "{outcome:?}");
    for word in words {
        assert!(outcome.stderr.contains(word), "`{word}` is not in {outcome:?}");
    }
}
