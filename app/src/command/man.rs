//! `isobox man`: pages made from the definitions of the commands.

use super::topics;
use crate::cli::{Arguments, ManArguments};
use crate::exit_code::ExitCode;
use crate::failure::{Failure, FailureKind};
use crate::output::manual;
use crate::output::stdout::{for_documents, unwritten};
use clap::CommandFactory;
use std::io::Write;

/// Prints the page of a command, or of isobox itself.
pub(super) fn man(arguments: &ManArguments) -> Result<ExitCode, Failure> {
    let mut isobox = Arguments::command();
    isobox.build();
    let mut command = &isobox;
    for word in &arguments.page {
        command = command.find_subcommand(word).ok_or_else(|| {
            Failure::new(FailureKind::Usage, format!("there is no page for `{}`", arguments.page.join(" ")))
                .with_hint("`isobox help` lists the commands")
        })?;
    }
    let mut out = for_documents();
    let written = manual::page(&mut out, command, &arguments.page, topics::ENVIRONMENT);
    written.and_then(|()| out.flush()).map_err(unwritten)?;
    Ok(ExitCode::SUCCESS)
}
