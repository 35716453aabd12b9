//! What every Runtime Backend enforces, for people and for programs.

use super::columns::wrapped;
use super::record_json::enforcement;
use crate::use_case::backends::{Backends, PolicyOf};
use isobox_domain::enforcement::{Control, Enforcement};
use isobox_domain::policy::{BackendChoice, Capabilities};
use serde_json::{Map, Value, json};
use std::io::{self, Write};

/// The columns in which what is said of a control begins, and what is said of `auto`.
const OF_A_CONTROL: usize = 15;
const OF_AUTO: usize = 6;

/// For people: a table of controls and backends, what each of those lacks, and which one `auto` takes. Lines are broken at
/// `columns`, if there are any.
pub(crate) fn text(out: &mut dyn Write, found: &Backends, columns: Option<usize>) -> io::Result<()> {
    let heads = found.capabilities.iter().map(|backend| backend.backend.name());
    row(out, "control", heads)?;
    for control in Control::ALL {
        row(out, control.name(), found.capabilities.iter().map(|backend| word(backend, control)))?;
    }
    found.capabilities.iter().try_for_each(|backend| lacks(out, backend, columns))?;
    writeln!(out, "\nauto  {}", wrapped(&auto(found), OF_AUTO, columns))
}

fn row<'a>(out: &mut dyn Write, head: &str, cells: impl Iterator<Item = &'a str>) -> io::Result<()> {
    let line: String = cells.map(|cell| format!("{cell:<20}")).collect();
    writeln!(out, "{}", format!("{head:<13}{line}").trim_end())
}

// A backend names every control.
fn word(backend: &Capabilities, control: Control) -> &'static str {
    backend.enforcement(control).map_or("", Enforcement::word)
}

fn lacks(out: &mut dyn Write, backend: &Capabilities, columns: Option<usize>) -> io::Result<()> {
    writeln!(out, "\n{}", backend.backend.name())?;
    if let Some(reason) = &backend.unavailable {
        return writeln!(out, "  {}", wrapped(&format!("cannot be used here: {reason}"), 2, columns));
    }
    for report in &backend.controls {
        let said = match &report.enforcement {
            Enforcement::Enforced { .. } => continue,
            Enforcement::PartiallyEnforced { mechanism, reason } => format!("in part, by {mechanism}: {reason}"),
            Enforcement::NotEnforced { reason } => reason.clone(),
        };
        writeln!(out, "  {:<13}{}", report.control.name(), wrapped(&said, OF_A_CONTROL, columns))?;
    }
    Ok(())
}

fn auto(found: &Backends) -> String {
    let policy = match found.of {
        PolicyOf::Project => "the project's policy",
        PolicyOf::Nobody => "the most restrictive policy",
    };
    let said = match &found.auto {
        Ok((backend, why)) => format!("takes {} for {policy}: {why}", backend.name()),
        Err(refusal) => format!("takes none for {policy}: {refusal}"),
    };
    match found.choice {
        BackendChoice::Auto => said,
        BackendChoice::Named(name) => {
            format!("{said}; the policy does not ask it: `runtime_backend` is {}", name.name())
        }
    }
}

/// For programs: a document of schema `isobox.backends/v1`.
pub(crate) fn document(found: &Backends) -> Value {
    let (backend, why, refused) = match &found.auto {
        Ok((backend, why)) => (Some(backend.name()), Some(why), None),
        Err(refusal) => (None, None, Some(refusal.to_string())),
    };
    let policy = match found.of {
        PolicyOf::Project => "project",
        PolicyOf::Nobody => "default",
    };
    let choice = match found.choice {
        BackendChoice::Auto => "auto",
        BackendChoice::Named(name) => name.name(),
    };
    json!({
        "schema": "isobox.backends/v1",
        "backends": found.capabilities.iter().map(one).collect::<Vec<_>>(),
        "policy": { "of": policy, "runtime_backend": choice },
        "auto": { "backend": backend, "why_this_backend": why, "refused": refused },
    })
}

fn one(backend: &Capabilities) -> Value {
    let controls = backend.controls.iter();
    let controls = controls.map(|report| (report.control.name().to_owned(), enforcement(&report.enforcement)));
    json!({
        "backend": backend.backend.name(),
        "unavailable": backend.unavailable,
        "enforcement": controls.collect::<Map<_, _>>(),
        "limitations": backend.limitations,
    })
}

#[cfg(test)]
mod tests;
