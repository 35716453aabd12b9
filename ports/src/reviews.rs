//! What a person noted while they reviewed.

use crate::StoreError;
use isobox_domain::review::{Mark, Marks, Subject};

/// The marks of every review of one store's Tasks.
///
/// - What was kept is loaded, now and by later processes; of several marks of one change the newest holds.
/// - Whoever keeps some marks loses none that others keep at the same time.
/// - A mark that could not be kept costs none that was kept before.
/// - Damage costs the marks that it hits.
/// - Where more is kept than there is room for, the oldest go.
pub trait Reviews {
    /// Every mark. A store that never had any has none.
    fn load(&self) -> Result<Marks, StoreError>;

    /// Keeps `marks`, so that a power cut does not lose them.
    fn keep(&self, marks: &[(Subject, Mark)]) -> Result<(), StoreError>;
}
