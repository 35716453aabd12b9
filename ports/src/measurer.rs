//! Measuring a Task Store.

use crate::{StoreError, TellAdvance};
use isobox_domain::measurement::Measurement;

/// Tells how much a Task Store holds, and what it takes on disk.
///
/// - Content that is stored counts once for each copy; what records refer to counts each time.
/// - What no record needs is told apart.
/// - Nothing is changed. What is written meanwhile may or may not be counted.
/// - Memory does not grow with the store.
pub trait Measurer {
    /// Measures the whole store.
    fn measure(&self, tell: TellAdvance<'_>) -> Result<Measurement, StoreError>;
}
