//! The commands about policies.

use super::Place;
use clap::{Args, Subcommand, ValueEnum};
use isobox_domain::policy::{WorkspaceChoice, WorkspaceKind};
use std::ffi::OsString;
use std::path::PathBuf;

/// `isobox policy`.
#[derive(Debug, Args)]
pub(crate) struct PolicyArguments {
    /// What about it.
    #[command(subcommand)]
    pub(crate) command: PolicyCommand,
}

/// What can be done with a policy.
#[derive(Debug, Subcommand)]
pub(crate) enum PolicyCommand {
    /// Read the project's policy and your own, and show every mistake in them
    ///
    /// Also says what is valid and yet lets nothing start on this machine. Exits with 3 if a file is invalid, 1 if nothing
    /// would start.
    #[command(after_help = "Examples:\n  isobox policy check\n  isobox policy check --source /path/to/project")]
    Check(PolicyCheckArguments),
    /// Print the JSON Schema of policy files, for editors
    #[command(after_help = "Examples:\n  isobox policy schema > isobox-policy.schema.json")]
    Schema,
    /// List the policies that come with isobox, to be named by `extends`, or print one
    #[command(after_help = "Examples:\n  isobox policy presets\n  isobox policy presets strict")]
    Presets(PolicyPresetsArguments),
    /// Show what the project's policy says, or what holds in effect
    #[command(
        after_help = "Examples:\n  isobox policy show\n  isobox policy show --effective\n  isobox policy show --effective --origin\n  isobox policy show --effective --json"
    )]
    Show(PolicyShowArguments),
    /// Tell whether something is allowed, by which rule of which file, and what enforces it here
    ///
    /// Exits with 1 if it is not allowed.
    #[command(
        after_help = "Examples:\n  isobox policy explain net 127.0.0.1:8080\n  isobox policy explain path /usr/bin/git\n  \
        isobox policy explain env TERM\n  isobox policy explain limit memory"
    )]
    Explain(PolicyExplainArguments),
    /// Trust the project's policy as it is now, so that tasks run under it
    #[command(after_help = "Examples:\n  isobox policy trust\n  isobox policy trust /path/to/project\n\n\
        Trust is pinned to the bytes of the file: after an edit, it is asked for again.")]
    Trust(PolicyTrustArguments),
    /// Trust no policy of the project any more
    #[command(after_help = "Examples:\n  isobox policy distrust\n  isobox policy distrust /path/to/project")]
    Distrust(PolicyTrustArguments),
}

/// `isobox policy presets`.
#[derive(Debug, Args)]
pub(crate) struct PolicyPresetsArguments {
    /// The one to print
    #[arg(value_name = "NAME")]
    pub(crate) name: Option<String>,
}

/// `isobox policy trust` and `isobox policy distrust`.
#[derive(Debug, Args)]
pub(crate) struct PolicyTrustArguments {
    /// A directory in the repository [default: the current directory]
    #[arg(value_name = "PATH")]
    pub(crate) path: Option<PathBuf>,
}

/// Whether a command that runs something may trust the policy that it finds.
#[derive(Clone, Copy, Debug, Args)]
pub(crate) struct TrustFlag {
    /// Trust the project's policy as it is now, without a question
    #[arg(long)]
    pub(crate) trust_policy: bool,
}

/// What the workspace is made of.
#[derive(Debug, Default, Args)]
pub(crate) struct WorkspaceFlag {
    /// What the workspace is made of; the record says what was chosen, and in what it differs from a plain directory
    #[arg(long, value_enum, default_value_t, value_name = "KIND")]
    pub(crate) workspace: WorkspaceKindFlag,
}

/// `--workspace`.
#[derive(Clone, Copy, Debug, Default, ValueEnum)]
pub(crate) enum WorkspaceKindFlag {
    /// An overlay where the backend can mount one here, or else a copy
    #[default]
    Auto,
    /// A layer over files that every workspace of the commit shares; made in a moment
    Overlay,
    /// Files of its own, which share blocks of the disk with the cache where the file system can do that
    Copy,
}

impl From<WorkspaceKindFlag> for WorkspaceChoice {
    fn from(flag: WorkspaceKindFlag) -> Self {
        match flag {
            WorkspaceKindFlag::Auto => Self::Auto,
            WorkspaceKindFlag::Overlay => Self::Named(WorkspaceKind::Overlay),
            WorkspaceKindFlag::Copy => Self::Named(WorkspaceKind::Copy),
        }
    }
}

/// `isobox policy check`.
#[derive(Debug, Args)]
pub(crate) struct PolicyCheckArguments {
    /// The project.
    #[command(flatten)]
    pub(crate) place: Place,
    /// Print a JSON document, of both files
    #[arg(long)]
    pub(crate) json: bool,
}

/// `isobox policy explain`.
#[derive(Debug, Args)]
pub(crate) struct PolicyExplainArguments {
    /// The project.
    #[command(flatten)]
    pub(crate) place: Place,
    /// Print a JSON document
    #[arg(long)]
    pub(crate) json: bool,
    /// What kind of thing it is
    #[arg(value_enum, value_name = "KIND")]
    pub(crate) kind: QuestionKind,
    /// A host and a port, a path, the name of a variable, or the name of a limit
    #[arg(value_name = "NAME")]
    pub(crate) name: OsString,
}

/// What can be asked about.
#[derive(Clone, Copy, Debug, ValueEnum)]
pub(crate) enum QuestionKind {
    /// A host and its port, such as crates.io:443
    Net,
    /// A path of the host
    Path,
    /// A variable of the caller's environment
    Env,
    /// A limit, such as memory
    Limit,
}

/// `isobox policy show`.
#[derive(Debug, Args)]
pub(crate) struct PolicyShowArguments {
    /// The project.
    #[command(flatten)]
    pub(crate) place: Place,
    /// Show every key with the value that holds, and where that comes from
    #[arg(long)]
    pub(crate) effective: bool,
    /// Tell of each value which line of which file it comes from, what was narrowed, and what enforces it here
    #[arg(long, requires = "effective")]
    pub(crate) origin: bool,
    /// Print a JSON document
    #[arg(long)]
    pub(crate) json: bool,
}
