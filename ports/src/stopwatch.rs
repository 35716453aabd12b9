//! Time that only goes on.

/// A clock that no one sets: what lies between two looks at it has passed.
///
/// - A later look never reads less.
pub trait Stopwatch: Send + Sync {
    /// Microseconds since a moment that stays the same while the process lives.
    fn elapsed_us(&self) -> u64;
}
