//! The command that looks whether everything is ready.

use clap::Args;
use std::path::PathBuf;

/// `isobox doctor`.
#[derive(Debug, Args)]
pub(crate) struct DoctorArguments {
    /// A directory, in a repository or not [default: the current directory]
    #[arg(value_name = "PATH")]
    pub(crate) path: Option<PathBuf>,
    /// Attack a sandbox as the project's policy makes it from inside, too: an attack that gets through what is called
    /// enforced is an error
    #[arg(long)]
    pub(crate) probe: bool,
    /// Print a JSON document
    #[arg(long)]
    pub(crate) json: bool,
}
