//! Limits of a Sandbox: what can be limited, to how much, and whether that held.

mod value;

pub use value::{LimitError, Unit};

use crate::enforcement::{Control, ControlReport, Enforcement};
use crate::outcome::Exit;
use std::fmt;

/// One thing that a policy can limit.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Limit {
    /// How long the workload may run.
    Time,
    /// How long it may write nothing to its standard output and standard error.
    IdleTime,
    /// Memory of all its processes together.
    Memory,
    /// How many CPUs it may keep busy at the same time.
    Cpu,
    /// CPU time of all its processes together.
    CpuTime,
    /// Processes and threads at the same time.
    Processes,
    /// Bytes written into the Workspace.
    Disk,
    /// Files, directories and links made in the Workspace.
    Inodes,
    /// Descriptors that one process may have open.
    OpenFiles,
    /// Length of a file that it may write.
    FileSize,
    /// Bytes of its standard output and standard error that are kept.
    Output,
}

impl Limit {
    /// All limits, in the order in which they are shown.
    pub const ALL: [Self; 11] = [
        Self::Time,
        Self::IdleTime,
        Self::Memory,
        Self::Cpu,
        Self::CpuTime,
        Self::Processes,
        Self::Disk,
        Self::Inodes,
        Self::OpenFiles,
        Self::FileSize,
        Self::Output,
    ];

    /// The name in policies, records and output.
    pub const fn name(self) -> &'static str {
        self.key().split_at("limits.".len()).1
    }

    /// The key in a policy file, with its section.
    pub const fn key(self) -> &'static str {
        match self {
            Self::Time => "limits.time",
            Self::IdleTime => "limits.idle_time",
            Self::Memory => "limits.memory",
            Self::Cpu => "limits.cpu",
            Self::CpuTime => "limits.cpu_time",
            Self::Processes => "limits.processes",
            Self::Disk => "limits.disk",
            Self::Inodes => "limits.inodes",
            Self::OpenFiles => "limits.open_files",
            Self::FileSize => "limits.file_size",
            Self::Output => "limits.output",
        }
    }

    /// The limit of this name.
    pub fn parse(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|limit| limit.name() == name)
    }

    /// The number that stands for it in a policy object.
    pub const fn number(self) -> u64 {
        self as u64
    }

    /// What is counted.
    pub const fn unit(self) -> Unit {
        match self {
            Self::Time | Self::IdleTime | Self::CpuTime => Unit::Milliseconds,
            Self::Memory | Self::Disk | Self::FileSize | Self::Output => Unit::Bytes,
            Self::Cpu => Unit::ThousandthsOfACpu,
            Self::Processes | Self::Inodes | Self::OpenFiles => Unit::Pieces,
        }
    }

    /// The lowest and the highest value that makes sense, in [`Limit::unit`].
    pub const fn range(self) -> (u64, u64) {
        const YEAR_MS: u64 = 365 * 24 * 60 * 60 * 1000;
        const PIB: u64 = 1 << 50;
        match self {
            Self::Time | Self::IdleTime => (10, YEAR_MS),
            // RLIMIT_CPU counts whole seconds.
            Self::CpuTime => (1000, YEAR_MS),
            // Below, not even a shell starts.
            Self::Memory => (4 << 20, PIB),
            // The kernel gives no less than 1 ms of each 100 ms.
            Self::Cpu => (10, 1_000_000),
            Self::Processes => (1, 1 << 22),
            Self::Disk => (4096, PIB),
            Self::Inodes => (1, 1 << 32),
            // Below, no program finds its libraries.
            Self::OpenFiles => (8, 1 << 30),
            Self::FileSize | Self::Output => (1024, PIB),
        }
    }

    /// Whether running into it ends the workload by way of a clock.
    pub const fn is_of_time(self) -> bool {
        matches!(self, Self::Time | Self::IdleTime | Self::CpuTime)
    }
}

/// Every limit that a policy sets, each in its [`Limit::unit`].
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Limits([Option<u64>; Limit::ALL.len()]);

impl Limits {
    /// No limit at all.
    pub const NONE: Self = Self([None; Limit::ALL.len()]);

    /// Whether nothing is limited.
    pub fn is_empty(&self) -> bool {
        *self == Self::NONE
    }

    /// To how much something is limited.
    pub fn of(&self, limit: Limit) -> Option<u64> {
        self.0[limit as usize]
    }

    /// The same with another value; `None` is no limit.
    #[must_use]
    pub fn with(mut self, limit: Limit, value: Option<u64>) -> Self {
        self.0[limit as usize] = value;
        self
    }

    /// What is limited and to how much, in the order of [`Limit::ALL`].
    pub fn iter(&self) -> impl Iterator<Item = (Limit, u64)> + use<> {
        let values = self.0;
        Limit::ALL.into_iter().filter_map(move |limit| Some((limit, values[limit as usize]?)))
    }

    /// What is in force of them: what a backend reports of those that are its own to keep, and the one that isobox itself keeps,
    /// whatever the backend.
    pub fn in_force(&self, mut of_backend: Vec<LimitReport>) -> Vec<LimitReport> {
        let output = self.of(Limit::Output);
        of_backend.extend(
            output.map(|bytes| LimitReport::by(Limit::Output, bytes, "isobox keeps no more, and counts the rest")),
        );
        of_backend.sort_by_key(|report| report.limit);
        of_backend
    }

    /// Lowers each limit to that of `ceiling`; which ones were higher.
    pub fn lower(&mut self, ceiling: &Self) -> Vec<Limit> {
        let is_higher = |&(limit, most): &(Limit, u64)| self.of(limit).is_none_or(|asked| asked > most);
        let lowered: Vec<_> = ceiling.iter().filter(is_higher).collect();
        for (limit, most) in &lowered {
            self.0[*limit as usize] = Some(*most);
        }
        lowered.into_iter().map(|(limit, _)| limit).collect()
    }
}

/// A limit that was asked for, and whether it held.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LimitReport {
    /// What is limited.
    pub limit: Limit,
    /// To how much, in [`Limit::unit`].
    pub asked: u64,
    /// What is in force, as it was read back where it can be; `None` where nothing is.
    pub applied: Option<u64>,
    /// Whether it holds, and by what.
    pub enforcement: Enforcement,
}

impl LimitReport {
    /// One that nothing enforces.
    pub fn not(limit: Limit, asked: u64, reason: impl Into<String>) -> Self {
        Self { limit, asked, applied: None, enforcement: Enforcement::NotEnforced { reason: reason.into() } }
    }

    /// One that nothing gets past.
    pub fn by(limit: Limit, asked: u64, mechanism: impl Into<String>) -> Self {
        let enforcement = Enforcement::Enforced { mechanism: mechanism.into() };
        Self { limit, asked, applied: Some(asked), enforcement }
    }
}

/// A limit that the workload ran into.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ExceededLimit {
    /// Which one.
    pub limit: Limit,
    /// What was in force, in [`Limit::unit`].
    pub value: u64,
    /// What was seen, in the same unit; at least what was in force, but where only that was reached is known.
    pub observed: u64,
    /// How that is known, in words: `oom_kill 1`, `isobox's timer`.
    pub evidence: String,
    /// What came of it.
    pub effect: LimitEffect,
}

/// What came of running into a limit.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LimitEffect {
    /// It ended the workload.
    Ended,
    /// The workload was refused something, and went on.
    Refused,
    /// The workload did not notice.
    Unnoticed,
}

impl LimitEffect {
    /// Every effect.
    pub const ALL: [Self; 3] = [Self::Ended, Self::Refused, Self::Unnoticed];

    /// The name in records and output.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Ended => "ended",
            Self::Refused => "refused",
            Self::Unnoticed => "unnoticed",
        }
    }
}

/// As a person is told: the limit, its value, and what was seen.
impl fmt::Display for ExceededLimit {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (name, unit) = (self.limit.name(), self.limit.unit());
        let (value, observed) = (unit.shown(self.value), unit.shown(self.observed));
        match self.effect {
            LimitEffect::Ended => write!(f, "the limit {name}={value} ended the workload"),
            LimitEffect::Refused => write!(f, "the workload ran into the limit {name}={value}"),
            LimitEffect::Unnoticed => write!(f, "the limit {name}={value} was exceeded"),
        }?;
        write!(f, " (observed {observed}, {})", self.evidence)
    }
}

/// Whether limits that were run into decide the outcome of a workload that ended with `exit`: one that ended it does, and
/// one that refused it something if it did not succeed all the same.
pub fn decide(exceeded: &[ExceededLimit], exit: Option<Exit>) -> bool {
    exceeded.iter().any(|exceeded| match exceeded.effect {
        LimitEffect::Ended => true,
        LimitEffect::Refused => exit != Some(Exit::Code(0)),
        LimitEffect::Unnoticed => false,
    })
}

/// What the control [`Control::Limits`] sums up: it holds only if every limit does.
pub fn sum_up(reports: &[LimitReport]) -> ControlReport {
    let named =
        |reports: &[&LimitReport]| reports.iter().map(|report| report.limit.name()).collect::<Vec<_>>().join(", ");
    let (held, others): (Vec<_>, Vec<_>) = reports.iter().partition(|report| report.enforcement.is_enforced());
    let enforcement = match (held.is_empty(), others.is_empty()) {
        (true, true) => Enforcement::NotEnforced { reason: "the policy sets no limits".to_owned() },
        (false, true) => Enforcement::Enforced { mechanism: format!("each of {}", named(&held)) },
        (true, false) if others.iter().all(|report| report.enforcement.word() == "not_enforced") => {
            Enforcement::NotEnforced { reason: format!("none of {} is", named(&others)) }
        }
        _ => Enforcement::PartiallyEnforced {
            mechanism: if held.is_empty() { "see each limit".to_owned() } else { format!("each of {}", named(&held)) },
            reason: format!("not, or not wholly: {}", named(&others)),
        },
    };
    ControlReport { control: Control::Limits, enforcement }
}

#[cfg(test)]
mod tests;
