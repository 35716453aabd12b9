//! Flags that let a script know what a task is and how it goes.

use clap::Args;
use clap::builder::{OsStringValueParser, TypedValueParser};
use std::ffi::{OsStr, OsString};
use std::path::{Path, PathBuf};

/// Where a script is told about a task, beside the lines for people.
#[derive(Clone, Debug, Default, Args)]
pub(crate) struct TellingFlags {
    /// Write the task's id to a file before the workload starts; outside of the repository, or where Git ignores it
    #[arg(long, value_name = "FILE")]
    pub(crate) id_file: Option<PathBuf>,
    /// Append what happens to the task as JSON Lines, to a file outside of the repository or where Git ignores it, or
    /// to an open descriptor, fd:N
    #[arg(long, value_name = "FILE|fd:N", value_parser = target())]
    pub(crate) events: Option<EventTarget>,
    /// Print where the time went, and record it
    #[arg(long)]
    pub(crate) timings: bool,
}

impl TellingFlags {
    /// The files that are written, each with its flag.
    pub(crate) fn files(&self) -> impl Iterator<Item = (&'static str, &Path)> {
        let events = match &self.events {
            Some(EventTarget::File(path)) => Some(path),
            Some(EventTarget::Descriptor(_)) | None => None,
        };
        let files = [("--id-file", self.id_file.as_ref()), ("--events", events)];
        files.into_iter().filter_map(|(flag, path)| Some((flag, path?.as_path())))
    }
}

/// Where events go.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum EventTarget {
    /// To the end of a file.
    File(PathBuf),
    /// To a descriptor that the caller opened.
    Descriptor(u32),
}

impl From<&OsStr> for EventTarget {
    fn from(typed: &OsStr) -> Self {
        let number = typed.to_str().and_then(|typed| typed.strip_prefix("fd:")).and_then(|number| number.parse().ok());
        number.map_or_else(|| Self::File(OsString::from(typed).into()), Self::Descriptor)
    }
}

fn target() -> impl TypedValueParser<Value = EventTarget> {
    OsStringValueParser::new().map(|typed| EventTarget::from(typed.as_os_str()))
}
