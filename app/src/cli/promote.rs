//! `isobox promote`.

use super::Place;
use clap::Args;
use std::ffi::OsString;

/// `isobox promote`.
#[derive(Debug, Args)]
pub(crate) struct PromoteArguments {
    /// The store, and the repository to promote into.
    #[command(flatten)]
    pub(crate) place: Place,
    /// Do not ask: the approval was given elsewhere
    #[arg(long, short)]
    pub(crate) yes: bool,
    /// Check and show everything, change nothing
    #[arg(long)]
    pub(crate) dry_run: bool,
    /// Promote a result that was promoted or rejected before
    #[arg(long)]
    pub(crate) again: bool,
    /// Stage the changes in the index too
    #[arg(long)]
    pub(crate) index: bool,
    /// Promote this path alone, or what changed below this directory; the rest can be promoted later (repeatable)
    #[arg(long, value_name = "PATH")]
    pub(crate) only: Vec<OsString>,
    /// Leave this path, or what changed below this directory, for later (repeatable)
    #[arg(long, value_name = "PATH")]
    pub(crate) except: Vec<OsString>,
    /// The task: an id or a prefix of one, @latest, @latest~N, b3:DIGEST, a record directory, or an archive
    #[arg(value_name = "TASK")]
    pub(crate) task: OsString,
}
