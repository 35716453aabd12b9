//! Dependency manifests.

use isobox_domain::report::{Dependencies, Manifest};

/// Reads what dependency manifests name.
///
/// - What is not what its name says is `None`, and nothing else happens: the content is a workload's.
/// - The same content names the same dependencies.
pub trait Manifests {
    /// What `content` names as a manifest of this kind.
    fn dependencies(&self, manifest: Manifest, content: &[u8]) -> Option<Dependencies>;
}
