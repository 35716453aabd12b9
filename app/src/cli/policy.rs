//! The commands about policies.

use super::Place;
use clap::{Args, Subcommand};

/// `isobox policy`.
#[derive(Debug, Args)]
pub(crate) struct PolicyArguments {
    /// What about it.
    #[command(subcommand)]
    pub(crate) command: PolicyCommand,
}

/// What can be done with a policy.
#[derive(Debug, Subcommand)]
pub(crate) enum PolicyCommand {
    /// Read the project's policy and your own, and show every mistake in them
    #[command(after_help = "Examples:\n  isobox policy check\n  isobox policy check --source /path/to/project")]
    Check(PolicyCheckArguments),
    /// Print the JSON Schema of policy files, for editors
    #[command(after_help = "Examples:\n  isobox policy schema > isobox-policy.schema.json")]
    Schema,
    /// Show what the project's policy says, or what holds in effect
    #[command(
        after_help = "Examples:\n  isobox policy show\n  isobox policy show --effective\n  isobox policy show --effective --json"
    )]
    Show(PolicyShowArguments),
}

/// `isobox policy check`.
#[derive(Debug, Args)]
pub(crate) struct PolicyCheckArguments {
    /// The project.
    #[command(flatten)]
    pub(crate) place: Place,
}

/// `isobox policy show`.
#[derive(Debug, Args)]
pub(crate) struct PolicyShowArguments {
    /// The project.
    #[command(flatten)]
    pub(crate) place: Place,
    /// Show every key with the value that holds, and where that comes from
    #[arg(long)]
    pub(crate) effective: bool,
    /// Print a JSON document
    #[arg(long)]
    pub(crate) json: bool,
}
