//! The commands about the transparency log.

use super::Place;
use clap::{Args, Subcommand};
use isobox_store_format::log::VerifierKey;
use std::ffi::OsString;
use std::path::PathBuf;

/// `isobox audit`.
#[derive(Debug, Args)]
pub(crate) struct AuditArguments {
    /// What about it.
    #[command(subcommand)]
    pub(crate) command: AuditCommand,
}

/// What can be done with a log.
#[derive(Debug, Subcommand)]
pub(crate) enum AuditCommand {
    /// Make the key that signs the log of this store, and print the one that verifies it
    ///
    /// The key lies in isobox/keys of XDG_CONFIG_HOME, outside of the store, and is never replaced.
    #[command(after_help = "Examples:\n  \
        isobox audit init-key\n  \
        isobox audit init-key --name example.com/team/app > app.vkey")]
    InitKey(AuditKeyArguments),
    /// Bring the log up to date, sign it, and print the checkpoint
    ///
    /// Copy what it prints to a place that whoever can write to the store cannot change: only that shows later that
    /// nothing was removed or made anew. Exits with 1 when a lane could not be logged to its end.
    #[command(after_help = "Examples:\n  \
        isobox audit checkpoint > checkpoint\n  \
        isobox audit checkpoint --json")]
    Checkpoint(AuditCheckpointArguments),
    /// Print a proof that a task's record is in the log
    #[command(after_help = "Examples:\n  \
        isobox audit prove @latest > task.tlog-proof\n  \
        isobox audit prove --since checkpoint @latest > task.tlog-proof")]
    Prove(AuditProveArguments),
    /// Check a proof, with no store and no network
    ///
    /// Exits with 0 if it holds, 1 if not.
    #[command(after_help = "Examples:\n  \
        isobox audit check task.tlog-proof\n  \
        isobox audit check --since checkpoint --key \"$(cat app.vkey)\" task.tlog-proof")]
    Check(AuditCheckArguments),
    /// Write what is damaged of the log anew, from what is left of it and from the lanes
    ///
    /// Nothing is written unless all of it leads to the newest checkpoint.
    #[command(after_help = "Examples:\n  isobox audit rebuild\n  isobox audit rebuild --json")]
    Rebuild(AuditRebuildArguments),
}

/// `isobox audit init-key`.
#[derive(Debug, Args)]
pub(crate) struct AuditKeyArguments {
    /// The project and the store.
    #[command(flatten)]
    pub(crate) place: Place,
    /// What the log is called, without blanks and `+`, such as example.com/app [default: a name of its own]
    #[arg(long, value_name = "ORIGIN")]
    pub(crate) name: Option<String>,
}

/// `isobox audit checkpoint`.
#[derive(Debug, Args)]
pub(crate) struct AuditCheckpointArguments {
    /// The project and the store.
    #[command(flatten)]
    pub(crate) place: Place,
    /// Print a JSON document
    #[arg(long)]
    pub(crate) json: bool,
    /// Log COMMITs that damage took before they were logged as lost, for good, and go on behind them
    #[arg(long)]
    pub(crate) accept_losses: bool,
}

/// `isobox audit prove`.
#[derive(Debug, Args)]
pub(crate) struct AuditProveArguments {
    /// The project and the store.
    #[command(flatten)]
    pub(crate) place: Place,
    /// Prove, too, that this older checkpoint is of the beginning of the log
    #[arg(long, value_name = "CHECKPOINT")]
    pub(crate) since: Option<PathBuf>,
    /// The task: an id or a prefix of one, @latest, @latest~N, b3:DIGEST, or a record directory
    #[arg(value_name = "TASK")]
    pub(crate) task: OsString,
}

/// `isobox audit check`.
#[derive(Debug, Args)]
pub(crate) struct AuditCheckArguments {
    /// Print a JSON document
    #[arg(long)]
    pub(crate) json: bool,
    /// Check, too, that this older checkpoint is of the beginning of the log
    #[arg(long, value_name = "CHECKPOINT")]
    pub(crate) since: Option<PathBuf>,
    /// The key that has to vouch for it, as init-key prints it [default: any of this user's]
    #[arg(long, value_name = "VKEY")]
    pub(crate) key: Option<VerifierKey>,
    /// The proof
    #[arg(value_name = "PROOF")]
    pub(crate) proof: PathBuf,
}

/// `isobox audit rebuild`.
#[derive(Debug, Args)]
pub(crate) struct AuditRebuildArguments {
    /// The project and the store.
    #[command(flatten)]
    pub(crate) place: Place,
    /// Print a JSON document
    #[arg(long)]
    pub(crate) json: bool,
}
