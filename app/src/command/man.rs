//! `isobox man`: pages made from the definitions of the commands.

use super::help::{find_command, unknown_page};
use super::topics;
use crate::cli::{Arguments, ManArguments};
use crate::exit_code::ExitCode;
use crate::failure::Failure;
use crate::output::console::Console;
use crate::output::manual;
use crate::output::stdout::{self, for_documents, unwritten};
use clap::CommandFactory;
use std::io::Write;

/// Prints the page of a command, or of isobox itself.
pub(super) fn man(console: Console, arguments: &ManArguments) -> Result<ExitCode, Failure> {
    let mut isobox = Arguments::command();
    isobox.build();
    let command = find_command(&isobox, &arguments.page, &[]).map_err(|meant| {
        let what = format!("there is no page for `{}`", arguments.page.join(" "));
        unknown_page(what, meant.map(|meant| format!("isobox man {meant}")))
            .with_hint("`isobox help` lists the commands")
    })?;
    let mut out = for_documents();
    let written = manual::page(&mut out, command, &arguments.page, topics::ENVIRONMENT);
    written.and_then(|()| out.flush()).map_err(unwritten)?;
    if stdout::is_terminal() {
        let words: String = arguments.page.iter().map(|word| format!(" {word}")).collect();
        console.line(&format!("this is the source of the page, next: isobox man{words} | man -l -"));
    }
    Ok(ExitCode::SUCCESS)
}
