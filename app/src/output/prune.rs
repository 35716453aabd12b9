//! What a prune would remove, or removed, and why the rest stays.

use super::text::{self, counted};
use super::{columns, record_json};
use crate::use_case::list::Listed;
use crate::use_case::prune::Plan;
use isobox_domain::pruning::Swept;
use isobox_domain::timestamp::Timestamp;
use serde_json::{Value, json};
use std::io::{self, Write};

/// What a prune is told as.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Form {
    /// A line a record for people; ages are counted from this moment.
    Table(Timestamp),
    /// One document of schema `isobox.store-prune/v1`.
    Document,
}

/// Writes the records that go as they are found, so that memory does not grow with their number, and then the rest.
pub(crate) struct PruneWriter<W: Write> {
    out: W,
    form: Form,
    is_first: bool,
}

const BEGIN: &str = "{\"schema\":\"isobox.store-prune/v1\",\"dropped\":[";

impl<W: Write> PruneWriter<W> {
    /// Begins; nothing is written yet.
    pub(crate) const fn new(out: W, form: Form) -> Self {
        Self { out, form, is_first: true }
    }

    /// Adds a record that goes.
    pub(crate) fn add(&mut self, listed: &Listed) -> io::Result<()> {
        let is_first = std::mem::take(&mut self.is_first);
        let out = &mut self.out;
        match self.form {
            Form::Table(now) => {
                if is_first {
                    writeln!(out, "to drop:")?;
                    writeln!(out, "{}", line(["TASK", "AGE", "STATE", "OUTCOME", "CHANGES"], "COMMAND"))?;
                }
                row(out, listed, now)
            }
            Form::Document => {
                let begin = if is_first { BEGIN } else { "," };
                write!(out, "{begin}\n{}", doomed(listed))
            }
        }
    }

    /// Tells people what stays and why, and how many go.
    pub(crate) fn planned(&mut self, plan: &Plan) -> io::Result<()> {
        match self.form {
            Form::Table(_) => planned(&mut self.out, plan).and_then(|()| self.out.flush()),
            Form::Document => Ok(()),
        }
    }

    /// Ends. `removed` is what was removed, if it was wanted, and how many records were spared because somebody decided
    /// something about them meanwhile.
    pub(crate) fn finish(mut self, plan: &Plan, removed: Option<&(u64, Swept)>) -> io::Result<()> {
        match (self.form, removed) {
            (Form::Document, _) => {
                let begin = if self.is_first { BEGIN } else { "\n" };
                let rest = rest(plan, removed).to_string();
                writeln!(self.out, "{begin}],{}", rest.trim_start_matches('{'))?;
            }
            (Form::Table(_), Some((_, swept))) => self::swept(&mut self.out, swept)?,
            (Form::Table(_), None) => {}
        }
        self.out.flush()
    }
}

fn row(out: &mut dyn Write, listed: &Listed, now: Timestamp) -> io::Result<()> {
    let record = &listed.record;
    let (task, age) = (text::attempt(record, listed.standing), text::age(record.created_at, now));
    let (state, changes) = (listed.state().name(), text::changes(record));
    let fields = [task.as_str(), &age, state, record.outcome.name(), &changes];
    writeln!(out, "{}", line(fields, &text::command(&record.command)))
}

fn line([task, age, state, outcome, changes]: [&str; 5], command: &str) -> String {
    let line = format!("{task:<23}  {age:>4}  {state:<11}  {outcome:<22}  {changes:<12}  {command}");
    columns::of_stdout().map_or(line.clone(), |columns| columns::cut(&line, columns))
}

fn planned(out: &mut dyn Write, plan: &Plan) -> io::Result<()> {
    let kept: u64 = plan.kept.values().sum();
    let reasons: Vec<String> = plan.kept.iter().map(|(keeps, count)| format!("{count} {}", keeps.name())).collect();
    let reasons = if reasons.is_empty() { String::new() } else { format!(" ({})", reasons.join(", ")) };
    writeln!(out, "{:<9} {}{reasons}", "kept", counted(kept, "record"))?;
    writeln!(out, "{:<9} {}", "dropped", counted(plan.doomed.len() as u64, "record"))
}

fn swept(out: &mut dyn Write, swept: &Swept) -> io::Result<()> {
    let freed = swept.bytes_before.saturating_sub(swept.bytes_after) + swept.large_bytes;
    writeln!(out, "{:<9} {}, {}", "removed", counted(swept.objects, "object"), counted(freed, "byte"))
}

/// For programs: a record that goes.
fn doomed(listed: &Listed) -> Value {
    let record = &listed.record;
    json!({
        "id": record.task.to_string(),
        "record": listed.digest.to_string(),
        "attempt": record.attempt,
        "created_at": record.created_at.to_string(),
        "state": listed.state().name(),
        "outcome": record.outcome.name(),
        "command": record_json::command(&record.command),
    })
}

/// For programs: what follows the records that go.
fn rest(plan: &Plan, removed: Option<&(u64, Swept)>) -> Value {
    let kept: serde_json::Map<String, Value> =
        plan.kept.iter().map(|(keeps, count)| (keeps.name().to_owned(), (*count).into())).collect();
    json!({
        "applied": removed.is_some(),
        "kept": kept,
        "is_partial": plan.is_partial,
        "spared": removed.map(|(spared, _)| spared),
        "objects_removed": removed.map(|(_, swept)| swept.objects),
        "bytes_before": removed.map(|(_, swept)| swept.bytes_before + swept.large_bytes),
        "bytes_after": removed.map(|(_, swept)| swept.bytes_after),
    })
}
