//! The commands about a store itself.

use super::Place;
use clap::{Args, Subcommand};
use std::path::PathBuf;

/// `isobox store`.
#[derive(Debug, Args)]
pub(crate) struct StoreArguments {
    /// What about it.
    #[command(subcommand)]
    pub(crate) command: StoreCommand,
}

/// What can be done with a store.
#[derive(Debug, Subcommand)]
pub(crate) enum StoreCommand {
    /// Bring damaged content back from whole copies, here or elsewhere, and say what stays lost
    #[command(after_help = "Examples:\n  \
        isobox store repair --dry-run\n  \
        isobox store repair --from all.isobox\n  \
        isobox store repair --from /srv/build/app --from all.isobox\n\n\
        Nothing is deleted: a file that is replaced is kept in the store's quarantine.\n\
        Exits with 0 if nothing is wrong any more, 1 if something stays lost.")]
    Repair(RepairArguments),
    /// Make the tables anew by which content is found; they hold nothing that is not in the store
    #[command(after_help = "Examples:\n  isobox store rebuild-index")]
    RebuildIndex(RebuildIndexArguments),
}

/// `isobox store repair`.
#[derive(Debug, Args)]
pub(crate) struct RepairArguments {
    /// The project and the store.
    #[command(flatten)]
    pub(crate) place: Place,
    /// Print a JSON document
    #[arg(long)]
    pub(crate) json: bool,
    /// Say what could be done; change nothing
    #[arg(long)]
    pub(crate) dry_run: bool,
    /// An archive, a store, or a records directory or repository that has one, to take whole copies from; repeatable
    #[arg(long, value_name = "PATH")]
    pub(crate) from: Vec<PathBuf>,
}

/// `isobox store rebuild-index`.
#[derive(Debug, Args)]
pub(crate) struct RebuildIndexArguments {
    /// The project and the store.
    #[command(flatten)]
    pub(crate) place: Place,
}
