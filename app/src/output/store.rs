//! What became of a store as a whole.

use super::text::counted;
use isobox_domain::compaction::{Compaction, PassedBy};
use serde_json::{Value, json};
use std::io::{self, Write};

/// For people: what a compaction did.
pub(crate) fn compaction(out: &mut dyn Write, done: &Compaction) -> io::Result<()> {
    let Compaction { packs_before, bytes_before, packs_after, bytes_after, .. } = done;
    if *packs_before == 0 {
        return writeln!(out, "nothing to compact");
    }
    let (before, after) = (counted(*packs_before, "pack"), counted(*packs_after, "pack"));
    writeln!(
        out,
        "compacted {before} of {} into {after} of {}",
        counted(*bytes_before, "byte"),
        counted(*bytes_after, "byte")
    )
}

/// For programs: a document of schema `isobox.store-compact/v1`.
pub(crate) fn compaction_document(done: &Compaction) -> Value {
    let passed_by: Vec<Value> = done.passed_by.iter().map(left).collect();
    json!({
        "schema": "isobox.store-compact/v1",
        "packs_before": done.packs_before,
        "bytes_before": done.bytes_before,
        "packs_after": done.packs_after,
        "bytes_after": done.bytes_after,
        "passed_by": passed_by,
    })
}

fn left(pack: &PassedBy) -> Value {
    json!({ "file": pack.file, "reason": pack.reason })
}
