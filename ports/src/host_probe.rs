//! Looking at a machine or a project without changing it.

use isobox_domain::fact::Fact;

/// One side of a machine or a project.
///
/// - Looking changes nothing: no file or directory is made, written to or removed, and none of a project's programs is
///   executed.
/// - What a fact claims was tried; a failure is a fact with its reason, not an absence of facts.
/// - Looking twice finds the same.
pub trait HostProbe {
    /// Looks, and says what was found, in the order in which a person reads it.
    fn facts(&self) -> Vec<Fact>;
}
