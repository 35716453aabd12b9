//! Which installed program an update is about.

use crate::UpdateError;
use isobox_domain::update_target::UpdateTarget;

/// Finds the Update Target.
///
/// Looking changes nothing and starts nothing.
pub trait UpdateTargets {
    /// The first `isobox` on the user's PATH; `None` if there is none.
    fn find(&self) -> Result<Option<UpdateTarget>, UpdateError>;
}
