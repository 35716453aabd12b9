//! The commands about the cache: pristine copies, and layers of the caches that were lent.

use clap::{Args, Subcommand};
use isobox_domain::retention::{parse_bytes, parse_period_ms};

/// `isobox cache`.
#[derive(Debug, Args)]
pub(crate) struct CacheArguments {
    /// What about it.
    #[command(subcommand)]
    pub(crate) command: CacheCommand,
}

/// What can be done with the cache.
#[derive(Debug, Subcommand)]
pub(crate) enum CacheCommand {
    /// List the pristine copies and the layers of lent caches: how large, when used last, and whether they can be used
    ///
    /// A layer is what workloads of a project added to the caches that its policy lends them (policy key `caches`).
    ///
    /// A copy is `usable` after a look at its seal and at some 64 of its files, from all over the commit. A task looks at
    /// fewer, other ones each time, and at all of them when a copy is first used after a start of the machine. So what
    /// somebody edits in the cache may be seen by tasks until then. With --verify all files are looked at now, and a copy
    /// that is as it was made is `whole`. One that is not is `damaged`, and made anew when a task needs it.
    #[command(after_help = "Examples:\n  isobox cache stat\n  isobox cache stat --verify\n  isobox cache stat --json")]
    Stat(CacheStatArguments),
    /// Remove pristine copies and layers of lent caches that are not worth their room
    ///
    /// Those that were used last stay, as many as are within the limits. None goes that a task uses, or that
    /// another copy lies on. Of copies, it also happens by itself, whenever one was made, by the limits that hold
    /// without a flag.
    #[command(after_help = "Examples:\n  \
        isobox cache prune --dry-run\n  \
        isobox cache prune --keep-within 14d\n  \
        isobox cache prune --max-size 2GiB\n  \
        isobox cache prune --all\n\n\
        A copy that is gone is made anew when a task needs it. A layer that is gone is empty again.")]
    Prune(CachePruneArguments),
}

/// `isobox cache stat`.
#[derive(Debug, Args)]
pub(crate) struct CacheStatArguments {
    /// Look at every file of every copy
    #[arg(long)]
    pub(crate) verify: bool,
    /// Print a JSON document
    #[arg(long)]
    pub(crate) json: bool,
}

/// `isobox cache prune`.
#[derive(Debug, Args)]
pub(crate) struct CachePruneArguments {
    /// Keep copies that were used since, such as 14d or 12h [default: 30d]
    #[arg(long, value_name = "PERIOD", value_parser = parse_period_ms)]
    pub(crate) keep_within: Option<u64>,
    /// Keep only as many of those used last as are within this size, such as 2GiB [default: 10GiB]
    #[arg(long, value_name = "SIZE", value_parser = parse_bytes)]
    pub(crate) max_size: Option<u64>,
    /// Keep none
    #[arg(long, conflicts_with_all = ["keep_within", "max_size"])]
    pub(crate) all: bool,
    /// Show what would go; change nothing
    #[arg(long)]
    pub(crate) dry_run: bool,
    /// Print a JSON document
    #[arg(long)]
    pub(crate) json: bool,
}
