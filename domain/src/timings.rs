//! Where the time of a Task Attempt went.

use std::fmt;

/// What isobox does for an attempt, in the order in which it begins.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Phase {
    /// The policy is read, and trusted.
    Policy,
    /// The Task Store is opened, and what killed starts left is finished.
    Store,
    /// The Runtime Backend is chosen: what it can do here is known or tried.
    Backend,
    /// HEAD is read, and the attempt opened in the store.
    Source,
    /// The attempt waits until few enough others run.
    Turn,
    /// What the Workspace lies on is made, up to an empty root.
    LayOut,
    /// The Sandbox comes up: what this takes beside the next two, which are done meanwhile.
    Launch,
    /// The Preflight Rules are looked at.
    Preflight,
    /// The Workspace is made whole.
    Workspace,
    /// The workload runs, up to its last process.
    Workload,
    /// What the workload left is captured.
    Capture,
    /// The record becomes durable.
    Publish,
    /// The Workspace is removed and the View written, side by side.
    Dispose,
}

impl Phase {
    /// Every phase, in order.
    pub const ALL: [Self; 13] = [
        Self::Policy,
        Self::Store,
        Self::Backend,
        Self::Source,
        Self::Turn,
        Self::LayOut,
        Self::Launch,
        Self::Preflight,
        Self::Workspace,
        Self::Workload,
        Self::Capture,
        Self::Publish,
        Self::Dispose,
    ];

    /// The name in records and output.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Policy => "policy",
            Self::Store => "store",
            Self::Backend => "backend",
            Self::Source => "source",
            Self::Turn => "turn",
            Self::LayOut => "lay_out",
            Self::Launch => "launch",
            Self::Preflight => "preflight",
            Self::Workspace => "workspace",
            Self::Workload => "workload",
            Self::Capture => "capture",
            Self::Publish => "publish",
            Self::Dispose => "dispose",
        }
    }

    fn parse(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|phase| phase.name() == name)
    }
}

/// How long each phase took, in µs. Displayed as an extension of a record has it: a line a phase, its name and the number.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Timings {
    laps: Vec<(Phase, u64)>,
}

impl Timings {
    /// The extension of a record that has them: of all phases that were over before it was published.
    pub const EXTENSION: &'static str = "timings";

    /// Adds to a phase.
    pub fn add(&mut self, phase: Phase, took_us: u64) {
        match self.laps.binary_search_by_key(&phase, |(phase, _)| *phase) {
            Ok(at) => self.laps[at].1 = self.laps[at].1.saturating_add(took_us),
            Err(at) => self.laps.insert(at, (phase, took_us)),
        }
    }

    /// The phases that there were, in order, each with its µs.
    pub fn laps(&self) -> &[(Phase, u64)] {
        &self.laps
    }

    /// What all of them took, in µs.
    pub fn sum_us(&self) -> u64 {
        self.laps.iter().fold(0, |sum, (_, took_us)| sum.saturating_add(*took_us))
    }

    /// What `bytes` say; `None` if that is nothing of the kind. Phases that this version does not know are left out.
    pub fn parse(bytes: &[u8]) -> Option<Self> {
        let mut timings = Self::default();
        for line in std::str::from_utf8(bytes).ok()?.lines() {
            let (name, took_us) = line.split_once(' ')?;
            let took_us = took_us.parse().ok()?;
            if let Some(phase) = Phase::parse(name) {
                timings.add(phase, took_us);
            }
        }
        Some(timings)
    }
}

impl fmt::Display for Timings {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.laps.iter().try_for_each(|(phase, took_us)| writeln!(f, "{} {took_us}", phase.name()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_written_is_read_back_in_order_and_a_phase_that_came_twice_is_one() {
        let mut timings = Timings::default();
        for (phase, took_us) in [(Phase::Launch, 5), (Phase::Policy, 1), (Phase::Workload, 0), (Phase::Launch, 7)] {
            timings.add(phase, took_us);
        }
        assert_eq!(timings.to_string(), "policy 1\nlaunch 12\nworkload 0\n");
        assert_eq!(timings.sum_us(), 13);
        assert_eq!(Timings::parse(timings.to_string().as_bytes()), Some(timings));
    }

    #[test]
    fn a_phase_of_a_later_version_is_left_out_and_what_is_no_line_is_nothing() {
        let known = Timings::parse(b"later 3\ncapture 4\n").expect("timings");
        assert_eq!(known.laps(), [(Phase::Capture, 4)]);
        for bytes in [&b"capture"[..], b"capture -1\n", b"capture 1 2\n", b"\xff 1\n"] {
            assert_eq!(Timings::parse(bytes), None, "{bytes:?}");
        }
    }
}
