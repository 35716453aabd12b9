//! The commands about a Task Store as a whole.

use super::Place;
use clap::{Args, Subcommand};
use isobox_domain::retention::{parse_bytes, parse_period_ms};
use std::ffi::OsString;
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
    /// Tell how much the store holds by kinds, what that takes on disk, and what of it is of no use
    #[command(after_help = "Examples:\n  \
        isobox store stat\n  \
        isobox store stat --json\n  \
        isobox store stat --records=/var/lib/isobox\n\n\
        Every header of the store is gone through, and every change set; `isobox verify` reads the content too.")]
    Stat(StoreStatArguments),
    /// Store what is there in less room; loses nothing
    ///
    /// What is alike is compressed together, and many files become few. Tasks may run and be looked at meanwhile. It also
    /// happens by itself, in the background, once two packs of 64 MiB gain by it.
    #[command(after_help = "Examples:\n  isobox store compact\n  isobox store compact --json")]
    Compact(StoreCompactArguments),
    /// Show which records no rule keeps, and with --apply remove them
    ///
    /// A record stays if one of the --keep rules holds for it. Pinned records stay, and so does work that was never promoted
    /// or rejected, unless --drop-unpromoted is given. With --max-size, what the rules keep goes too, the oldest first, until
    /// all together is within the size, each record counted with its content before compression. An event says of every
    /// record that it was removed, when, and by what rule; its COMMIT stays.
    #[command(after_help = "Examples:\n  \
        isobox store prune --keep-last 100 --keep-within 30d\n  \
        isobox store prune --keep-within 90d --keep-promoted --apply\n  \
        isobox store prune --max-size 10GiB")]
    Prune(StorePruneArguments),
    /// Keep tasks whatever a prune would remove
    #[command(after_help = "Examples:\n  isobox store pin @latest")]
    Pin(StorePinArguments),
    /// Keep tasks no more than others
    #[command(after_help = "Examples:\n  isobox store unpin @latest")]
    Unpin(StorePinArguments),
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

/// `isobox store prune`.
#[derive(Debug, Args)]
pub(crate) struct StorePruneArguments {
    /// The project and the store.
    #[command(flatten)]
    pub(crate) place: Place,
    /// Keep the newest N records
    #[arg(long, value_name = "N")]
    pub(crate) keep_last: Option<u64>,
    /// Keep records that are not older, such as 30d or 12h
    #[arg(long, value_name = "PERIOD", value_parser = parse_period_ms)]
    pub(crate) keep_within: Option<u64>,
    /// Keep records of attempts that did not succeed
    #[arg(long)]
    pub(crate) keep_failed: bool,
    /// Keep records whose result was promoted
    #[arg(long)]
    pub(crate) keep_promoted: bool,
    /// Let also changes go that nobody promoted or rejected; they are kept else
    #[arg(long)]
    pub(crate) drop_unpromoted: bool,
    /// Keep only as many of the newest as are within this size, such as 10GiB
    #[arg(long, value_name = "SIZE", value_parser = parse_bytes)]
    pub(crate) max_size: Option<u64>,
    /// Remove what is shown; else nothing is changed
    #[arg(long)]
    pub(crate) apply: bool,
    /// Go by the clock although it may have jumped
    #[arg(long)]
    pub(crate) trust_clock: bool,
    /// Print a JSON document
    #[arg(long)]
    pub(crate) json: bool,
}

/// `isobox store pin` and `isobox store unpin`.
#[derive(Debug, Args)]
pub(crate) struct StorePinArguments {
    /// The project and the store.
    #[command(flatten)]
    pub(crate) place: Place,
    /// The tasks: of each, its newest attempt
    #[arg(value_name = "TASK", required = true)]
    pub(crate) tasks: Vec<OsString>,
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
