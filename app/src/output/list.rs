//! The table and the document of `list`.

use crate::output::{record_json, text};
use crate::use_case::list::Listed;
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
    pub(crate) const fn table(out: W, now: Timestamp) -> Self {
        Self::Table { out, now, is_empty: true }
    }

    /// A document.
    pub(crate) fn document(mut out: W) -> io::Result<Self> {
        out.write_all(b"{\"schema\":\"isobox.list/v1\",\"tasks\":[")?;
        Ok(Self::Document { out, is_empty: true })
    }

    /// Adds a record.
    pub(crate) fn add(&mut self, listed: &Listed) -> io::Result<()> {
        match self {
            Self::Table { out, now, is_empty } => {
                if std::mem::take(is_empty) {
                    writeln!(
                        out,
                        "{:<21}  {:>4}  {:<22}  {:<12}  {:<8}  COMMAND",
                        "TASK", "AGE", "OUTCOME", "CHANGES", "PROMOTED"
                    )?;
                }
                writeln!(out, "{}", row(listed, *now))
            }
            Self::Document { out, is_empty } => {
                let comma = if std::mem::take(is_empty) { "" } else { "," };
                write!(out, "{comma}\n{}", task(listed))
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

fn row(listed: &Listed, now: Timestamp) -> String {
    let record = &listed.record;
    let is_promoted = record_json::promotion(&listed.events)["state"] == "promoted";
    format!(
        "{:<21}  {:>4}  {:<22}  {:<12}  {:<8}  {}",
        record.task.to_string(),
        text::age(record.created_at, now),
        record.outcome.name(),
        text::changes(text::summary(record)),
        if is_promoted { "yes" } else { "-" },
        text::command(&record.command),
    )
}

fn task(listed: &Listed) -> Value {
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
    })
}
