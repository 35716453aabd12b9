//! How far long work has come, for whoever shows it meanwhile.

use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

/// Counts that one side moves on and another looks at, at any time and from any thread. What is seen may be a moment old.
#[derive(Debug, Default)]
pub struct Headway {
    done: AtomicU64,
    all: AtomicU64,
    is_elsewhere: AtomicBool,
}

/// What is seen of work.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Stand {
    /// How much is done.
    pub done: u64,
    /// How much there is to do; 0 if that is not known.
    pub all: u64,
    /// Whether another process does it, which is waited for.
    pub is_elsewhere: bool,
}

impl Headway {
    /// Begins work of this process: so much is to be done.
    pub fn begin(&self, all: u64) {
        self.note(Stand { done: 0, all, is_elsewhere: false });
    }

    /// One more of it is done.
    pub fn advance(&self) {
        self.done.fetch_add(1, Ordering::Relaxed);
    }

    /// Notes how it stands.
    pub fn note(&self, stand: Stand) {
        self.done.store(stand.done, Ordering::Relaxed);
        self.all.store(stand.all, Ordering::Relaxed);
        self.is_elsewhere.store(stand.is_elsewhere, Ordering::Relaxed);
    }

    /// How it stands.
    pub fn stand(&self) -> Stand {
        Stand {
            done: self.done.load(Ordering::Relaxed),
            all: self.all.load(Ordering::Relaxed),
            is_elsewhere: self.is_elsewhere.load(Ordering::Relaxed),
        }
    }
}
