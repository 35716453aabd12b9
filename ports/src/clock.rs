//! The time.

use isobox_domain::timestamp::Timestamp;

/// The wall clock.
pub trait Clock: Send + Sync {
    /// Now. A clock outside the years 2000 to 2199 reads as the nearest of them.
    fn now(&self) -> Timestamp;
}
