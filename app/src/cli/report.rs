//! `isobox report`.

use super::Place;
use clap::{Args, ValueEnum};
use std::ffi::OsString;

/// `isobox report`.
#[derive(Debug, Args)]
pub(crate) struct ReportArguments {
    /// The project and the store.
    #[command(flatten)]
    pub(crate) place: Place,
    /// How it is told
    #[arg(long, value_enum, value_name = "FORMAT", default_value_t)]
    pub(crate) format: ReportFormat,
    /// The task: an id or a prefix of one, @latest, @latest~N, b3:DIGEST, a record directory, or an archive
    // Completion adds it anew, behind PATH: their places are said.
    #[arg(value_name = "TASK", index = 1)]
    pub(crate) task: OsString,
    /// These paths alone, from the root of the repository; a directory stands for all below it
    #[arg(value_name = "PATH", index = 2)]
    pub(crate) paths: Vec<OsString>,
}

/// How a report is told.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
pub(crate) enum ReportFormat {
    /// For a person: what deserves a look, and why
    #[default]
    Text,
    /// Every path, as one JSON document
    Json,
    /// What deserves a look, for a comment on a change
    Markdown,
    /// SARIF 2.1.0, for services that show what analyses found
    Sarif,
}
