//! `isobox help` and `isobox version`.

use super::topics;
use crate::cli::{self, Arguments, HelpArguments, VersionArguments};
use crate::exit_code::ExitCode;
use crate::failure::{Failure, FailureKind};
use crate::output::stdout::{for_documents, unwritten};
use crate::wiring;
use clap::CommandFactory;
use clap::error::ErrorKind;
use isobox_domain::release::VERSION_SCHEMA;
use serde_json::json;
use std::ffi::OsString;
use std::io::Write;

/// Prints the help of a command, a topic, or of isobox itself.
pub(super) fn help(arguments: &HelpArguments) -> Result<ExitCode, Failure> {
    if let [topic] = arguments.topic.as_slice()
        && let Some(text) = topics::text(topic)
    {
        return print(&text);
    }
    let isobox = Arguments::command();
    let found = arguments.topic.iter().try_fold(&isobox, |command, word| command.find_subcommand(word));
    found.ok_or_else(|| unknown(&arguments.topic))?;
    let words = arguments.topic.iter().map(OsString::from);
    let line: Vec<OsString> = [OsString::from("isobox")].into_iter().chain(words).chain(["--help".into()]).collect();
    match cli::parse(&line) {
        Err(shown) if shown.kind() == ErrorKind::DisplayHelp => print(&shown.render().to_string()),
        _ => Err(unknown(&arguments.topic)),
    }
}

fn unknown(words: &[String]) -> Failure {
    Failure::new(FailureKind::Usage, format!("there is no help for `{}`", words.join(" ")))
        .with_hint(format!("`isobox help` lists the commands; the topics are {}", topics::TOPICS.join(", ")))
}

/// Prints the version.
pub(super) fn version(arguments: &VersionArguments) -> Result<ExitCode, Failure> {
    let version = env!("CARGO_PKG_VERSION");
    match arguments.json {
        true => {
            let build = wiring::build().name();
            print(&json!({ "schema": VERSION_SCHEMA, "version": version, "build": build }).to_string())
        }
        false => print(&format!("isobox {version}")),
    }
}

/// Prints text of isobox's own.
pub(super) fn print(text: &str) -> Result<ExitCode, Failure> {
    let mut out = for_documents();
    writeln!(out, "{}", text.trim_end()).and_then(|()| out.flush()).map_err(unwritten)?;
    Ok(ExitCode::SUCCESS)
}
