//! A machine on which nothing that was in memory is left.

use crate::{Cause, FoundAgain, HeldMemory, WorkspaceMount};

/// Holds nothing.
#[derive(Clone, Copy, Debug)]
pub struct NothingHeld;

impl HeldMemory for NothingHeld {
    fn find(&self, _: &WorkspaceMount) -> Result<Option<FoundAgain>, Cause> {
        Ok(None)
    }
}
