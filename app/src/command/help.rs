//! `isobox help` and `isobox version`.

use super::topics;
use crate::cli::{Arguments, HelpArguments, VersionArguments};
use crate::exit_code::ExitCode;
use crate::failure::{Failure, FailureKind};
use crate::output::stdout::{for_documents, unwritten};
use crate::wiring;
use clap::CommandFactory;
use isobox_domain::release::VERSION_SCHEMA;
use serde_json::json;
use std::io::Write;

/// Prints the help of a command, a topic, or of isobox itself.
pub(super) fn help(arguments: &HelpArguments) -> Result<ExitCode, Failure> {
    let mut isobox = Arguments::command();
    isobox.build();
    match arguments.topic.as_deref() {
        None => print(&isobox.render_long_help().to_string()),
        Some(topic) => match (topics::text(topic), isobox.find_subcommand_mut(topic)) {
            (Some(text), _) => print(&text),
            (None, Some(command)) => print(&command.render_long_help().to_string()),
            (None, None) => Err(Failure::new(FailureKind::Usage, format!("there is no help for `{topic}`"))
                .with_hint(format!("`isobox help` lists the commands; the topics are {}", topics::TOPICS.join(", ")))),
        },
    }
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
