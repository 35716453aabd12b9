//! `isobox help` and `isobox version`.

use super::topics;
use crate::cli::{self, Arguments, HelpArguments, VersionArguments};
use crate::exit_code::ExitCode;
use crate::failure::{Failure, FailureKind};
use crate::output::stdout::{for_documents, unwritten};
use crate::use_case::nearest::nearest_word;
use crate::wiring;
use clap::error::ErrorKind;
use clap::{Command, CommandFactory};
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
    let topics = topics::TOPICS.join(", ");
    let hint = format!("`isobox help` lists the commands; the topics are {topics}");
    let unknown = |meant: Option<String>| {
        let what = format!("there is no help for `{}`", arguments.topic.join(" "));
        unknown_page(what, meant.map(|meant| format!("isobox help {meant}"))).with_hint(&hint)
    };
    find_command(&Arguments::command(), &arguments.topic, &topics::TOPICS).map_err(unknown)?;
    let words = arguments.topic.iter().map(OsString::from);
    let line: Vec<OsString> = [OsString::from("isobox")].into_iter().chain(words).chain(["--help".into()]).collect();
    match cli::parse(&line) {
        Err(shown) if shown.kind() == ErrorKind::DisplayHelp => print(&shown.render().to_string()),
        _ => Err(unknown(None)),
    }
}

/// The command that `words` name, one below the other; if there is none, the words that were probably meant. At the first
/// place, one of `others` can have been meant as well.
pub(super) fn find_command<'a>(
    isobox: &'a Command,
    words: &[String],
    others: &[&str],
) -> Result<&'a Command, Option<String>> {
    let (mut command, mut others) = (isobox, others);
    for (place, word) in words.iter().enumerate() {
        let Some(below) = command.find_subcommand(word) else {
            let known = command.get_subcommands().map(Command::get_name).chain(others.iter().copied());
            let meant = nearest_word(word, known);
            return Err(meant.map(|meant| [&words[..place], &[meant.to_owned()]].concat().join(" ")));
        };
        (command, others) = (below, &[]);
    }
    Ok(command)
}

/// The failure for a page that is not there, where perhaps the line `meant` was meant.
pub(super) fn unknown_page(what: String, meant: Option<String>) -> Failure {
    let failure = Failure::new(FailureKind::Usage, what);
    meant.into_iter().fold(failure, |failure, meant| failure.with_hint(format!("did you mean `{meant}`?")))
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
