//! What the dependency manifests of Cargo, npm, pip and Go name.
//!
//! They come from a workload: whatever they say, they are data, and what cannot be read is said to be unreadable.
#![forbid(unsafe_code)]

mod cargo;
mod go;
mod npm;
mod python;

use isobox_domain::report::{Dependencies, DependencyKey, Manifest};
use isobox_ports::Manifests;

/// Manifests as their own tools read them.
#[derive(Clone, Copy, Debug, Default)]
pub struct Ecosystems;

impl Manifests for Ecosystems {
    fn dependencies(&self, manifest: Manifest, content: &[u8]) -> Option<Dependencies> {
        let text = std::str::from_utf8(content).ok()?;
        let text = text.strip_prefix('\u{feff}').unwrap_or(text);
        match manifest {
            Manifest::Cargo => cargo::manifest(text),
            Manifest::CargoLock => cargo::lock(text),
            Manifest::Npm => npm::manifest(text),
            Manifest::NpmLock => npm::lock(text),
            Manifest::Pip => Some(python::requirements(text)),
            Manifest::PyProject => python::project(text),
            Manifest::Go => Some(go::module(text)),
        }
    }
}

/// Notes a dependency; one that is named twice asks for both.
fn note(dependencies: &mut Dependencies, group: &str, name: &str, requirement: &str) {
    let key = DependencyKey { name: name.to_owned(), group: group.to_owned() };
    let asked = dependencies.entry(key).or_default();
    if !asked.is_empty() && !requirement.is_empty() {
        asked.push_str(", ");
    }
    asked.push_str(requirement);
}

#[cfg(test)]
mod tests;
