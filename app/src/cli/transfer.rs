//! The commands that move records in and out of a Task Store.

use super::Place;
use clap::{Args, Subcommand, ValueEnum};
use std::ffi::OsString;
use std::path::PathBuf;

/// The commands that move records.
#[derive(Debug, Subcommand)]
pub(crate) enum TransferCommand {
    /// Take over the record directories of version 1 of isobox
    #[command(after_help = "Examples:\n  \
        isobox import .isobox/tasks\n  \
        isobox import --records /var/lib/isobox old/task-0123456789abcdef\n\n\
        The directories stay as they are. What was imported before is left alone, so importing again is safe.\n\
        Exits with 1 when a directory could not be imported; all others are.")]
    Import(ImportArguments),
    /// Write a task's record and artifacts as plain files, into a directory named after the task
    #[command(after_help = "Examples:\n  \
        isobox export @latest ../out\n  \
        isobox export --layout v1 task-0123 ../old-format\n  \
        isobox export --layout v1 @all ../old-format\n  \
        isobox export --format in-toto @latest ../statements\n\n\
        Git does not ignore what is exported into the repository: until it is gone or ignored, tasks are refused there.")]
    Export(ExportArguments),
}

/// `isobox import`.
#[derive(Debug, Args)]
pub(crate) struct ImportArguments {
    /// The project and the store.
    #[command(flatten)]
    pub(crate) place: Place,
    /// Print a JSON document
    #[arg(long)]
    pub(crate) json: bool,
    /// Record directories, or directories that hold them
    #[arg(value_name = "PATH", required = true)]
    pub(crate) paths: Vec<PathBuf>,
}

/// `isobox export`.
#[derive(Debug, Args)]
pub(crate) struct ExportArguments {
    /// The project and the store.
    #[command(flatten)]
    pub(crate) place: Place,
    /// Print a JSON document
    #[arg(long)]
    pub(crate) json: bool,
    /// What the files look like
    #[arg(long, value_enum, default_value = "view")]
    pub(crate) layout: LayoutName,
    /// Write one document in place of the files
    #[arg(long, value_enum, conflicts_with = "layout")]
    pub(crate) format: Option<FormatName>,
    /// The task: an id or a prefix of one, @latest, @latest~N, b3:DIGEST, or a record directory; @all for every task
    #[arg(value_name = "TASK")]
    pub(crate) task: OsString,
    /// The directory to write into; it is made if it is not there
    #[arg(value_name = "DEST")]
    pub(crate) destination: PathBuf,
}

/// The names of formats.
#[derive(Clone, Copy, Debug, ValueEnum)]
pub(crate) enum FormatName {
    /// What the record says, as an in-toto Statement
    InToto,
    /// That, signed with the key of the log, in a DSSE envelope
    Dsse,
}

/// The names of layouts.
#[derive(Clone, Copy, Debug, ValueEnum)]
pub(crate) enum LayoutName {
    /// As a view below .isobox/tasks
    View,
    /// As version 1 of isobox writes it; an imported record as it was
    V1,
}
