//! Taking the time of what is done for an attempt.

use isobox_domain::timings::{Phase, Timings};
use isobox_ports::Stopwatch;
use std::cell::RefCell;

/// How long each phase took so far. Everything since the last lap belongs to the next one.
pub(crate) struct Laps<'a> {
    stopwatch: &'a dyn Stopwatch,
    started_us: u64,
    state: RefCell<State>,
}

struct State {
    last_us: u64,
    timings: Timings,
}

impl<'a> Laps<'a> {
    /// Starts with the first one.
    pub(crate) fn start(stopwatch: &'a dyn Stopwatch) -> Self {
        let started_us = stopwatch.elapsed_us();
        Self { stopwatch, started_us, state: RefCell::new(State { last_us: started_us, timings: Timings::default() }) }
    }

    /// Ends a lap: what was done since the last one belongs to `phase`.
    pub(crate) fn end(&self, phase: Phase) {
        let now_us = self.stopwatch.elapsed_us();
        let mut state = self.state.borrow_mut();
        let took_us = now_us.saturating_sub(state.last_us);
        state.timings.add(phase, took_us);
        state.last_us = now_us;
    }

    /// All laps that ended.
    pub(crate) fn timings(&self) -> Timings {
        self.state.borrow().timings.clone()
    }

    /// Microseconds since the start of the first one.
    pub(crate) fn total_us(&self) -> u64 {
        self.stopwatch.elapsed_us().saturating_sub(self.started_us)
    }
}
