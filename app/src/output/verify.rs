//! What a verification found, for people and for programs.

use super::text::counted;
use isobox_domain::escape::Escaped;
use isobox_domain::verification::{
    Affected, Defect, DefectKind, Leftovers, LogLook, Thoroughness, TornTail, Verification,
};
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
    left_over(out, &found.leftovers)?;
    writeln!(out, "{:<13} {}", "integrity", found.integrity().name())?;
    writeln!(out, "{:<13} {}: {}", "completeness", found.completeness().name(), of_completeness(found))?;
    writeln!(out, "{:<13} {}: {}", "signature", found.signature().name(), of_signature(found))
}

fn of_completeness(found: &Verification) -> String {
    match &found.log {
        LogLook::Left => "not compared with the log, which only `isobox verify` without tasks looks at".to_owned(),
        LogLook::Absent => {
            "nobody can tell whether the newest are missing: there is no transparency log (`isobox audit` makes one)"
                .to_owned()
        }
        LogLook::Looked { size, is_whole: false, .. } => {
            format!("the log of {} is damaged, or not vouched for by the key that is known", counted(*size, "COMMIT"))
        }
        LogLook::Looked { size, unlogged, .. } => {
            let logged = format!("compared with the log of {}", counted(*size, "COMMIT"));
            let more = match unlogged {
                0 => String::new(),
                _ => format!("; {unlogged} newer not logged yet, of which nobody can tell"),
            };
            logged + &more
        }
    }
}

fn of_signature(found: &Verification) -> String {
    match &found.log {
        LogLook::Left => "not checked for single tasks".to_owned(),
        LogLook::Absent => "not checked: nothing is signed".to_owned(),
        LogLook::Looked { vouched, .. } if vouched.is_empty() => {
            "no key that is known has signed the newest checkpoint".to_owned()
        }
        LogLook::Looked { vouched, size, .. } => {
            let names: Vec<String> = vouched.iter().map(|name| Escaped(name.as_bytes()).to_string()).collect();
            format!("{} vouches for the log of {}", names.join(", "), counted(*size, "COMMIT"))
        }
    }
}

/// What is no defect.
fn left_over(out: &mut dyn Write, left: &Leftovers) -> io::Result<()> {
    for TornTail { file, offset, bytes, is_unwritten } in &left.torn_tails {
        let bytes = counted(*bytes, "byte");
        let why = match is_unwritten {
            false => "as a killed isobox leaves them",
            true => {
                "with parts that were never written, as a power cut leaves them; without one, the disk lost what was \
                 recorded last. The next task keeps them in quarantine"
            }
        };
        writeln!(out, "{:<13} {file} at {offset}: {bytes} without a COMMIT, {why}", "left over")?;
    }
    if left.unreferenced > 0 {
        let (files, bytes) = (counted(left.unreferenced, "large file"), counted(left.unreferenced_bytes, "byte"));
        writeln!(out, "{:<13} {files} of {bytes} that nothing refers to", "left over")?;
    }
    Ok(())
}

pub(super) fn one(out: &mut dyn Write, defect: &Defect) -> io::Result<()> {
    match &defect.kind {
        DefectKind::Damaged { file, offset, reason, object } => {
            writeln!(out, "{:<13} {file} at {offset}: {reason}", "damaged")?;
            object.iter().try_for_each(|object| writeln!(out, "{:<13} held {object}", ""))?;
        }
        DefectKind::Missing { object } => writeln!(out, "{:<13} {object}", "missing")?,
        DefectKind::Gap { reason } => writeln!(out, "{:<13} {reason}", "gap")?,
        DefectKind::History { reason } => writeln!(out, "{:<13} {reason}", "history")?,
        DefectKind::Signature { reason } => writeln!(out, "{:<13} {reason}", "signature")?,
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
        "log": log(&found.log),
        "defects": defects,
        "untold_defects": found.untold,
        "leftovers": leftovers(&found.leftovers),
    })
}

fn leftovers(left: &Leftovers) -> Value {
    let tail = |tail: &TornTail| {
        let TornTail { file, offset, bytes, is_unwritten } = tail;
        json!({ "file": file, "offset": offset, "bytes": bytes, "unwritten": is_unwritten })
    };
    json!({
        "torn_tails": left.torn_tails.iter().map(tail).collect::<Vec<_>>(),
        "unreferenced_files": left.unreferenced,
        "unreferenced_bytes": left.unreferenced_bytes,
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
        DefectKind::Gap { reason } => by_reason("gap", reason, &records, defect),
        DefectKind::History { reason } => by_reason("history", reason, &records, defect),
        DefectKind::Signature { reason } => by_reason("signature", reason, &records, defect),
    }
}

fn by_reason(kind: &str, reason: &str, records: &[Value], defect: &Defect) -> Value {
    json!({ "kind": kind, "reason": reason, "records": records, "untold_records": defect.untold_records })
}

fn log(log: &LogLook) -> Value {
    match log {
        LogLook::Left => json!({ "state": "not_compared" }),
        LogLook::Absent => json!({ "state": "absent" }),
        LogLook::Looked { size, unlogged, is_whole, vouched } => json!({
            "state": if *is_whole { "compared" } else { "damaged" },
            "size": size,
            "unlogged": unlogged,
            "vouched_by": vouched,
        }),
    }
}

fn affected(affected: &Affected) -> Value {
    json!({
        "task": affected.task.to_string(),
        "attempt": affected.attempt,
        "record": affected.record.to_string(),
    })
}
