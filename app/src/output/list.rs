//! The table and the document of `list`.

use crate::output::{record_json, text};
use crate::use_case::list::Listed;
use isobox_domain::record::TaskRecord;
use isobox_domain::task_state::TaskState;
use isobox_domain::timestamp::Timestamp;
use serde_json::{Value, json};
use std::io::{self, Write};

/// Writes records as they come, so that memory does not grow with their number.
pub(crate) enum ListWriter<W: Write> {
    /// A line each, for people.
    Table {
        /// Where it goes.
        out: W,
        /// What ages are counted from.
        now: Timestamp,
        /// Most characters of a command; `None` for all.
        room: Option<usize>,
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

/// Columns of the table before the command.
const BEFORE_COMMAND: usize = 80;
/// Characters of a command that are shown however narrow the terminal is.
const SHORTEST_COMMAND: usize = 30;

/// What was listed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Listing {
    /// Nothing.
    Empty,
    /// At least one Task.
    HasTasks,
}

impl<W: Write> ListWriter<W> {
    /// A table, for a terminal with so many columns, or for none.
    pub(crate) fn table(out: W, now: Timestamp, columns: Option<usize>) -> Self {
        let room = columns.map(|columns| columns.saturating_sub(BEFORE_COMMAND).max(SHORTEST_COMMAND));
        Self::Table { out, now, room, is_empty: true }
    }

    /// A document.
    pub(crate) fn document(mut out: W) -> io::Result<Self> {
        out.write_all(b"{\"schema\":\"isobox.list/v1\",\"tasks\":[")?;
        Ok(Self::Document { out, is_empty: true })
    }

    /// Adds a record.
    pub(crate) fn add(&mut self, listed: &Listed) -> io::Result<()> {
        let row = |now| row(&listed.record, TaskState::of(&listed.record, &listed.events), now);
        self.write(row, || recorded(listed))
    }

    /// Adds a Task that is not on record yet, by the draft of its record.
    pub(crate) fn add_open(&mut self, draft: &TaskRecord, state: TaskState) -> io::Result<()> {
        self.write(|now| row(draft, state, now), || open(draft, state))
    }

    fn write(&mut self, row: impl Fn(Timestamp) -> String, document: impl Fn() -> Value) -> io::Result<()> {
        match self {
            Self::Table { out, now, room, is_empty } => {
                if std::mem::take(is_empty) {
                    writeln!(
                        out,
                        "{:<21}  {:>4}  {:<11}  {:<22}  {:<12}  COMMAND",
                        "TASK", "AGE", "STATE", "OUTCOME", "CHANGES"
                    )?;
                }
                writeln!(out, "{}", cropped(row(*now), *room))
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

/// A row with at most so many characters of its command.
fn cropped(mut row: String, room: Option<usize>) -> String {
    let last = room.and_then(|room| row.char_indices().nth(BEFORE_COMMAND + room.saturating_sub(1)));
    if let Some((index, last)) = last
        && index + last.len_utf8() < row.len()
    {
        row.truncate(index);
        row.push('…');
    }
    row
}

fn row(record: &TaskRecord, state: TaskState, now: Timestamp) -> String {
    format!(
        "{:<21}  {:>4}  {:<11}  {:<22}  {:<12}  {}",
        record.task.to_string(),
        text::age(record.created_at, now),
        state.name(),
        if state == TaskState::Running { "-" } else { record.outcome.name() },
        text::changes(text::summary(record)),
        text::command(&record.command),
    )
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
        "state": TaskState::of(record, &listed.events).name(),
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
    fn a_row_fits_its_terminal_and_is_whole_elsewhere() {
        let row = "x".repeat(BEFORE_COMMAND) + "a\u{e9}cdef";
        assert_eq!(cropped(row.clone(), None), row);
        assert_eq!(cropped(row.clone(), Some(6)), row);
        assert_eq!(cropped(row.clone(), Some(3)), "x".repeat(BEFORE_COMMAND) + "a\u{e9}\u{2026}");
        assert_eq!(cropped("short".to_owned(), Some(3)), "short");
    }
}
