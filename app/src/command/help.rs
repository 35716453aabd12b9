//! `isobox help` and `isobox version`.

use crate::cli::{Arguments, HelpArguments, VersionArguments};
use crate::exit_code::{ExitCode, TABLE};
use crate::failure::{Failure, FailureKind};
use crate::output::stdout::{for_documents, unwritten};
use clap::CommandFactory;
use std::io::Write;

const EXIT_CODES: &str = "exit-codes";

/// Prints the help of a command, a topic, or of isobox itself.
pub(super) fn help(arguments: &HelpArguments) -> Result<ExitCode, Failure> {
    let mut isobox = Arguments::command();
    isobox.build();
    match arguments.topic.as_deref() {
        None => print(&isobox.render_long_help().to_string()),
        Some(EXIT_CODES) => print(&exit_codes()),
        Some(topic) => match isobox.find_subcommand_mut(topic) {
            Some(command) => print(&command.render_long_help().to_string()),
            None => Err(Failure::new(FailureKind::Usage, format!("there is no help for `{topic}`"))
                .with_hint("`isobox help` lists the commands; the topic `exit-codes` lists the exit codes")),
        },
    }
}

/// Prints the version.
pub(super) fn version(arguments: &VersionArguments) -> Result<ExitCode, Failure> {
    let version = env!("CARGO_PKG_VERSION");
    match arguments.json {
        true => print(&serde_json::json!({ "schema": "isobox.version/v1", "version": version }).to_string()),
        false => print(&format!("isobox {version}")),
    }
}

/// Prints text of isobox's own.
pub(super) fn print(text: &str) -> Result<ExitCode, Failure> {
    let mut out = for_documents();
    writeln!(out, "{}", text.trim_end()).and_then(|()| out.flush()).map_err(unwritten)?;
    Ok(ExitCode::SUCCESS)
}

fn exit_codes() -> String {
    TABLE.iter().map(|(code, meaning)| format!("{code:<6} {meaning}\n")).collect()
}
