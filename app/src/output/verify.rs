//! What a verification found, for people and for programs.

use super::text::counted;
use isobox_domain::verification::{Affected, Defect, DefectKind, Thoroughness, Verification};
use serde_json::{Value, json};
use std::io::{self, Write};

/// For people: what was read, what is wrong and whom it touches, and what follows.
pub(crate) fn text(out: &mut dyn Write, how: Thoroughness, found: &Verification) -> io::Result<()> {
    let Verification { packs, records, events, read, read_bytes, .. } = found;
    writeln!(out, "{:<13} {}", "verified", name(how))?;
    let counts = [(*packs, "pack"), (*records, "record"), (*events, "event")];
    let counts: Vec<String> = counts.into_iter().filter(|(n, _)| *n > 0).map(|(n, of)| counted(n, of)).collect();
    writeln!(out, "{:<13} {}", "looked at", if counts.is_empty() { "nothing".into() } else { counts.join(", ") })?;
    writeln!(out, "{:<13} {}, {}", "read", counted(*read, "object"), counted(*read_bytes, "byte"))?;
    found.defects.iter().try_for_each(|defect| one(out, defect))?;
    if found.untold > 0 {
        writeln!(out, "… and {} more", found.untold)?;
    }
    let without_log = "; nobody can tell whether the newest are missing: there is no transparency log";
    writeln!(out, "{:<13} {}", "integrity", found.integrity().name())?;
    writeln!(out, "{:<13} {}{without_log}", "completeness", found.completeness().name())?;
    writeln!(out, "{:<13} {}: nothing is signed", "signature", found.signature().name())
}

pub(super) fn one(out: &mut dyn Write, defect: &Defect) -> io::Result<()> {
    match &defect.kind {
        DefectKind::Damaged { file, offset, reason, object } => {
            writeln!(out, "{:<13} {file} at {offset}: {reason}", "damaged")?;
            object.iter().try_for_each(|object| writeln!(out, "{:<13} held {object}", ""))?;
        }
        DefectKind::Missing { object } => writeln!(out, "{:<13} {object}", "missing")?,
        DefectKind::Gap { reason } => writeln!(out, "{:<13} {reason}", "gap")?,
    }
    for Affected { task, attempt, record } in &defect.records {
        writeln!(out, "{:<13} touches {task}, attempt {attempt}: {record}", "")?;
    }
    match defect.untold_records {
        0 => Ok(()),
        more => writeln!(out, "{:<13} and {more} more", ""),
    }
}

fn name(how: Thoroughness) -> String {
    match how {
        Thoroughness::Quick => "quickly: that everything is there; no content was read".to_owned(),
        Thoroughness::Sampled(sample) => {
            let (part, of) = sample.parts();
            format!("that everything is there, and part {part} of {of} of the content")
        }
        Thoroughness::Full => "that everything is there, and all content".to_owned(),
        Thoroughness::Deep => "deeply: all content, and what it means".to_owned(),
    }
}

/// For programs: a document of schema `isobox.verify/v1`.
pub(crate) fn document(how: Thoroughness, found: &Verification) -> Value {
    let defects: Vec<Value> = found.defects.iter().map(defect).collect();
    json!({
        "schema": "isobox.verify/v1",
        "thoroughness": thoroughness(how),
        "packs": found.packs,
        "entries": found.entries,
        "records": found.records,
        "events": found.events,
        "objects_read": found.read,
        "bytes_read": found.read_bytes,
        "verdicts": {
            "integrity": found.integrity().name(),
            "completeness": found.completeness().name(),
            "signature": found.signature().name(),
        },
        "defects": defects,
        "untold_defects": found.untold,
    })
}

fn thoroughness(how: Thoroughness) -> Value {
    match how {
        Thoroughness::Quick => json!({ "kind": "quick" }),
        Thoroughness::Sampled(sample) => {
            let (part, of) = sample.parts();
            json!({ "kind": "sampled", "part": part, "of": of })
        }
        Thoroughness::Full => json!({ "kind": "full" }),
        Thoroughness::Deep => json!({ "kind": "deep" }),
    }
}

pub(super) fn defect(defect: &Defect) -> Value {
    let records: Vec<Value> = defect.records.iter().map(affected).collect();
    match &defect.kind {
        DefectKind::Damaged { file, offset, reason, object } => json!({
            "kind": "damaged",
            "file": file,
            "offset": offset,
            "reason": reason,
            "object": object.map(|object| object.to_string()),
            "records": records,
            "untold_records": defect.untold_records,
        }),
        DefectKind::Missing { object } => {
            json!({
                "kind": "missing",
                "object": object.to_string(),
                "records": records,
                "untold_records": defect.untold_records,
            })
        }
        DefectKind::Gap { reason } => {
            json!({ "kind": "gap", "reason": reason, "records": records, "untold_records": defect.untold_records })
        }
    }
}

fn affected(affected: &Affected) -> Value {
    json!({
        "task": affected.task.to_string(),
        "attempt": affected.attempt,
        "record": affected.record.to_string(),
    })
}
