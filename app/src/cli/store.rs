//! `isobox store`.

use super::Place;
use clap::{Args, Subcommand};

/// `isobox store`.
#[derive(Debug, Subcommand)]
pub(crate) enum StoreCommand {
    /// Tell how much the store holds by kinds, what that takes on disk, and what of it is of no use
    #[command(after_help = "Examples:\n  \
        isobox store stat\n  \
        isobox store stat --json\n  \
        isobox store stat --records=/var/lib/isobox\n\n\
        Every header of the store is gone through, and every change set; `isobox verify` reads the content too.")]
    Stat(StoreStatArguments),
}

/// `isobox store stat`.
#[derive(Debug, Args)]
pub(crate) struct StoreStatArguments {
    /// The project and the store.
    #[command(flatten)]
    pub(crate) place: Place,
    /// Print a JSON document
    #[arg(long)]
    pub(crate) json: bool,
}
