//! A machine without surprises: a clock that stands, a stopwatch and names that count.

use crate::{Clock, Stopwatch, TaskIds};
use isobox_domain::task_id::TaskId;
use isobox_domain::timestamp::Timestamp;
use std::sync::atomic::{AtomicU64, Ordering};

/// A clock that always says the same.
#[derive(Clone, Copy, Debug)]
pub struct FixedClock(pub Timestamp);

impl Clock for FixedClock {
    fn now(&self) -> Timestamp {
        self.0
    }
}

/// A stopwatch on which a millisecond passes between two looks.
#[derive(Debug, Default)]
pub struct CountingStopwatch(AtomicU64);

impl Stopwatch for CountingStopwatch {
    fn elapsed_us(&self) -> u64 {
        self.0.fetch_add(1000, Ordering::Relaxed)
    }
}

/// Names and salt that count up from 1.
#[derive(Debug, Default)]
pub struct CountingTaskIds(AtomicU64);

impl CountingTaskIds {
    fn next(&self) -> u64 {
        self.0.fetch_add(1, Ordering::Relaxed) + 1
    }
}

impl TaskIds for CountingTaskIds {
    fn task_id(&self) -> TaskId {
        TaskId::new(self.next().to_be_bytes())
    }

    fn salt(&self) -> [u8; 16] {
        u128::from(self.next()).to_be_bytes()
    }
}
