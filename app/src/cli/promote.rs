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
    /// Stage the changes and commit them on HEAD; no hook runs
    #[arg(long, group = "committing", conflicts_with = "index")]
    pub(crate) commit: bool,
    /// Commit the changes on a new branch, from where the task started; the working tree stays as it is
    #[arg(long, value_name = "NAME", group = "committing", conflicts_with = "index")]
    pub(crate) branch: Option<OsString>,
    /// What the commit of --commit or --branch says; a repeated one is a further paragraph
    #[arg(long, short, value_name = "MESSAGE", requires = "committing")]
    pub(crate) message: Vec<OsString>,
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
