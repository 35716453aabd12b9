//! The commands that only look.

use super::Place;
use clap::Args;
use std::ffi::OsString;

/// `isobox show`.
#[derive(Debug, Args)]
pub(crate) struct ShowArguments {
    /// The project and the store.
    #[command(flatten)]
    pub(crate) place: Place,
    /// Print the record as a JSON document
    #[arg(long)]
    pub(crate) json: bool,
    /// Print the record's own bytes, whose BLAKE3 is its digest
    #[arg(long, conflicts_with = "json")]
    pub(crate) raw: bool,
    /// Print `[redacted]` in place of secret-shaped strings
    #[arg(long)]
    pub(crate) redact: bool,
    /// The task: an id or a prefix of one, @latest, @latest~N, b3:DIGEST, a record directory, or an archive
    #[arg(value_name = "TASK")]
    pub(crate) task: OsString,
}

/// `isobox diff`.
#[derive(Debug, Args)]
pub(crate) struct DiffArguments {
    /// The project and the store.
    #[command(flatten)]
    pub(crate) place: Place,
    /// Print one line per changed path and a total
    #[arg(long, conflicts_with = "name_only")]
    pub(crate) stat: bool,
    /// Print the changed paths alone
    #[arg(long)]
    pub(crate) name_only: bool,
    /// Print every changed path, and what deserves a look, as a JSON document
    #[arg(long, conflicts_with_all = ["stat", "name_only", "paths"])]
    pub(crate) json: bool,
    /// The task: an id or a prefix of one, @latest, @latest~N, b3:DIGEST, a record directory, or an archive
    // Completion adds it anew, behind PATH: their places are said.
    #[arg(value_name = "TASK", index = 1)]
    pub(crate) task: OsString,
    /// These paths alone, from the root of the repository; a directory stands for all below it
    #[arg(value_name = "PATH", index = 2)]
    pub(crate) paths: Vec<OsString>,
}

/// `isobox logs`.
#[derive(Debug, Args)]
pub(crate) struct LogsArguments {
    /// The project and the store.
    #[command(flatten)]
    pub(crate) place: Place,
    /// Print what a running task writes as it comes, until it is over
    #[arg(long, short)]
    pub(crate) follow: bool,
    /// Only standard output
    #[arg(long)]
    pub(crate) stdout: bool,
    /// Only standard error
    #[arg(long)]
    pub(crate) stderr: bool,
    /// Print `[redacted]` in place of secret-shaped strings
    #[arg(long)]
    pub(crate) redact: bool,
    /// The task: an id or a prefix of one, @latest, @latest~N, b3:DIGEST, a record directory, or an archive
    #[arg(value_name = "TASK")]
    pub(crate) task: OsString,
}

/// `isobox cat`.
#[derive(Debug, Args)]
pub(crate) struct CatArguments {
    /// The project and the store.
    #[command(flatten)]
    pub(crate) place: Place,
    /// The task, a colon, and the path from the root of the repository
    #[arg(value_name = "TASK:PATH")]
    pub(crate) file: OsString,
}
