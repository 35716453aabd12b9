//! `isobox promote`.

use super::{Place, VerifyFlags};
use clap::{Args, ValueEnum};
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
    /// Merge into what HEAD is now, and leave other uncommitted changes as they are: where HEAD moved, or something else is changed
    #[arg(long = "three-way", alias = "3way", conflicts_with = "branch")]
    pub(crate) three_way: bool,
    /// What to do where both changed the same lines
    #[arg(
        long, value_name = "HOW", value_enum, default_value_t = ConflictStyle::Refuse, requires = "three_way",
        conflicts_with_all = ["index", "committing"]
    )]
    pub(crate) conflict: ConflictStyle,
    /// Promote this path alone, or what changed below this directory; the rest can be promoted later (repeatable)
    #[arg(long, value_name = "PATH")]
    pub(crate) only: Vec<OsString>,
    /// Leave this path, or what changed below this directory, for later (repeatable)
    #[arg(long, value_name = "PATH")]
    pub(crate) except: Vec<OsString>,
    /// Ask about each changed path and hunk, with the keys of `git add -p`; the rest can be promoted later
    #[arg(long, short)]
    pub(crate) patch: bool,
    /// Promote what was accepted in `isobox review`; the rest can be promoted later
    #[arg(long, conflicts_with = "patch")]
    pub(crate) reviewed: bool,
    /// Promote what the policy keeps out (`promotion.require`, `promotion.block`), and put REASON on record
    #[arg(long = "override", value_name = "REASON", value_parser = parse_reason)]
    pub(crate) override_reason: Option<String>,
    /// Whether it is verified first.
    #[command(flatten)]
    pub(crate) verify: VerifyFlags,
    /// The task: an id or a prefix of one, @latest, @latest~N, b3:DIGEST, a record directory, or an archive
    #[arg(value_name = "TASK")]
    pub(crate) task: OsString,
}

/// What a merge does where both changed the same lines.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum ConflictStyle {
    /// Promote nothing, and list the paths
    Refuse,
    /// Write both between conflict markers, as `git merge` does
    Markers,
}

fn parse_reason(text: &str) -> Result<String, &'static str> {
    if text.trim().is_empty() { Err("a reason has words in it") } else { Ok(text.to_owned()) }
}
