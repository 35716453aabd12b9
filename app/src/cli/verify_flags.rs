//! Flags that have a result verified before it is promoted.

use super::TrustFlag;
use clap::Args;
use std::ffi::OsString;

/// Whether and how a result is verified before it is promoted.
#[derive(Clone, Debug, Args)]
pub(crate) struct VerifyFlags {
    /// First run the policy's `verification.commands` on what would be promoted, in a sandbox of its own; if one fails,
    /// nothing is promoted
    #[arg(long)]
    pub(crate) verify: bool,
    /// The same with this command, as `sh -c` takes it: in place of the policy's, with --verify after them (repeatable)
    #[arg(long, value_name = "COMMAND")]
    pub(crate) verify_command: Vec<OsString>,
    /// Whether the policy that says how is trusted.
    #[command(flatten)]
    pub(crate) trust: TrustFlag,
}

impl VerifyFlags {
    /// Whether anything is to be verified.
    pub(crate) fn is_asked(&self) -> bool {
        self.verify || !self.verify_command.is_empty()
    }
}
