//! `isobox run` and `isobox tool`.

use super::{Place, PolicyFlags, TellingFlags};
use clap::Args;
use std::ffi::OsString;

/// `isobox run`.
#[derive(Debug, Args)]
pub(crate) struct RunArguments {
    /// The project and the store.
    #[command(flatten)]
    pub(crate) place: Place,
    /// Where scripts are told about it.
    #[command(flatten)]
    pub(crate) telling: TellingFlags,
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
    /// The command and its arguments, untouched
    #[arg(last = true, required = true, value_name = "CMD")]
    pub(crate) command: Vec<OsString>,
}
