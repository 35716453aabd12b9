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
