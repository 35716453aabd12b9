//! The table and the documents of `list`.

use crate::output::{columns, record_json, text};
use crate::use_case::find::{Found, Rest};
use crate::use_case::list::Listed;
use isobox_domain::listing::SortKey;
use isobox_domain::record::TaskRecord;
use isobox_domain::task_state::{Standing, TaskState};
use isobox_domain::timestamp::Timestamp;
use serde_json::{Map, Value, json};
use std::io::{self, Write};

/// What a listing is written as.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Form {
    /// A line each, for people.
    Table(Layout),
    /// One document of schema `isobox.list/v1`.
    Document,
    /// A document of schema `isobox.task/v1` a line.
    Lines,
}

/// Writes Tasks as they come, so that memory does not grow with their number.
pub(crate) struct ListWriter<W: Write> {
    out: W,
    form: Form,
    is_empty: bool,
}

/// How a Task is told in the table.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Layout {
    /// What ages are counted from.
    pub(crate) now: Timestamp,
    /// How wide the terminal is; `None` where there is none.
    pub(crate) columns: Option<usize>,
    /// What they are ordered by: that is told of each.
    pub(crate) key: SortKey,
}

/// The columns before that of the command, with the blanks behind them, but for the one of what they are ordered by.
const BEFORE_COMMAND: usize = 76;

/// The columns of the task, with the blanks behind them.
const TASK: usize = 23;

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
    /// Begins a listing. Nothing is written before there is something to write.
    pub(crate) const fn new(out: W, form: Form) -> Self {
        Self { out, form, is_empty: true }
    }

    /// Adds a Task.
    pub(crate) fn add(&mut self, found: Found<'_>) -> io::Result<()> {
        let is_first = std::mem::take(&mut self.is_empty);
        let out = &mut self.out;
        match self.form {
            Form::Table(layout) => {
                if is_first {
                    let (title, _) = measure(layout.key);
                    writeln!(out, "{}", layout.line(["TASK", title, "STATE", "OUTCOME", "CHANGES"], "COMMAND"))?;
                }
                writeln!(out, "{}", row(found, layout))
            }
            Form::Document if is_first => write!(out, "{BEGIN}\n{}", Value::Object(document(found))),
            Form::Document => write!(out, ",\n{}", Value::Object(document(found))),
            Form::Lines => {
                let mut line = Map::from_iter([("schema".to_owned(), json!("isobox.task/v1"))]);
                line.extend(document(found));
                writeln!(out, "{}", Value::Object(line))?;
                // Whoever reads it need not wait for the next one.
                out.flush()
            }
        }
    }

    /// Ends the listing, of which `rest` was left out; whether anything was in it.
    pub(crate) fn finish(mut self, rest: Rest) -> io::Result<Listing> {
        if let Form::Document = self.form {
            let begin = if self.is_empty { BEGIN } else { "\n" };
            let Rest { not_shown, not_looked_at } = rest;
            writeln!(self.out, "{begin}],\"not_shown\":{not_shown},\"not_looked_at\":{not_looked_at}}}")?;
        }
        self.out.flush()?;
        Ok(if self.is_empty { Listing::Empty } else { Listing::HasTasks })
    }
}

const BEGIN: &str = "{\"schema\":\"isobox.list/v1\",\"tasks\":[";

/// What the limit left out, for people; `None` if that is nothing.
pub(crate) fn left_out(rest: Rest) -> Option<String> {
    let told = match rest {
        Rest { not_shown: 0, not_looked_at: 0 } => return None,
        Rest { not_shown, not_looked_at: 0 } => format!("{} not shown", text::counted(not_shown, "more task")),
        Rest { not_shown: 0, not_looked_at } => format!("{} not searched", text::counted(not_looked_at, "more task")),
        Rest { not_shown, not_looked_at } => {
            format!("{} not shown, {not_looked_at} not searched", text::counted(not_shown, "more task"))
        }
    };
    Some(format!("{told}; --limit takes a number or `all`"))
}

/// The title of the column of what Tasks are ordered by, and its width.
const fn measure(key: SortKey) -> (&'static str, usize) {
    match key {
        SortKey::Time | SortKey::Changes => ("AGE", 4),
        SortKey::Duration => ("DURATION", 8),
        SortKey::Output => ("OUTPUT", 10),
        SortKey::Memory => ("MEMORY", 10),
    }
}

fn row(found: Found<'_>, layout: Layout) -> String {
    let (record, state, standing) = stands(found);
    let outcome = if state == TaskState::Running { "-" } else { record.outcome.name() };
    let task = text::attempt(record, standing);
    let measured = match (layout.key, found) {
        (SortKey::Time | SortKey::Changes, _) => text::age(record.created_at, layout.now),
        (_, Found::Open(..)) => "-".to_owned(),
        (SortKey::Duration, _) => text::duration(layout.key.value(record)),
        (SortKey::Output | SortKey::Memory, _) => text::bytes(layout.key.value(record)),
    };
    let changes = text::changes(record);
    layout.line([&task, &measured, state.name(), outcome, &changes], &text::command(&record.command))
}

fn stands(found: Found<'_>) -> (&TaskRecord, TaskState, Standing) {
    match found {
        Found::Open(draft, state) => (draft, state, Standing::Newest),
        Found::Recorded(listed) => (&listed.record, listed.state(), listed.standing),
    }
}

impl Layout {
    /// A line of the table. On a terminal without room for it, the command has a line of its own; on a narrow one, what
    /// came of it has one too. What is too long for that is cut.
    fn line(self, [task, measured, state, outcome, changes]: [&str; 5], command: &str) -> String {
        // The mark of an attempt takes its room from what comes behind it.
        let (_, width) = measure(self.key);
        let room = (TASK + width).saturating_sub(task.chars().count() + 1);
        let before = format!("{task} {measured:>room$}  {state:<11}  {outcome:<22}  {changes:<12}  ");
        match self.columns {
            None => before + command,
            // Not even the columns before it have room.
            Some(columns) if columns < BEFORE_COMMAND + width => {
                let first = format!("{task}  {measured}  {state}");
                let lines = [first, format!("  {outcome}  {changes}"), format!("  {command}")];
                lines.map(|line| columns::cut(&line, columns)).join("\n")
            }
            Some(columns) if columns < BEFORE_COMMAND + width + ROOM_FOR_COMMAND => {
                format!("{}\n  {}", before.trim_end(), columns::cut(command, columns.saturating_sub(2)))
            }
            Some(columns) => {
                let room = columns.saturating_sub(before.chars().count());
                before + &columns::cut(command, room)
            }
        }
    }
}

fn document(found: Found<'_>) -> Map<String, Value> {
    match found {
        Found::Open(draft, state) => fields(draft, state, None),
        Found::Recorded(listed) => fields(&listed.record, listed.state(), Some(listed)),
    }
}

/// What is told of a Task. Before it is on record, that is less: fields that have no value yet are null.
fn fields(record: &TaskRecord, state: TaskState, listed: Option<&Listed>) -> Map<String, Value> {
    let recorded = listed.map(|listed| &listed.record);
    let events = listed.map_or(&[][..], |listed| &listed.events);
    let fields = json!({
        "id": record.task.to_string(),
        "record": listed.map(|listed| listed.digest.to_string()),
        "attempt": record.attempt,
        "kind": record_json::kind(record.kind),
        "backend": record.policy.backend.name(),
        "created_at": record.created_at.to_string(),
        "started_at": record.started_at.map(|moment| moment.to_string()),
        "ended_at": recorded.map(|record| record.ended_at.to_string()),
        "command": record_json::command(&record.command),
        "outcome": recorded.map(|record| record.outcome.name()),
        "exit_code": recorded.and_then(|record| record.exit).map(isobox_domain::outcome::Exit::passed_on),
        "changes": recorded.and_then(|record| record.artifacts.change_set).map(|set| record_json::changes(&set)),
        "output_bytes": recorded.map(|record| SortKey::Output.value(record)),
        "peak_memory_bytes": recorded.and_then(|record| record.usage.peak_memory_bytes),
        "promotion": record_json::promotion(events),
        "state": state.name(),
    });
    match fields {
        Value::Object(fields) => fields,
        _ => Map::new(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_mark_of_an_attempt_moves_no_column() {
        let layout = Layout { now: Timestamp::nearest(0), columns: None, key: SortKey::Time };
        let line = |task: &str, age: &str| layout.line([task, age, "superseded", "success", "-"], "true");
        let plain = line("task-0123456789abcdef", "12m");
        assert_eq!(plain.len(), BEFORE_COMMAND + measure(SortKey::Time).1 + "true".len());
        for marked in [line("task-0123456789abcdef#2", "12m"), line("task-0123456789abcdef#12", "9d")] {
            assert_eq!(marked.find("superseded"), plain.find("superseded"));
        }
        assert!(line("task-0123456789abcdef#123", "365d").starts_with("task-0123456789abcdef#123 365d  "));
    }

    #[test]
    fn no_line_is_longer_than_the_terminal() {
        let command = "cargo test --workspace --all-targets --all-features";
        for columns in [30, 40, 60, 79, 80, 100, 120] {
            let layout = Layout { now: Timestamp::nearest(0), columns: Some(columns), key: SortKey::Memory };
            let told =
                layout.line(["task-0123456789abcdef", "1000.0 MiB", "superseded", "success", "+1 ~2 -3"], command);
            assert!(told.lines().all(|line| line.chars().count() <= columns), "{columns}: {told}");
        }
    }
}
