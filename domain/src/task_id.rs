//! Names of Tasks, and the ways people refer to one.

use crate::content::{ContentId, hex, parse_hex};
use std::fmt;
use std::str::FromStr;

/// The name of a Task: `task-` and 16 lower-case hex digits.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct TaskId([u8; 8]);

impl TaskId {
    /// Wraps eight random bytes.
    pub const fn new(bytes: [u8; 8]) -> Self {
        Self(bytes)
    }

    /// The eight bytes behind the name.
    pub const fn as_bytes(&self) -> &[u8; 8] {
        &self.0
    }

    /// The 16 hex digits without `task-`.
    pub fn to_hex(self) -> String {
        hex(&self.0)
    }
}

impl fmt::Display for TaskId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "task-{}", self.to_hex())
    }
}

impl fmt::Debug for TaskId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

/// How a person names a Task on the command line.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum TaskSelector {
    /// A full id.
    Full(TaskId),
    /// The first hex digits of an id, 1 to 15 of them, without `task-`.
    Prefix(String),
    /// The newest Task, or the n-th before it: `@latest`, `@latest~2`.
    Latest(u32),
    /// The digest of a record: `b3:` and hex.
    Record(ContentId),
    /// One attempt of the Task that is named before it: `task-0123#2`.
    Attempt {
        /// What names the Task.
        of: Box<TaskSelector>,
        /// Which attempt, from 1.
        attempt: u32,
    },
    /// The directory of a View: its own path is read by nobody, but its name and place select Task and store.
    ViewDirectory {
        /// The path as typed, without trailing slashes.
        path: String,
        /// The Task that its last component names.
        task: TaskId,
    },
}

/// A text names no Task.
#[derive(Debug, PartialEq, Eq, thiserror::Error)]
#[error(
    "`{found}` is no task: expected an id, a prefix of one, @latest, @latest~N, one of these with #N, b3:DIGEST or a record directory"
)]
pub struct ParseTaskSelectorError {
    found: String,
}

impl FromStr for TaskSelector {
    type Err = ParseTaskSelectorError;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let selector = if let Some(back) = text.strip_prefix("@latest").filter(|back| !back.contains('#')) {
            parse_back(back).map(Self::Latest)
        } else if text.starts_with("b3:") {
            text.parse().ok().map(Self::Record)
        } else if let Some((of, attempt)) = text.rsplit_once('#') {
            parse_attempt(of, attempt)
        } else if text.contains('/') || text == "." || text == ".." {
            parse_view_directory(text)
        } else {
            parse_id_or_prefix(text)
        };
        selector.ok_or_else(|| ParseTaskSelectorError { found: text.to_owned() })
    }
}

fn parse_back(suffix: &str) -> Option<u32> {
    match suffix.strip_prefix('~') {
        None => suffix.is_empty().then_some(0),
        Some("") => Some(1),
        Some(digits) => digits.bytes().all(|b| b.is_ascii_digit()).then(|| digits.parse().ok())?,
    }
}

fn parse_attempt(of: &str, attempt: &str) -> Option<TaskSelector> {
    let is_number = attempt.bytes().all(|byte| byte.is_ascii_digit()) && !attempt.starts_with('0');
    let attempt = attempt.parse().ok().filter(|_| is_number)?;
    match of.parse().ok()? {
        of @ (TaskSelector::Full(_) | TaskSelector::Prefix(_) | TaskSelector::Latest(_)) => {
            Some(TaskSelector::Attempt { of: Box::new(of), attempt })
        }
        _ => None,
    }
}

fn parse_view_directory(text: &str) -> Option<TaskSelector> {
    let path = text.trim_end_matches('/');
    let (_, name) = path.rsplit_once('/').unwrap_or(("", path));
    match parse_id_or_prefix(name)? {
        TaskSelector::Full(task) if name.starts_with("task-") => {
            Some(TaskSelector::ViewDirectory { path: path.to_owned(), task })
        }
        _ => None,
    }
}

fn parse_id_or_prefix(text: &str) -> Option<TaskSelector> {
    let digits = text.strip_prefix("task-").unwrap_or(text);
    if let Some(bytes) = parse_hex(digits) {
        return Some(TaskSelector::Full(TaskId(bytes)));
    }
    let is_prefix = (1..16).contains(&digits.len()) && digits.bytes().all(|b| matches!(b, b'0'..=b'9' | b'a'..=b'f'));
    is_prefix.then(|| TaskSelector::Prefix(digits.to_owned()))
}

/// One attempt of a Task, as it is shown and typed: `task-0123456789abcdef#2`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct AttemptName {
    /// The Task.
    pub task: TaskId,
    /// Which attempt, from 1.
    pub attempt: u32,
}

impl fmt::Display for AttemptName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}#{}", self.task, self.attempt)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const ID: TaskId = TaskId([1, 0x23, 0x45, 0x67, 0x89, 0xab, 0xcd, 0xef]);

    #[test]
    fn every_form_of_the_command_line_is_understood() {
        let attempt = |of, attempt| TaskSelector::Attempt { of: Box::new(of), attempt };
        assert_eq!(AttemptName { task: ID, attempt: 2 }.to_string().parse(), Ok(attempt(TaskSelector::Full(ID), 2)));
        let view = |path: &str| TaskSelector::ViewDirectory { path: path.into(), task: ID };
        for (text, expected) in [
            ("task-0123456789abcdef", TaskSelector::Full(ID)),
            ("0123456789abcdef", TaskSelector::Full(ID)),
            ("task-0123", TaskSelector::Prefix("0123".into())),
            ("0", TaskSelector::Prefix("0".into())),
            ("@latest", TaskSelector::Latest(0)),
            ("@latest~", TaskSelector::Latest(1)),
            ("@latest~12", TaskSelector::Latest(12)),
            (".isobox/tasks/task-0123456789abcdef/", view(".isobox/tasks/task-0123456789abcdef")),
            ("./task-0123456789abcdef", view("./task-0123456789abcdef")),
            ("task-0123456789abcdef#1", attempt(TaskSelector::Full(ID), 1)),
            ("0123#12", attempt(TaskSelector::Prefix("0123".into()), 12)),
            ("@latest#2", attempt(TaskSelector::Latest(0), 2)),
            ("@latest~1#2", attempt(TaskSelector::Latest(1), 2)),
        ] {
            assert_eq!(text.parse(), Ok(expected), "{text}");
        }
    }

    #[test]
    fn what_names_no_task_is_refused() {
        for text in [
            "",
            "task-",
            "0123#",
            "0123#0",
            "0123#+1",
            "0123#1#2",
            "#1",
            "@latest#",
            "a/b#1",
            "@latest~+1",
            "@latest~-1",
            "@new",
            "0123456789ABCDEF",
            "zz",
            ".",
            "..",
            "dir/",
            "b3:12",
        ] {
            assert_eq!(text.parse::<TaskSelector>(), Err(ParseTaskSelectorError { found: text.into() }));
        }
    }
}
