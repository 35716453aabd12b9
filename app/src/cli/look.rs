//! The commands that only look.

use super::Place;
use clap::builder::PossibleValue;
use clap::{Args, ValueEnum};
use isobox_domain::task_state::TaskState;
use std::ffi::OsString;

/// `isobox list`.
#[derive(Debug, Args)]
pub(crate) struct ListArguments {
    /// The project and the store.
    #[command(flatten)]
    pub(crate) place: Place,
    /// Print a JSON document
    #[arg(long)]
    pub(crate) json: bool,
    /// Only tasks in this state; repeatable
    #[arg(long, value_name = "STATE")]
    pub(crate) state: Vec<StateFlag>,
}

/// A state of a Task on the command line.
#[derive(Clone, Copy, Debug)]
pub(crate) struct StateFlag(pub(crate) TaskState);

impl ValueEnum for StateFlag {
    fn value_variants<'a>() -> &'a [Self] {
        const ALL: [StateFlag; TaskState::ALL.len()] = {
            let [a, b, c, d, e, f, g] = TaskState::ALL;
            [StateFlag(a), StateFlag(b), StateFlag(c), StateFlag(d), StateFlag(e), StateFlag(f), StateFlag(g)]
        };
        &ALL
    }

    fn to_possible_value(&self) -> Option<PossibleValue> {
        let meaning = match self.0 {
            TaskState::Running => "A process carries it out",
            TaskState::Interrupted => "isobox was interrupted or killed",
            TaskState::Unreviewed => "It ended, and nobody has decided about its result",
            TaskState::Unchanged => "It changed nothing, or never started: there is nothing to decide about",
            TaskState::Superseded => "Nobody has decided about it, and there is a newer attempt of the task",
            TaskState::Promoted => "Its result was promoted",
            TaskState::Rejected => "Its result was turned down",
        };
        Some(PossibleValue::new(self.0.name()).help(meaning))
    }
}

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
    #[arg(long, conflicts_with = "name_only")]
    pub(crate) stat: bool,
    /// Print the changed paths alone
    #[arg(long)]
    pub(crate) name_only: bool,
    /// Print every changed path, and what deserves a look, as a JSON document
    #[arg(long, conflicts_with_all = ["stat", "name_only"])]
    pub(crate) json: bool,
    /// The task: an id or a prefix of one, @latest, @latest~N, b3:DIGEST, a record directory, or an archive
    #[arg(value_name = "TASK")]
    pub(crate) task: OsString,
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
    /// Only standard output
    #[arg(long)]
    pub(crate) stdout: bool,
    /// Only standard error
    #[arg(long)]
    pub(crate) stderr: bool,
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
