//! What the tests of the command line share.

use isobox_tests::{Outcome, Project, outcome};
use serde_json::Value;
use std::fs;
use std::io::Read;
use std::process::{Child, Stdio};

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

/// A task that runs until its standard input ends or it is told to end, and its id.
pub(crate) struct Running {
    pub(crate) child: Child,
    pub(crate) task: String,
}

impl Running {
    /// Starts a tool call of `script`.
    pub(crate) fn start(project: &Project, script: &str) -> Self {
        Self::start_with(project, &[], script)
    }

    /// The same with flags.
    pub(crate) fn start_with(project: &Project, flags: &[&str], script: &str) -> Self {
        let mut command = project.isobox_command(&[&["tool"], flags, &["--", "sh", "-c", script]].concat());
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
        let mut child = command.spawn().expect("start isobox");
        let mut line = String::new();
        let stderr = child.stderr.as_mut().expect("standard error");
        // One byte at a time, so that what follows stays for whoever reads on.
        while !line.ends_with('\n') {
            let mut byte = [0];
            stderr.read_exact(&mut byte).expect("a first line");
            line.push(byte[0].into());
        }
        let task = line.split([' ', ':']).find(|word| word.starts_with("task-")).expect("an id").to_owned();
        Self { child, task }
    }

    pub(crate) fn wait(self) -> Outcome {
        outcome(self.child.wait_with_output().expect("wait for isobox"))
    }
}

/// Writes the user's own policy.
pub(crate) fn user_policy(project: &Project, text: &str) {
    let folder = project.home().join(".config/isobox");
    fs::create_dir_all(&folder).expect("a folder");
    fs::write(folder.join("config.yaml"), format!("api_version: isobox.dev/v1alpha1\nkind: UserPolicy\n{text}"))
        .expect("write");
}
