//! How much a changed path deserves a look.

/// How soon a reviewer should look: ascending, so that the greatest level of a path is its own.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum RiskLevel {
    /// Worth knowing.
    Low,
    /// Acts once somebody uses the project, or cannot be judged by reading.
    Medium,
    /// Acts by itself, hides something, or gives something away.
    High,
}

impl RiskLevel {
    /// Every level, the one to look at first being first.
    pub const ALL: [Self; 3] = [Self::High, Self::Medium, Self::Low];

    /// The name in output.
    pub const fn name(self) -> &'static str {
        match self {
            Self::High => "high",
            Self::Medium => "medium",
            Self::Low => "low",
        }
    }

    pub(super) fn index(self) -> usize {
        self as usize
    }
}
