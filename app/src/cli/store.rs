//! The commands about a Task Store as a whole.

use super::Place;
use clap::{Args, Subcommand};

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
    /// Store what is there in less room; loses nothing
    ///
    /// What is alike is compressed together, and many files become few. Tasks may run and be looked at meanwhile. It also
    /// happens by itself, in the background, once two packs of 64 MiB gain by it.
    #[command(
        after_help = "Examples:\n  isobox store compact\n  isobox store compact --records=/var/lib/isobox --json"
    )]
    Compact(StoreCompactArguments),
}

/// `isobox store compact`.
#[derive(Debug, Args)]
pub(crate) struct StoreCompactArguments {
    /// The project and the store.
    #[command(flatten)]
    pub(crate) place: Place,
    /// Print a JSON document
    #[arg(long)]
    pub(crate) json: bool,
    /// Leave the lanes that tasks are put into as they are, and the machine to others
    #[arg(long)]
    pub(crate) background: bool,
}
