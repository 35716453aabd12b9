//! `isobox review` and `isobox feedback`.

use super::{Place, VerifyFlags};
use clap::{Args, ValueEnum};
use std::ffi::OsString;

/// `isobox review`.
#[derive(Debug, Args)]
pub(crate) struct ReviewArguments {
    /// The project and the store.
    #[command(flatten)]
    pub(crate) place: Place,
    /// Whether a promotion from there is verified first.
    #[command(flatten)]
    pub(crate) verify: VerifyFlags,
    /// The task: an id or a prefix of one, @latest, @latest~N, b3:DIGEST, or a record directory
    #[arg(value_name = "TASK")]
    pub(crate) task: OsString,
}

/// `isobox feedback`.
#[derive(Debug, Args)]
pub(crate) struct FeedbackArguments {
    /// The project and the store.
    #[command(flatten)]
    pub(crate) place: Place,
    /// How it is told
    #[arg(long, value_enum, value_name = "FORMAT", default_value_t)]
    pub(crate) format: FeedbackFormat,
    /// The task: an id or a prefix of one, @latest, @latest~N, b3:DIGEST, or a record directory
    #[arg(value_name = "TASK")]
    pub(crate) task: OsString,
}

/// How feedback is told.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
pub(crate) enum FeedbackFormat {
    /// A text for an agent or a person
    #[default]
    Markdown,
    /// One JSON document
    Json,
}
