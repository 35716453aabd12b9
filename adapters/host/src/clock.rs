//! The system's clocks.

use isobox_domain::timestamp::Timestamp;
use isobox_ports::{Clock, Stopwatch};
use std::sync::LazyLock;
use std::time::{Instant, SystemTime, UNIX_EPOCH};

/// The system's wall clock.
#[derive(Clone, Copy, Debug, Default)]
pub struct SystemClock;

impl Clock for SystemClock {
    fn now(&self) -> Timestamp {
        // A clock before 1970 reads as the earliest moment, like any other that is too early.
        let since_1970 = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
        Timestamp::nearest(u64::try_from(since_1970.as_millis()).unwrap_or(u64::MAX))
    }
}

/// The system's clock that nobody sets, since the first look at it.
#[derive(Clone, Copy, Debug, Default)]
pub struct SystemStopwatch;

static STARTED: LazyLock<Instant> = LazyLock::new(Instant::now);

impl Stopwatch for SystemStopwatch {
    fn elapsed_us(&self) -> u64 {
        u64::try_from(STARTED.elapsed().as_micros()).unwrap_or(u64::MAX)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_clock_does_not_run_backwards_between_two_readings() {
        let first = SystemClock.now();
        assert!(SystemClock.now() >= first);
        assert!(Timestamp::from_unix_ms(first.unix_ms()).is_some());
    }
}
