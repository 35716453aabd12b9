//! What commands about the log tell, for people and for programs.

use crate::use_case::audit::check::Checked;
use isobox_domain::content::hex;
use isobox_domain::escape::Escaped;
use isobox_domain::log::{Checkpoint, LogLeaf};
use isobox_ports::{Extended, LaneGap, Rebuilt};
use isobox_store_format::log::Proof;
use serde_json::{Value, json};
use std::io::{self, Write};

/// A lane that was not logged to its end, as a sentence.
pub(crate) fn gap(gap: &LaneGap) -> String {
    let LaneGap { lane, first, last } = gap;
    let missing = if first == last { format!("COMMIT {first} is") } else { format!("COMMITs {first} to {last} are") };
    format!(
        "lane {lane} was logged up to a gap: {missing} missing; `isobox verify` says what is known, and \
         --accept-losses logs what is gone as lost, for good"
    )
}

/// A document of schema `isobox.audit-checkpoint/v1`.
pub(crate) fn checkpoint_document(extended: &Extended) -> Value {
    let gaps = extended.gaps.iter().map(|gap| json!({ "lane": gap.lane, "first": gap.first, "last": gap.last }));
    json!({
        "schema": "isobox.audit-checkpoint/v1",
        "checkpoint": String::from_utf8_lossy(&extended.note),
        "size": extended.head.size,
        "root": hex(&extended.head.root.0),
        "added": extended.added,
        "lost": extended.lost,
        "gaps": gaps.collect::<Vec<_>>(),
    })
}

/// A document of schema `isobox.audit-rebuild/v1`.
pub(crate) fn rebuild_document(checkpoint: &Checkpoint, rebuilt: &Rebuilt) -> Value {
    json!({
        "schema": "isobox.audit-rebuild/v1",
        "size": checkpoint.head.size,
        "root": hex(&checkpoint.head.root.0),
        "files": rebuilt.files,
        "written": rebuilt.written,
    })
}

/// For people: whether a proof holds, and what it is about.
pub(crate) fn check(out: &mut dyn Write, checked: &Checked) -> io::Result<()> {
    let mut line = |name: &str, text: String| writeln!(out, "{name:<13} {text}");
    match &checked.refuted {
        None => line("proof", "holds".to_owned())?,
        Some(why) => return line("proof", format!("does not hold: {}", Escaped(why.as_bytes()))),
    }
    let Some(proof @ Proof { leaf, index, .. }) = &checked.proof else { return Ok(()) };
    line("task", leaf.task.to_string())?;
    line("of", format!("{}, attempt {}", leaf.kind.name(), leaf.attempt))?;
    line("record", leaf.record.to_string())?;
    line("commit", format!("{}, number {} of lane {}, {}", leaf.commit, leaf.sequence, leaf.lane, leaf.time))?;
    if let Ok(checkpoint) = proof.checkpoint() {
        line("leaf", format!("{index} of {}", checkpoint.head.size))?;
        line("log", Escaped(checkpoint.origin.as_bytes()).to_string())?;
    }
    if let Some(key) = &checked.key {
        line("signed by", Escaped(key.to_string().as_bytes()).to_string())?;
    }
    checked.older.map_or(Ok(()), |size| line("since", format!("the older checkpoint, of {size}, is of its beginning")))
}

/// A document of schema `isobox.audit-check/v1`.
pub(crate) fn check_document(checked: &Checked) -> Value {
    let checkpoint = checked.proof.as_ref().and_then(|proof| proof.checkpoint().ok());
    json!({
        "schema": "isobox.audit-check/v1",
        "holds": checked.refuted.is_none(),
        "reason": checked.refuted,
        "leaf": checked.proof.as_ref().map(|proof| leaf(&proof.leaf)),
        "index": checked.proof.as_ref().map(|proof| proof.index),
        "size": checkpoint.as_ref().map(|checkpoint| checkpoint.head.size),
        "root": checkpoint.as_ref().map(|checkpoint| hex(&checkpoint.head.root.0)),
        "origin": checkpoint.as_ref().map(|checkpoint| &checkpoint.origin),
        "key": checked.key.as_ref().map(ToString::to_string),
        "since": checked.older,
    })
}

fn leaf(leaf: &LogLeaf) -> Value {
    json!({
        "kind": leaf.kind.name(),
        "task": leaf.task.to_string(),
        "attempt": leaf.attempt,
        "record": leaf.record.to_string(),
        "commit": leaf.commit.to_string(),
        "lane": leaf.lane,
        "sequence": leaf.sequence,
        "committed_at": leaf.time.to_string(),
    })
}
