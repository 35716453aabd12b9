//! Limits of the groups of version 2 that a process leaves when it is moved beside them: they are to hold all the same,
//! whatever else is asked for.

use isobox_domain::limit::{Limit, Limits};
use std::fs::read_to_string;
use std::path::Path;

/// How long the kernel counts before it gives CPU time again, in microseconds.
pub(super) const PERIOD_US: u64 = 100_000;

/// The Stage is in the group, too.
pub(super) const STAGE: u64 = 1;

/// The lowest of each; `None` for what is not limited.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Bounds {
    pub(super) memory: Option<u64>,
    /// Above it processes are slowed down.
    pub(super) memory_high: Option<u64>,
    pub(super) swap: Option<u64>,
    pub(super) pids: Option<u64>,
    pub(super) cpu: Option<Quota>,
}

/// CPU time that there is for each period, both in microseconds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Quota {
    quota_us: u64,
    period_us: u64,
}

impl Quota {
    /// Thousandths of a CPU are as many hundreds of microseconds of each period.
    pub(super) const fn of(thousandths: u64) -> Self {
        Self { quota_us: thousandths * PERIOD_US / 1000, period_us: PERIOD_US }
    }

    /// `QUOTA PERIOD`; the first is `max` where there is no limit.
    pub(super) fn parse(text: &str) -> Option<Self> {
        let mut numbers = text.split_whitespace().map_while(|word| word.parse().ok());
        Some(Self { quota_us: numbers.next()?, period_us: numbers.next()? })
    }

    /// Of each period.
    pub(super) const fn us(self) -> u64 {
        self.quota_us
    }

    pub(super) fn thousandths(self) -> u64 {
        self.quota_us.saturating_mul(1000) / self.period_us.max(1)
    }

    // Exact, unlike thousandths.
    fn is_less_than(self, other: Self) -> bool {
        let product = |one: u64, other: u64| u128::from(one) * u128::from(other);
        product(self.quota_us, other.period_us) < product(other.quota_us, self.period_us)
    }
}

impl Bounds {
    /// Those of this group, too.
    pub(super) fn lower_to(&mut self, group: &Path) {
        // A file that is not there limits nothing: its controller is not passed on to this group.
        let text = |file: &str| read_to_string(group.join(file)).unwrap_or_default();
        let number = |file: &str| text(file).trim().parse().ok();
        self.memory = least(self.memory, number("memory.max"));
        self.memory_high = least(self.memory_high, number("memory.high"));
        self.swap = least(self.swap, number("memory.swap.max"));
        self.pids = least(self.pids, number("pids.max"));
        self.cpu = less(self.cpu, Quota::parse(&text("cpu.max")));
    }

    /// What `is_had` of what is asked for, within these.
    pub(super) fn with(self, asked: &Limits, is_had: impl Fn(Limit) -> bool) -> Self {
        let asked = |limit| asked.of(limit).filter(|_| is_had(limit));
        let memory = asked(Limit::Memory);
        Self {
            memory: least(self.memory, memory),
            // With swap, memory would be the smaller part of what is used.
            swap: least(self.swap, memory.map(|_| 0)),
            pids: least(self.pids, asked(Limit::Processes).map(|most| most.saturating_add(STAGE))),
            cpu: less(self.cpu, asked(Limit::Cpu).map(Quota::of)),
            memory_high: self.memory_high,
        }
    }

    /// The files of a group, and what to write into them.
    pub(super) fn files(self) -> impl Iterator<Item = (&'static str, String)> {
        let number = |value: Option<u64>| value.map(|value| value.to_string());
        let files = [
            ("memory.max", number(self.memory)),
            ("memory.high", number(self.memory_high)),
            ("memory.swap.max", number(self.swap)),
            ("pids.max", number(self.pids)),
            ("cpu.max", self.cpu.map(|Quota { quota_us, period_us }| format!("{quota_us} {period_us}"))),
        ];
        files.into_iter().filter_map(|(file, text)| Some((file, text?)))
    }
}

fn least(one: Option<u64>, other: Option<u64>) -> Option<u64> {
    [one, other].into_iter().flatten().min()
}

fn less(one: Option<Quota>, other: Option<Quota>) -> Option<Quota> {
    match (one, other) {
        (Some(one), Some(other)) => Some(if other.is_less_than(one) { other } else { one }),
        (one, other) => one.or(other),
    }
}
