//! Which policies this user trusts.

use crate::Cause;
use isobox_domain::policy::TrustedPolicies;
use std::path::Path;

/// The policies that are trusted could not be kept. What was trusted before still is.
#[derive(Debug, thiserror::Error)]
#[error("{operation} {host_path}")]
pub struct PolicyPinsError {
    /// What was being done.
    pub operation: &'static str,
    /// To what, escaped for people.
    pub host_path: String,
    /// What stood in the way.
    #[source]
    pub source: Cause,
}

/// The policies that this user trusts, project by project. A project is known by its canonical common Git directory, so
/// that all its working trees are one.
///
/// - Nothing is trusted before it was said.
/// - What was kept is loaded, now and by later processes.
/// - What is kept for one project says nothing about another.
/// - Damage means that nothing is trusted, and what is kept next is whole again.
/// - What others could have written means that nothing is trusted.
/// - Changes at the same time come one after the other: none is lost, and none is undone by one that began before it.
/// - A reader sees what was kept before or after, never half; memory does not grow with what lies in the place.
pub trait PolicyPins {
    /// What is trusted in the project with the common Git directory `host_path`. What cannot be read is not trusted.
    fn load(&self, host_path: &Path) -> TrustedPolicies;

    /// Keeps what `change` makes of what is kept for that project now.
    fn change(
        &self,
        host_path: &Path,
        change: &mut dyn FnMut(TrustedPolicies) -> TrustedPolicies,
    ) -> Result<(), PolicyPinsError>;

    /// Keeps `trusted` in place of what was kept for that project.
    fn keep(&self, host_path: &Path, trusted: &TrustedPolicies) -> Result<(), PolicyPinsError> {
        self.change(host_path, &mut |_| trusted.clone())
    }
}
