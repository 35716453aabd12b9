//! The commands that act on tasks.

use super::{Place, RequireFlag, TellingFlags, TrustFlag, TurnFlags};
use clap::{Args, Subcommand};
use std::ffi::OsString;
use std::path::PathBuf;

/// The commands that act on tasks.
#[derive(Debug, Subcommand)]
pub(crate) enum ActCommand {
    /// Turn a task's result down, so that it is not promoted
    #[command(after_help = "Examples:\n  \
        isobox reject @latest\n  \
        isobox reject task-0123 --reason 'breaks the public interface'")]
    Reject(RejectArguments),
    /// Take the last promotion back, if its files are as it left them
    ///
    /// It is the last one into this working tree, whichever task it was of: what it replaced is kept until the next one.
    /// A branch that it made is removed, if nothing was committed on it since.
    #[command(after_help = "Examples:\n  isobox undo\n  isobox undo --source /path/to/project")]
    Undo(UndoArguments),
    /// End a running task from another terminal; what it did until then is recorded
    #[command(after_help = "Examples:\n  isobox stop @latest\n  isobox stop task-0123")]
    Stop(TaskArguments),
    /// Wait until a task is over, and exit as it did
    ///
    /// A command that could not be started gives 126, whether it was found or not.
    #[command(after_help = "Examples:\n  isobox wait @latest\n  isobox wait task-0123 && isobox promote task-0123")]
    Wait(TaskArguments),
    /// Attempt a task once more: the same command under the same policy
    #[command(after_help = "Examples:\n  \
        isobox rerun @latest\n  \
        isobox rerun --current task-0123\n\n\
        The new attempt starts from the commit of the earlier one, or with --current from HEAD.\n\
        Standard input is not kept, so it is the caller's own; a command with masked secrets cannot be attempted again.\n\
        Where the earlier attempt could do more than the policy that you trust now allows, you are asked.\n\
        --trust-policy says yes to that, too.")]
    Rerun(RerunArguments),
    /// List or remove workspaces that were kept
    #[command(subcommand, after_help = "Examples:\n  isobox workspace list\n  isobox workspace dispose task-0123")]
    Workspace(WorkspaceCommand),
}

/// A command that takes a task alone.
#[derive(Debug, Args)]
pub(crate) struct TaskArguments {
    /// The project and the store.
    #[command(flatten)]
    pub(crate) place: Place,
    /// The task: an id or a prefix of one, or @latest
    #[arg(value_name = "TASK")]
    pub(crate) task: OsString,
}

/// `isobox reject`.
#[derive(Debug, Args)]
pub(crate) struct RejectArguments {
    /// The project and the store.
    #[command(flatten)]
    pub(crate) place: Place,
    /// Why, in your words
    #[arg(long, short = 'm', value_name = "TEXT", default_value = "", hide_default_value = true)]
    pub(crate) reason: String,
    /// The task: an id or a prefix of one, @latest, @latest~N, b3:DIGEST, or a record directory
    #[arg(value_name = "TASK")]
    pub(crate) task: OsString,
}

/// `isobox undo`.
#[derive(Debug, Args)]
pub(crate) struct UndoArguments {
    /// A directory in the repository [default: the current directory]
    #[arg(long, value_name = "PATH")]
    pub(crate) source: Option<PathBuf>,
}

/// `isobox rerun`.
#[derive(Debug, Args)]
pub(crate) struct RerunArguments {
    /// The project and the store.
    #[command(flatten)]
    pub(crate) place: Place,
    /// Where scripts are told about it.
    #[command(flatten)]
    pub(crate) telling: TellingFlags,
    /// Whether the project's policy is trusted.
    #[command(flatten)]
    pub(crate) trust: TrustFlag,
    /// What has to be enforced.
    #[command(flatten)]
    pub(crate) require: RequireFlag,
    /// Take along what is not committed: changed, staged and untracked files, but for those that Git ignores
    #[arg(long)]
    pub(crate) allow_dirty: bool,
    /// What to do beside other tasks.
    #[command(flatten)]
    pub(crate) turn: TurnFlags,
    /// Start from the current commit instead of the one that the task started from
    #[arg(long)]
    pub(crate) current: bool,
    /// Keep the workspace after the attempt and print where it is
    #[arg(long)]
    pub(crate) retain_workspace: bool,
    /// Attack a sandbox like this one from inside first, record what came of it, and refuse if an attack gets through
    /// what is called enforced
    #[arg(long)]
    pub(crate) probe: bool,
    /// The task: an id or a prefix of one, @latest, @latest~N, b3:DIGEST, or a record directory
    #[arg(value_name = "TASK")]
    pub(crate) task: OsString,
}

/// `isobox workspace`.
#[derive(Debug, Subcommand)]
pub(crate) enum WorkspaceCommand {
    /// List the workspaces that were kept for tasks of this store
    #[command(after_help = "Examples:\n  isobox workspace list\n  isobox workspace list --json")]
    List(WorkspaceListArguments),
    /// Remove workspaces that were kept; the records stay
    #[command(after_help = "Examples:\n  isobox workspace dispose @latest\n  isobox workspace dispose --all")]
    Dispose(WorkspaceDisposeArguments),
}

/// `isobox workspace list`.
#[derive(Debug, Args)]
pub(crate) struct WorkspaceListArguments {
    /// The project and the store.
    #[command(flatten)]
    pub(crate) place: Place,
    /// Print a JSON document
    #[arg(long)]
    pub(crate) json: bool,
}

/// `isobox workspace dispose`.
#[derive(Debug, Args)]
pub(crate) struct WorkspaceDisposeArguments {
    /// The project and the store.
    #[command(flatten)]
    pub(crate) place: Place,
    /// All that were kept for tasks of this store
    #[arg(long, conflicts_with = "tasks")]
    pub(crate) all: bool,
    /// The tasks: ids or prefixes of them, @latest, @latest~N, b3:DIGEST, or record directories
    #[arg(value_name = "TASK", required_unless_present = "all")]
    pub(crate) tasks: Vec<OsString>,
}
