//! The commands about Runtime Backends.

use clap::{Args, Subcommand};
use std::path::PathBuf;

/// `isobox backend`.
#[derive(Debug, Args)]
pub(crate) struct BackendArguments {
    /// What about them.
    #[command(subcommand)]
    pub(crate) command: BackendCommand,
}

/// What can be done with backends.
#[derive(Debug, Subcommand)]
pub(crate) enum BackendCommand {
    /// Try every runtime backend here, and show what each enforces and which one `auto` takes
    ///
    /// A control is enforced, partially_enforced or not_enforced, under the most restrictive policy; limits as far as
    /// they are asked for. `auto` chooses for the policy of the project, as far as your own allows it and whether you trust it
    /// or not; outside of a repository, for the most restrictive one. Exits with 0, whatever is found.
    #[command(after_help = "Examples:\n  \
        isobox backend list\n  \
        isobox backend list /path/to/project\n  \
        isobox backend list --json")]
    List(BackendListArguments),
}

/// `isobox backend list`.
#[derive(Debug, Args)]
pub(crate) struct BackendListArguments {
    /// A directory, in a repository or not [default: the current directory]
    #[arg(value_name = "PATH")]
    pub(crate) path: Option<PathBuf>,
    /// Print a JSON document
    #[arg(long)]
    pub(crate) json: bool,
}
