//! What a prune would remove, or removed, and why the rest stays.

use super::text::{self, counted};
use super::{columns, record_json};
use crate::use_case::list::Listed;
use crate::use_case::prune::Plan;
use isobox_domain::pruning::Swept;
use isobox_domain::timestamp::Timestamp;
use serde_json::{Value, json};
use std::io::{self, Write};

/// The head of the table of what goes.
pub(crate) fn head(out: &mut dyn Write) -> io::Result<()> {
    writeln!(out, "to drop:")?;
    writeln!(out, "{}", line(["TASK", "AGE", "STATE", "OUTCOME", "CHANGES"], "COMMAND"))
}

/// A record that goes.
pub(crate) fn row(out: &mut dyn Write, listed: &Listed, now: Timestamp) -> io::Result<()> {
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

/// What stays and why, and how many go.
pub(crate) fn plan(out: &mut dyn Write, plan: &Plan) -> io::Result<()> {
    let kept: u64 = plan.kept.values().sum();
    let reasons: Vec<String> = plan.kept.iter().map(|(keeps, count)| format!("{count} {}", keeps.name())).collect();
    let reasons = if reasons.is_empty() { String::new() } else { format!(" ({})", reasons.join(", ")) };
    writeln!(out, "{:<9} {}{reasons}", "kept", counted(kept, "record"))?;
    writeln!(out, "{:<9} {}", "dropped", counted(plan.doomed.len() as u64, "record"))
}

/// What was removed.
pub(crate) fn swept(out: &mut dyn Write, swept: &Swept) -> io::Result<()> {
    let freed = swept.bytes_before.saturating_sub(swept.bytes_after) + swept.large_bytes;
    writeln!(out, "{:<9} {}, {}", "removed", counted(swept.objects, "object"), counted(freed, "byte"))
}

/// For programs: a record that goes.
pub(crate) fn doomed(listed: &Listed) -> Value {
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

/// For programs: a document of schema `isobox.store-prune/v1`. `removed` is what was removed, if it was wanted, and how many
/// records were spared because somebody decided something about them meanwhile.
pub(crate) fn document(plan: &Plan, records: Vec<Value>, removed: Option<&(u64, Swept)>) -> Value {
    let kept: serde_json::Map<String, Value> =
        plan.kept.iter().map(|(keeps, count)| (keeps.name().to_owned(), (*count).into())).collect();
    json!({
        "schema": "isobox.store-prune/v1",
        "applied": removed.is_some(),
        "kept": kept,
        "dropped": records,
        "is_partial": plan.is_partial,
        "spared": removed.map(|(spared, _)| spared),
        "objects_removed": removed.map(|(_, swept)| swept.objects),
        "bytes_before": removed.map(|(_, swept)| swept.bytes_before + swept.large_bytes),
        "bytes_after": removed.map(|(_, swept)| swept.bytes_after),
    })
}
