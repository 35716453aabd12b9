//! How much a store holds, for people and for programs.

use super::text::{self, counted};
use isobox_domain::measurement::{Amount, ContentKind, Files, Measurement, Unreferenced};
use serde_json::{Map, Value, json};
use std::io::{self, Write};

/// Attempts that are not over.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Attempts {
    /// Those that a process carries out.
    pub(crate) running: usize,
    /// Those whose isobox was killed.
    pub(crate) interrupted: usize,
}

/// For people: a table of kinds, then what they take.
pub(crate) fn text(out: &mut dyn Write, found: &Measurement, attempts: Attempts) -> io::Result<()> {
    writeln!(out, "{:<16} {:>10} {:>12} {:>12}", "HOLDS", "COUNT", "BYTES", "STORED")?;
    for kind in ContentKind::ALL {
        amount(out, &kind.name().replace('_', " "), found.of(kind))?;
    }
    amount(out, "all", found.total())?;
    writeln!(out)?;
    let ratio = |ratio: Option<f64>| ratio.map_or("-".to_owned(), |ratio| format!("{ratio:.2} : 1"));
    let Files { count, bytes } = found.referred;
    line(out, "referred to", &format!("{}, {}", counted(count, "time"), text::bytes(bytes)))?;
    line(out, "pruned", &counted(found.pruned_records, "record"))?;
    line(out, "deduplication", &ratio(found.dedup_ratio()))?;
    line(out, "compression", &ratio(found.compression_ratio()))?;
    writeln!(out)?;
    let places = &found.files;
    for (name, files) in [
        ("lanes", places.lanes),
        ("sealed packs", places.packs),
        ("large artifacts", places.large),
        ("tables", places.tables),
        ("other files", places.others),
    ] {
        line(out, name, &format!("{}, {}", counted(files.count, "file"), text::bytes(files.bytes)))?;
    }
    line(out, "on disk", &format!("{}, {}", counted(places.inodes(), "inode"), text::bytes(places.bytes())))?;
    let (running, interrupted) = (attempts.running, attempts.interrupted);
    line(out, "under way", &format!("{}, {interrupted} interrupted", counted(running as u64, "attempt")))?;
    writeln!(out)?;
    of_no_use(out, found.unreferenced)?;
    match found.unread_change_sets {
        0 => Ok(()),
        unread => {
            let told = format!("{} could not be read; `isobox verify` says why", counted(unread, "change set"));
            line(out, "left out", &told)
        }
    }
}

fn of_no_use(out: &mut dyn Write, unreferenced: Unreferenced) -> io::Result<()> {
    let Unreferenced { duplicates, abandoned, large, pruned, damaged_bytes } = unreferenced;
    line(out, "of no use", &text::bytes(unreferenced.bytes()))?;
    for (name, Amount { count, stored_bytes, .. }) in
        [("  copies", duplicates), ("  abandoned", abandoned), ("  large, unused", large), ("  pruned", pruned)]
    {
        line(out, name, &format!("{}, {}", counted(count, "piece"), text::bytes(stored_bytes)))?;
    }
    line(out, "  damaged", &text::bytes(damaged_bytes))
}

fn amount(out: &mut dyn Write, name: &str, Amount { count, raw_bytes, stored_bytes }: Amount) -> io::Result<()> {
    let (raw, stored) = (text::bytes(raw_bytes), text::bytes(stored_bytes));
    writeln!(out, "{name:<16} {count:>10} {raw:>12} {stored:>12}")
}

fn line(out: &mut dyn Write, name: &str, value: &str) -> io::Result<()> {
    writeln!(out, "{name:<16} {value}")
}

/// For programs: a document of schema `isobox.store-stat/v1`.
pub(crate) fn document(found: &Measurement, attempts: Attempts) -> Value {
    let kinds: Map<String, Value> =
        ContentKind::ALL.into_iter().map(|kind| (kind.name().to_owned(), amount_json(found.of(kind)))).collect();
    let (places, unreferenced) = (&found.files, &found.unreferenced);
    json!({
        "schema": "isobox.store-stat/v1",
        "kinds": kinds,
        "total": amount_json(found.total()),
        "pruned_records": found.pruned_records,
        "header_bytes": found.header_bytes,
        "referred": files_json(found.referred),
        "dedup_ratio": found.dedup_ratio().map(rounded),
        "compression_ratio": found.compression_ratio().map(rounded),
        "files": {
            "lanes": files_json(places.lanes),
            "packs": files_json(places.packs),
            "large": files_json(places.large),
            "tables": files_json(places.tables),
            "others": files_json(places.others),
        },
        "disk_bytes": places.bytes(),
        "inodes": places.inodes(),
        "unreferenced": {
            "duplicates": amount_json(unreferenced.duplicates),
            "abandoned": amount_json(unreferenced.abandoned),
            "large": amount_json(unreferenced.large),
            "pruned": amount_json(unreferenced.pruned),
            "damaged_bytes": unreferenced.damaged_bytes,
            "stored_bytes": unreferenced.bytes(),
        },
        "unread_change_sets": found.unread_change_sets,
        "attempts": { "running": attempts.running, "interrupted": attempts.interrupted },
    })
}

fn rounded(ratio: f64) -> f64 {
    (ratio * 1000.0).round() / 1000.0
}

fn amount_json(Amount { count, raw_bytes, stored_bytes }: Amount) -> Value {
    json!({ "count": count, "raw_bytes": raw_bytes, "stored_bytes": stored_bytes })
}

fn files_json(Files { count, bytes }: Files) -> Value {
    json!({ "count": count, "bytes": bytes })
}
