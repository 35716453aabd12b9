//! The table and the document of `list`.

use crate::output::{columns, record_json, text};
use crate::use_case::list::Listed;
use isobox_domain::record::TaskRecord;
use isobox_domain::task_state::{Standing, TaskState};
use isobox_domain::timestamp::Timestamp;
use serde_json::{Value, json};
use std::io::{self, Write};

/// Writes records as they come, so that memory does not grow with their number.
pub(crate) enum ListWriter<W: Write> {
    /// A line each, for people.
    Table {
        /// Where it goes.
        out: W,
        /// How a line is laid out.
        layout: Layout,
        /// Whether there is a record yet.
        is_empty: bool,
    },
    /// One document of schema `isobox.list/v1`.
    Document {
        /// Where it goes.
        out: W,
        /// Whether there is a record yet.
        is_empty: bool,
    },
}

/// How a Task is told in the table.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Layout {
    /// What ages are counted from.
    pub(crate) now: Timestamp,
    /// How wide the terminal is; `None` where there is none.
    pub(crate) columns: Option<usize>,
}

/// The columns before that of the command, with the blanks behind them.
const BEFORE_COMMAND: usize = 80;

/// The columns of the task and its age.
const TASK_AND_AGE: usize = 27;

/// What a command needs at least to be told on the same line.
const ROOM_FOR_COMMAND: usize = 40;

/// What was listed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Listing {
    /// Nothing.
    Empty,
    /// At least one Task.
    HasTasks,
}

impl<W: Write> ListWriter<W> {
    /// A table.
    pub(crate) const fn table(out: W, layout: Layout) -> Self {
        Self::Table { out, layout, is_empty: true }
    }

    /// A document.
    pub(crate) fn document(mut out: W) -> io::Result<Self> {
        out.write_all(b"{\"schema\":\"isobox.list/v1\",\"tasks\":[")?;
        Ok(Self::Document { out, is_empty: true })
    }

    /// Adds a record.
    pub(crate) fn add(&mut self, listed: &Listed) -> io::Result<()> {
        let row = |layout| row(&listed.record, listed.state(), listed.standing, layout);
        self.write(row, || recorded(listed))
    }

    /// Adds a Task that is not on record yet, by the draft of its record.
    pub(crate) fn add_open(&mut self, draft: &TaskRecord, state: TaskState) -> io::Result<()> {
        self.write(|layout| row(draft, state, Standing::Newest, layout), || open(draft, state))
    }

    fn write(&mut self, row: impl Fn(Layout) -> String, document: impl Fn() -> Value) -> io::Result<()> {
        match self {
            Self::Table { out, layout, is_empty } => {
                if std::mem::take(is_empty) {
                    writeln!(out, "{}", layout.line(["TASK", "AGE", "STATE", "OUTCOME", "CHANGES"], "COMMAND"))?;
                }
                writeln!(out, "{}", row(*layout))
            }
            Self::Document { out, is_empty } => {
                let comma = if std::mem::take(is_empty) { "" } else { "," };
                write!(out, "{comma}\n{}", document())
            }
        }
    }

    /// Ends the listing; whether anything was in it.
    pub(crate) fn finish(self) -> io::Result<Listing> {
        let (mut out, end, is_empty): (W, &[u8], bool) = match self {
            Self::Table { out, is_empty, .. } => (out, b"", is_empty),
            Self::Document { out, is_empty: true } => (out, b"]}\n", true),
            Self::Document { out, is_empty: false } => (out, b"\n]}\n", false),
        };
        out.write_all(end)?;
        out.flush()?;
        Ok(if is_empty { Listing::Empty } else { Listing::HasTasks })
    }
}

fn row(record: &TaskRecord, state: TaskState, standing: Standing, layout: Layout) -> String {
    let outcome = if state == TaskState::Running { "-" } else { record.outcome.name() };
    let (task, age) = (text::attempt(record, standing), text::age(record.created_at, layout.now));
    let changes = text::changes(text::summary(record));
    layout.line([&task, &age, state.name(), outcome, &changes], &text::command(&record.command))
}

impl Layout {
    /// A line of the table. On a terminal without room for it, the command has a line of its own, and what is too long for
    /// that is cut.
    fn line(self, [task, age, state, outcome, changes]: [&str; 5], command: &str) -> String {
        // The mark of an attempt takes its room from the age.
        let room = TASK_AND_AGE.saturating_sub(task.chars().count() + 1);
        let before = format!("{task} {age:>room$}  {state:<11}  {outcome:<22}  {changes:<12}  ");
        match self.columns {
            None => before + command,
            Some(columns) if columns < BEFORE_COMMAND + ROOM_FOR_COMMAND => {
                format!("{}\n  {}", before.trim_end(), columns::cut(command, columns.saturating_sub(2)))
            }
            Some(columns) => {
                let room = columns.saturating_sub(before.chars().count());
                before + &columns::cut(command, room)
            }
        }
    }
}

fn recorded(listed: &Listed) -> Value {
    let record = &listed.record;
    json!({
        "id": record.task.to_string(),
        "record": listed.digest.to_string(),
        "attempt": record.attempt,
        "kind": record_json::kind(record.kind),
        "created_at": record.created_at.to_string(),
        "ended_at": record.ended_at.to_string(),
        "command": record_json::command(&record.command),
        "outcome": record.outcome.name(),
        "exit_code": record.exit.map(isobox_domain::outcome::Exit::passed_on),
        "changes": record.artifacts.change_set.map(|set| record_json::changes(&set)),
        "promotion": record_json::promotion(&listed.events),
        "state": listed.state().name(),
    })
}

/// What is known of a Task before it is on record: the fields of one that is, as far as they have a value yet.
fn open(draft: &TaskRecord, state: TaskState) -> Value {
    json!({
        "id": draft.task.to_string(),
        "record": null,
        "attempt": draft.attempt,
        "kind": record_json::kind(draft.kind),
        "created_at": draft.created_at.to_string(),
        "ended_at": null,
        "command": record_json::command(&draft.command),
        "outcome": null,
        "exit_code": null,
        "changes": null,
        "promotion": record_json::promotion(&[]),
        "state": state.name(),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_mark_of_an_attempt_moves_no_column() {
        let layout = Layout { now: Timestamp::nearest(0), columns: None };
        let line = |task: &str, age: &str| layout.line([task, age, "superseded", "success", "-"], "true");
        let plain = line("task-0123456789abcdef", "12m");
        assert_eq!(plain.len(), BEFORE_COMMAND + "true".len());
        for marked in [line("task-0123456789abcdef#2", "12m"), line("task-0123456789abcdef#12", "9d")] {
            assert_eq!(marked.find("superseded"), plain.find("superseded"));
        }
        assert!(line("task-0123456789abcdef#123", "365d").starts_with("task-0123456789abcdef#123 365d  "));
    }
}
