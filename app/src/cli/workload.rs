//! `isobox run` and `isobox tool`.

use super::{GlobalFlags, Place, PolicyFlags, RequireFlag, TellingFlags, TrustFlag, TurnFlags, WorkspaceFlag};
use clap::{Args, Parser, Subcommand};
use std::ffi::OsString;

/// The commands that attempt a task.
#[derive(Debug, Subcommand)]
pub(crate) enum AttemptCommand {
    /// Run an agent session in a sandbox and record it
    #[command(after_help = "Examples:\n  \
        isobox run -- ./agent --task 'fix the tests'\n  \
        isobox run --source=/path/to/repository --records=/var/lib/isobox -- make\n  \
        isobox run --network inherited --unsafe-network --retain-workspace -- make\n  \
        isobox run --require network,processes -- make\n  \
        isobox run --allow-dirty -- make\n  \
        isobox run --max-tasks 4 -- make")]
    Run(Box<RunArguments>),
    /// Run one tool command of an agent in a sandbox and record it
    #[command(after_help = "Examples:\n  \
        isobox tool -- make test\n  \
        isobox tool --max-tasks 4 --no-wait -- make test\n  \
        isobox tool --timings -- make test\n  \
        isobox tool --allow-dirty -- make test\n  \
        isobox tool --require network -- make test\n  \
        isobox tool -- sh -c 'printf \"changed\\n\" > README.md'")]
    Tool(ToolArguments),
}

/// These commands alone. Agents call them all the time, and it takes far longer to make the definitions of all commands.
#[derive(Debug, Parser)]
#[command(name = "isobox")]
pub(super) struct AttemptAlone {
    #[command(flatten)]
    pub(super) global: GlobalFlags,
    #[command(subcommand)]
    pub(super) command: AttemptCommand,
}

/// `isobox run`.
#[derive(Debug, Args)]
pub(crate) struct RunArguments {
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
    /// What the workspace is made of.
    #[command(flatten)]
    pub(crate) workspace: WorkspaceFlag,
    /// Take along what is not committed: changed, staged and untracked files, but for those that Git ignores
    #[arg(long)]
    pub(crate) allow_dirty: bool,
    /// What to do beside other tasks.
    #[command(flatten)]
    pub(crate) turn: TurnFlags,
    /// Attack a sandbox like this one from inside first, record what came of it, and refuse if an attack gets through
    /// what is called enforced
    #[arg(long)]
    pub(crate) probe: bool,
    /// Keep the workspace after the attempt and print where it is
    #[arg(long)]
    pub(crate) retain_workspace: bool,
    // Before the flags below: their heading holds for whatever follows.
    /// The command and its arguments, untouched
    #[arg(last = true, required = true, value_name = "CMD")]
    pub(crate) command: Vec<OsString>,
    /// What the sandbox is to be like.
    #[command(flatten)]
    pub(crate) policy: PolicyFlags,
}

/// `isobox tool`.
#[derive(Debug, Args)]
pub(crate) struct ToolArguments {
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
    /// What the workspace is made of.
    #[command(flatten)]
    pub(crate) workspace: WorkspaceFlag,
    /// Take along what is not committed: changed, staged and untracked files, but for those that Git ignores
    #[arg(long)]
    pub(crate) allow_dirty: bool,
    /// What to do beside other tasks.
    #[command(flatten)]
    pub(crate) turn: TurnFlags,
    /// Attack a sandbox like this one from inside first, record what came of it, and refuse if an attack gets through
    /// what is called enforced
    #[arg(long)]
    pub(crate) probe: bool,
    /// The command and its arguments, untouched
    #[arg(last = true, required = true, value_name = "CMD")]
    pub(crate) command: Vec<OsString>,
}
