//! Preflight Rules: checks that may refuse an action before a Sandbox exists.

/// A check that may refuse an action before a Sandbox exists.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum PreflightRule {
    /// The trusted repository has nothing staged, unstaged or untracked.
    CleanSource,
    /// The chosen Runtime Backend starts on this machine.
    BackendStarts,
    /// The Task Store can be written and has room.
    StoreWritable,
}

impl PreflightRule {
    /// Every rule, in the order in which they are looked at.
    pub const ALL: [Self; 3] = [Self::CleanSource, Self::BackendStarts, Self::StoreWritable];

    /// The name in policies and output.
    pub const fn name(self) -> &'static str {
        match self {
            Self::CleanSource => "reject_dirty_workspace_source",
            Self::BackendStarts => "backend_starts",
            Self::StoreWritable => "store_writable",
        }
    }

    /// Whether a project may go without the rule, by leaving it out of `preflight.rules`.
    const fn is_optional(self) -> bool {
        matches!(self, Self::CleanSource)
    }

    /// The rules that hold when a policy lists `chosen`: those that are not optional always do.
    pub fn in_force(chosen: &[Self]) -> Vec<Self> {
        Self::ALL.into_iter().filter(|rule| !rule.is_optional() || chosen.contains(rule)).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_policy_can_leave_out_optional_rules_only() {
        use PreflightRule::*;
        assert_eq!(PreflightRule::in_force(&[]), [BackendStarts, StoreWritable]);
        assert_eq!(PreflightRule::in_force(&[CleanSource]), PreflightRule::ALL);
    }
}
