//! Where releases come from.

use crate::UpdateError;
use isobox_domain::release::{ReleaseFile, ReleaseIndex};
use std::io::Write;

/// A publisher of releases.
///
/// - An index is handed out only if a key that the caller trusts signed it, byte for byte.
/// - No more is read than the limits of the domain allow, however much is sent, and nothing waits longer than the
///   caller's patience.
pub trait ReleaseSource {
    /// Fetches the index.
    fn index(&self) -> Result<ReleaseIndex, UpdateError>;

    /// Writes the bytes of `file` to `into`, in memory that does not grow with them. Success means that they were
    /// exactly those that the index describes; after an error, what was written is worth nothing.
    fn fetch(&self, file: &ReleaseFile, into: &mut dyn Write) -> Result<(), UpdateError>;
}
