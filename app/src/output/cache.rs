//! What the cache of pristine copies holds, and what of it was let go, for people and for programs.

use super::record_json;
use super::text::{self, counted};
use crate::use_case::cache::{Prune, Pruned};
use isobox_domain::escape::Escaped;
use isobox_domain::timestamp::Timestamp;
use isobox_ports::CachedCopy;
use serde_json::{Value, json};
use std::io::{self, Write};
use std::os::unix::ffi::OsStrExt;

/// For people: a line a copy, then what they take.
pub(crate) fn stat(out: &mut dyn Write, copies: &[CachedCopy], now: Timestamp) -> io::Result<()> {
    rows(out, copies, now)?;
    let whole = copies.iter().filter(|copy| copy.seal.is_some()).count();
    let used = copies.iter().filter(|copy| copy.is_in_use).count();
    let copies_counted = if copies.len() == 1 { "copy" } else { "copies" };
    writeln!(out, "{:<9} {} {copies_counted}, {whole} whole, {used} in use", "holds", copies.len())?;
    writeln!(out, "{:<9} {}", "on disk", text::bytes(bytes(copies)))
}

fn bytes(copies: &[CachedCopy]) -> u64 {
    copies.iter().map(|copy| copy.entry().bytes).sum()
}

fn rows(out: &mut dyn Write, copies: &[CachedCopy], now: Timestamp) -> io::Result<()> {
    if copies.is_empty() {
        return Ok(());
    }
    writeln!(out, "{}", line(["COMMIT", "SIZE", "PATHS", "LAYERS", "USED", "STATE"], "SOURCE"))?;
    copies.iter().try_for_each(|copy| {
        let used = text::age(copy.used_at, now);
        let state = match (&copy.seal, copy.is_in_use) {
            (None, _) => "damaged",
            (Some(_), true) => "in use",
            (Some(_), false) => "whole",
        };
        let Some(seal) = &copy.seal else {
            return writeln!(
                out,
                "{}",
                line(["-", "-", "-", "-", &used, state], &Escaped(copy.name.as_bytes()).to_string())
            );
        };
        let (size, paths) = (text::bytes(seal.bytes), seal.paths.to_string());
        let layers = (seal.below.len() + 1).to_string();
        let fields = [&seal.commit.short(), &size, &paths, &layers, &used, state];
        writeln!(out, "{}", line(fields, &Escaped::path(&seal.source).to_string()))
    })
}

fn line([commit, size, paths, layers, used, state]: [&str; 6], source: &str) -> String {
    format!("{commit:<12}  {size:>10}  {paths:>8}  {layers:>6}  {used:>4}  {state:<7}  {source}")
}

/// For people: what was removed, or would be, and what stays.
pub(crate) fn pruned(out: &mut dyn Write, pruned: &Pruned, how: Prune, now: Timestamp) -> io::Result<()> {
    rows(out, &pruned.removed, now)?;
    writeln!(out, "{:<9} {}", "kept", pruned.kept)?;
    if !pruned.in_use.is_empty() {
        writeln!(out, "{:<9} {}, which the limits do not keep", "in use", pruned.in_use.len())?;
    }
    let word = if how == Prune::Performed { "removed" } else { "to remove" };
    writeln!(out, "{word:<9} {}, {}", pruned.removed.len(), counted(pruned.bytes(), "byte"))
}

/// For programs: a document of schema `isobox.cache-stat/v1`.
pub(crate) fn stat_document(copies: &[CachedCopy]) -> Value {
    let listed: Vec<Value> = copies.iter().map(copy).collect();
    json!({ "schema": "isobox.cache-stat/v1", "copies": listed, "bytes": bytes(copies) })
}

/// For programs: a document of schema `isobox.cache-prune/v1`.
pub(crate) fn pruned_document(pruned: &Pruned, how: Prune) -> Value {
    let all = |copies: &[CachedCopy]| copies.iter().map(copy).collect::<Vec<_>>();
    json!({
        "schema": "isobox.cache-prune/v1",
        "applied": how == Prune::Performed,
        "removed": all(&pruned.removed),
        "in_use": all(&pruned.in_use),
        "kept": pruned.kept,
        "bytes": pruned.bytes(),
    })
}

fn copy(copy: &CachedCopy) -> Value {
    let seal = copy.seal.as_ref();
    json!({
        "name": copy.name,
        "is_whole": seal.is_some(),
        "is_in_use": copy.is_in_use,
        "used_at": copy.used_at.to_string(),
        "source": seal.map(|seal| record_json::bytes(seal.source.as_os_str().as_bytes())),
        "commit": seal.map(|seal| seal.commit.to_string()),
        "branch": seal.and_then(|seal| seal.branch.as_deref()).map(record_json::bytes),
        "bytes": seal.map(|seal| seal.bytes),
        "paths": seal.map(|seal| seal.paths),
        "below": seal.map(|seal| &seal.below),
    })
}
