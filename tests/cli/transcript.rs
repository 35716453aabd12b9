//! What commands print, piped and on a terminal of 80 columns, as one text to be compared with a file.

use crate::redaction::Redaction;
use isobox_tests::{Project, User, assert_snapshot, on_a_terminal, outcome};

/// The columns of the terminal.
const COLUMNS: u16 = 80;

/// Runs commands in a project and keeps what they print.
pub(crate) struct Transcript {
    /// Where they run.
    pub(crate) project: Project,
    /// What is said instead of what differs.
    pub(crate) redaction: Redaction,
    text: String,
}

impl Transcript {
    /// Of commands in `project`, as it is now.
    pub(crate) fn of(project: Project) -> Self {
        Self { redaction: Redaction::of(&project), project, text: String::new() }
    }

    /// Runs a command twice, piped and on the terminal. It must change nothing.
    pub(crate) fn look(&mut self, arguments: &[&str]) {
        self.piped(arguments);
        self.on_the_terminal(arguments);
    }

    /// Runs a command with its streams piped.
    pub(crate) fn piped(&mut self, arguments: &[&str]) {
        let ran = outcome(self.project.isobox_command(arguments).output().expect("run isobox"));
        self.heading(arguments, "piped", ran.code);
        for (name, stream) in [("", ran.stdout), ("---- standard error\n", ran.stderr)] {
            if !stream.is_empty() {
                self.add(name, &stream);
            }
        }
    }

    /// Runs a command with standard output and standard error on a terminal.
    pub(crate) fn on_the_terminal(&mut self, arguments: &[&str]) {
        let (code, shown) = on_a_terminal(self.project.isobox_command(arguments), COLUMNS);
        self.heading(arguments, &format!("on a terminal of {COLUMNS} columns"), code);
        self.add("", &shown.replace("\r\n", "\n"));
    }

    /// Adds a line of its own to the transcript.
    pub(crate) fn say(&mut self, line: &str) {
        self.text.push_str(&format!("#### {line}\n"));
    }

    /// What is printed, without what differs; nothing is kept of it.
    pub(crate) fn printed(&mut self, arguments: &[&str]) -> String {
        let ran = outcome(self.project.isobox_command(arguments).output().expect("run isobox"));
        self.redaction.redacted(&(ran.stdout + &ran.stderr))
    }

    /// Adds `text` below `title`.
    pub(crate) fn add(&mut self, title: &str, text: &str) {
        let text = self.redaction.redacted(text);
        self.text.push_str(title);
        self.text.push_str(&text);
        if !text.ends_with('\n') {
            self.text.push('\n');
        }
    }

    fn heading(&mut self, arguments: &[&str], how: &str, code: i32) {
        let typed: Vec<String> = arguments
            .iter()
            .map(|word| if word.contains([' ', '\n']) { format!("'{word}'") } else { (*word).to_owned() })
            .collect();
        let typed = self.redaction.redacted(&typed.join(" "));
        self.text.push_str(&format!("==== isobox {typed} ({how}): {code}\n"));
    }

    /// What was kept so far.
    pub(crate) fn text(&self) -> &str {
        &self.text
    }

    /// Fails where the transcript is not that of the file `name`.
    pub(crate) fn assert_as_kept(&self, name: &str) {
        assert_snapshot(format!("tests/cli/snapshots/{name}.txt"), &self.text);
    }
}

/// Every user as whom the same is printed.
pub(crate) fn users() -> &'static [User] {
    match nix::unistd::geteuid().is_root() {
        true => &[User::Current, User::Ordinary],
        false => &[User::Current],
    }
}
