//! What the cache holds, pristine copies and layers of lent caches, and what of it was let go, for people and for programs.

use super::record_json;
use super::text::{self, counted};
use crate::use_case::cache::{Prune, Pruned};
use isobox_domain::escape::Escaped;
use isobox_domain::timestamp::Timestamp;
use isobox_ports::{CacheLayer, CachedCopy};
use serde_json::{Value, json};
use std::io::{self, Write};
use std::os::unix::ffi::OsStrExt;

/// How much was looked at.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Look {
    /// Some files of each copy.
    Brief,
    /// Every file.
    Whole,
}

impl Look {
    /// What a copy is called that was found as it was made.
    const fn word(self) -> &'static str {
        match self {
            Self::Brief => "usable",
            Self::Whole => "whole",
        }
    }
}

/// What is in the cache.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Contents<'a> {
    /// Pristine copies.
    pub(crate) copies: &'a [CachedCopy],
    /// How they were looked at.
    pub(crate) look: Look,
    /// Layers of lent caches.
    pub(crate) layers: &'a [CacheLayer],
}

/// For people: a line a copy and a layer, then what they take.
pub(crate) fn stat(out: &mut dyn Write, contents: Contents<'_>, now: Timestamp) -> io::Result<()> {
    let Contents { copies, look, layers } = contents;
    rows(out, copies, look, now)?;
    layer_rows(out, layers, now)?;
    let (word, sound) = (look.word(), copies.iter().filter(|copy| copy.seal.is_some()).count());
    let used = copies.iter().filter(|copy| copy.is_in_use).count();
    let copies_counted = if copies.len() == 1 { "copy" } else { "copies" };
    writeln!(out, "{:<9} {} {copies_counted}, {sound} {word}, {used} in use", "holds", copies.len())?;
    if !layers.is_empty() {
        let used = layers.iter().filter(|layer| layer.is_in_use).count();
        writeln!(out, "{:<9} {}, {used} in use", "and", counted(layers.len() as u64, "layer"))?;
    }
    writeln!(out, "{:<9} {}", "on disk", text::bytes(bytes(copies, layers)))
}

fn bytes(copies: &[CachedCopy], layers: &[CacheLayer]) -> u64 {
    copies.iter().map(|copy| copy.entry().bytes).chain(layers.iter().map(|layer| layer.bytes)).sum()
}

/// A line a layer; what is in one is nobody's to name.
fn layer_rows(out: &mut dyn Write, layers: &[CacheLayer], now: Timestamp) -> io::Result<()> {
    if layers.is_empty() {
        return Ok(());
    }
    writeln!(out, "{:<18}  {:>10}  {:>4}  {:<6}  PROJECT", "LAYER", "SIZE", "USED", "STATE")?;
    layers.iter().try_for_each(|layer| {
        let (size, used) = (text::bytes(layer.bytes), text::age(layer.used_at, now));
        let state = if layer.is_in_use { "in use" } else { "kept" };
        let project = layer.project.as_deref().map_or_else(|| "-".to_owned(), |path| Escaped::path(path).to_string());
        writeln!(
            out,
            "{:<18}  {size:>10}  {used:>4}  {state:<6}  {project}",
            Escaped(layer.name.as_bytes()).to_string()
        )
    })
}

fn rows(out: &mut dyn Write, copies: &[CachedCopy], look: Look, now: Timestamp) -> io::Result<()> {
    if copies.is_empty() {
        return Ok(());
    }
    writeln!(out, "{}", line(["COMMIT", "SIZE", "PATHS", "LAYERS", "USED", "STATE"], "SOURCE"))?;
    copies.iter().try_for_each(|copy| {
        let used = text::age(copy.used_at, now);
        let state = match (&copy.seal, copy.is_in_use) {
            (None, _) => "damaged",
            (Some(_), true) => "in use",
            (Some(_), false) => look.word(),
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
    rows(out, &pruned.removed, Look::Brief, now)?;
    layer_rows(out, &pruned.removed_layers, now)?;
    writeln!(out, "{:<9} {}", "kept", pruned.kept)?;
    let in_use = pruned.in_use.len() + pruned.layers_in_use.len();
    if in_use > 0 {
        writeln!(out, "{:<9} {in_use}, which the limits do not keep", "in use")?;
    }
    let word = if how == Prune::Performed { "removed" } else { "to remove" };
    writeln!(
        out,
        "{word:<9} {}, {}",
        pruned.removed.len() + pruned.removed_layers.len(),
        counted(pruned.bytes(), "byte")
    )
}

/// For programs: a document of schema `isobox.cache-stat/v1`.
pub(crate) fn stat_document(Contents { copies, look, layers }: Contents<'_>) -> Value {
    json!({
        "schema": "isobox.cache-stat/v1",
        "is_verified": look == Look::Whole,
        "copies": copies.iter().map(copy).collect::<Vec<_>>(),
        "layers": layers.iter().map(layer).collect::<Vec<_>>(),
        "bytes": bytes(copies, layers),
    })
}

/// For programs: a document of schema `isobox.cache-prune/v1`.
pub(crate) fn pruned_document(pruned: &Pruned, how: Prune) -> Value {
    let all = |copies: &[CachedCopy]| copies.iter().map(copy).collect::<Vec<_>>();
    json!({
        "schema": "isobox.cache-prune/v1",
        "applied": how == Prune::Performed,
        "removed": all(&pruned.removed),
        "in_use": all(&pruned.in_use),
        "removed_layers": pruned.removed_layers.iter().map(layer).collect::<Vec<_>>(),
        "layers_in_use": pruned.layers_in_use.iter().map(layer).collect::<Vec<_>>(),
        "kept": pruned.kept,
        "bytes": pruned.bytes(),
    })
}

fn layer(layer: &CacheLayer) -> Value {
    json!({
        "name": layer.name,
        "project": layer.project.as_deref().map(|path| record_json::bytes(path.as_os_str().as_bytes())),
        "bytes": layer.bytes,
        "used_at": layer.used_at.to_string(),
        "is_in_use": layer.is_in_use,
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
