//! How an installed program is replaced by a release.

use crate::UpdateError;
use isobox_domain::release::{Identity, ReleaseFile, Version};
use isobox_domain::update_target::UpdateTarget;
use std::io::Write;

/// Writes a Release File into what it is given, and says whether it is the right one.
pub type FetchRelease<'a> = dyn Fn(&mut dyn Write) -> Result<(), UpdateError> + 'a;

/// Replaces an installed program.
///
/// - At every moment, a kill or a power cut included, its path leads to a whole program: the one before or the one after.
/// - An error but [`UpdateError::Unflushed`] leaves the program as it was.
/// - What cannot run here, or is another version than it should be, never gets to the path.
/// - The program before stays beside it, for [`Installation::roll_back`]; nothing else is left there.
/// - While a program is being replaced, nobody else replaces it.
pub trait Installation {
    /// Asks the program what it is.
    fn identify(&self, target: &UpdateTarget) -> Result<Identity, UpdateError>;

    /// Puts the program in `release`, whose bytes `fetch` writes, in the place of `target`; where the one before is kept, escaped for people.
    fn replace(
        &self,
        target: &UpdateTarget,
        release: &ReleaseFile,
        fetch: &FetchRelease<'_>,
    ) -> Result<String, UpdateError>;

    /// Puts the program that was kept in the place of `target`, and keeps that one; the version that is there now.
    fn roll_back(&self, target: &UpdateTarget) -> Result<Version, UpdateError>;
}
