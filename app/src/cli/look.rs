//! The commands that only look.

use super::Place;
use crate::output::diff_tool::DiffTool;
use clap::{Args, ValueEnum};
use std::ffi::OsString;

/// `isobox show`.
#[derive(Debug, Args)]
pub(crate) struct ShowArguments {
    /// The project and the store.
    #[command(flatten)]
    pub(crate) place: Place,
    /// Print the record as a JSON document
    #[arg(long)]
    pub(crate) json: bool,
    /// Print the record's own bytes, whose BLAKE3 is its digest
    #[arg(long, conflicts_with = "json")]
    pub(crate) raw: bool,
    /// Print `[redacted]` in place of secret-shaped strings
    #[arg(long)]
    pub(crate) redact: bool,
    /// The task: an id or a prefix of one, @latest, @latest~N, b3:DIGEST, a record directory, or an archive
    #[arg(value_name = "TASK")]
    pub(crate) task: OsString,
}

/// `isobox diff`.
#[derive(Debug, Args)]
pub(crate) struct DiffArguments {
    /// The project and the store.
    #[command(flatten)]
    pub(crate) place: Place,
    /// Print one line per changed path and a total
    #[arg(long, conflicts_with_all = ["name_only", "name_status"])]
    pub(crate) stat: bool,
    /// Print the changed paths alone
    #[arg(long, group = "names")]
    pub(crate) name_only: bool,
    /// Print a letter and the path for each change, as Git does: R090 and two paths for a rename
    #[arg(long, group = "names")]
    pub(crate) name_status: bool,
    /// Print paths as they are with a NUL after each, where --name-only and --name-status quote unusual ones as Git does
    #[arg(short = 'z', requires = "names")]
    pub(crate) nul_terminated: bool,
    /// Show a deleted and an added file as one that was renamed if they share so many percent, 50 unless said
    #[arg(long, short = 'M', value_name = "PERCENT", num_args = 0..=1, require_equals = true, default_missing_value = "50")]
    #[arg(value_parser = clap::value_parser!(u8).range(1..=100))]
    pub(crate) find_renames: Option<u8>,
    /// Show a renamed file as one that was deleted and one that was added
    #[arg(long, conflicts_with = "find_renames")]
    pub(crate) no_renames: bool,
    /// How to colour lines that were moved: zebra tells one block from the next
    #[arg(long, value_enum, value_name = "MODE", default_value_t)]
    pub(crate) color_moved: ColorMoved,
    /// Colour code by the side that it is on alone, not by its grammar
    #[arg(long)]
    pub(crate) no_syntax: bool,
    /// Let another program show it: delta, difft, or the difftool that Git is configured to use
    #[arg(long, value_enum, value_name = "TOOL", conflicts_with_all = ["stat", "name_only", "name_status", "json"])]
    pub(crate) tool: Option<DiffTool>,
    /// Print every changed path, and what deserves a look, as a JSON document
    #[arg(long, conflicts_with_all = ["stat", "name_only", "name_status", "paths"])]
    pub(crate) json: bool,
    /// The task: an id or a prefix of one, @latest, @latest~N, b3:DIGEST, a record directory, or an archive
    // Completion adds it anew, behind PATH: their places are said.
    #[arg(value_name = "TASK", index = 1)]
    pub(crate) task: OsString,
    /// These paths alone, from the root of the repository; a directory stands for all below it
    #[arg(value_name = "PATH", index = 2)]
    pub(crate) paths: Vec<OsString>,
}

/// How moved lines are coloured.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
pub(crate) enum ColorMoved {
    /// Apart from other changed lines, and blocks that follow each other in turns
    #[default]
    Zebra,
    /// As other changed lines
    No,
}

/// `isobox compare`.
#[derive(Debug, Args)]
pub(crate) struct CompareArguments {
    /// The project and the store.
    #[command(flatten)]
    pub(crate) place: Place,
    /// Print every path, and what is known of the tasks, as a JSON document
    #[arg(long)]
    pub(crate) json: bool,
    /// Two tasks or more, each as other commands take it: an id, @latest, @latest~N, b3:DIGEST, an archive
    // Completion adds it anew, behind PATH: their places are said.
    #[arg(value_name = "TASK", required = true, num_args = 2.., index = 1)]
    pub(crate) tasks: Vec<OsString>,
    /// These paths alone, from the root of the repository; a directory stands for all below it
    #[arg(value_name = "PATH", last = true, index = 2)]
    pub(crate) paths: Vec<OsString>,
}

/// `isobox logs`.
#[derive(Debug, Args)]
pub(crate) struct LogsArguments {
    /// The project and the store.
    #[command(flatten)]
    pub(crate) place: Place,
    /// Print what a running task writes as it comes, until it is over
    #[arg(long, short)]
    pub(crate) follow: bool,
    /// Put before each line when its first byte came, in UTC
    #[arg(long, short)]
    pub(crate) timestamps: bool,
    /// Only standard output
    #[arg(long)]
    pub(crate) stdout: bool,
    /// Only standard error
    #[arg(long)]
    pub(crate) stderr: bool,
    /// Print `[redacted]` in place of secret-shaped strings
    #[arg(long)]
    pub(crate) redact: bool,
    /// The task: an id or a prefix of one, @latest, @latest~N, b3:DIGEST, a record directory, or an archive
    #[arg(value_name = "TASK")]
    pub(crate) task: OsString,
}

/// `isobox cat`.
#[derive(Debug, Args)]
pub(crate) struct CatArguments {
    /// The project and the store.
    #[command(flatten)]
    pub(crate) place: Place,
    /// The task, a colon, and the path from the root of the repository
    #[arg(value_name = "TASK:PATH")]
    pub(crate) file: OsString,
}
